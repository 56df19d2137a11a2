import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { openSharedClock } from '../../../src/storage/shared-clock.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'

/** A machine, its database and the clock of a gateway between them; all clocks stand. */
function openMachine() {
  const hand = openHandClock(1_000_000)
  const lines: string[] = []
  const machine = { offMs: 0, databaseOffMs: 0, answersAfterMs: 0 }
  const own = { ...hand, now: () => hand.now() + machine.offMs }
  const read = async () => {
    hand.pass(machine.answersAfterMs / 2)
    const at = hand.now() + machine.databaseOffMs
    hand.pass(machine.answersAfterMs / 2)
    return at
  }
  const clock = openSharedClock(read, own, openLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } }))
  return { machine, hand, lines, clock }
}

test('a jump of the clock of the machine moves no time; the jump and its end are logged once each', async () => {
  const { machine, hand, lines, clock } = openMachine()
  await clock.look()
  for (const offMs of [18_000_000, -18_000_000, 0]) {
    machine.offMs = offMs
    hand.pass(5_000)
    assert.equal(clock.now(), hand.now())
    await clock.look()
    await clock.look()
    assert.deepEqual([clock.now(), clock.aheadMs()], [hand.now(), offMs])
  }
  const said = lines.map((line) => (JSON.parse(line) as { aheadMs?: number }).aheadMs)
  assert.deepEqual(said, [18_000_000, undefined])
})

test('the time is that of the database, also when that one jumps, however long its answer took below a second', async () => {
  const { machine, hand, clock } = openMachine()
  for (const databaseOffMs of [3_000, -7_000, 18_000_000, 0]) {
    Object.assign(machine, { databaseOffMs, answersAfterMs: 800 })
    await clock.look()
    assert.equal(clock.now(), hand.now() + databaseOffMs)
    hand.pass(5_000)
    assert.equal(clock.now(), hand.now() + databaseOffMs)
  }
})

test('an answer that took longer than a second is not used as a time', async () => {
  const { machine, hand, clock } = openMachine()
  Object.assign(machine, { databaseOffMs: 60_000, answersAfterMs: 1_002 })
  await clock.look()
  assert.equal(clock.now(), hand.now())
})

test('clocks that differ by less than the answer may explain agree, so that time does not flicker', async () => {
  const { machine, hand, clock } = openMachine()
  machine.databaseOffMs = 50
  await clock.look()
  assert.equal(clock.now(), hand.now())
  machine.databaseOffMs = 52
  await clock.look()
  assert.equal(clock.now(), hand.now() + 52)
})
