import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openJudge } from '../../../src/leases/silence.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'

/**
 * Which processes are judged dead while the clock of the database jumps. Another process beats each
 * second until it dies.
 */
function openDesk() {
  const clock = openHandClock(1_000_000)
  const database = { aheadMs: 0, answersAfterMs: 0 }
  let [beatAt, lives] = [clock.now(), true]
  const read = async () => {
    const now = clock.now() + database.aheadMs
    clock.pass(database.answersAfterMs)
    return { silent: beatAt <= now - 4_000 ? [2n] : [], now }
  }
  const judge = openJudge(read, { processId: 1n, judges: () => true }, clock)
  return {
    database,
    dies: () => (lives = false),
    pass(seconds: number) {
      for (let passed = 0; passed < seconds; passed++) {
        clock.pass(1_000)
        if (lives) beatAt = clock.now() + database.aheadMs
      }
    },
    silent: async () => (await judge()).silent.map(Number),
  }
}

test('a process is dead once it has been silent for four seconds', async () => {
  const { dies, pass, silent } = openDesk()
  pass(3)
  dies()
  pass(3)
  assert.deepEqual(await silent(), [])
  pass(1)
  assert.deepEqual(await silent(), [2])
})

for (const [when, before] of [
  ['after readings', 3],
  ['before the first reading', 0],
] as const)
  test(`a jump forward of the database's clock ${when} makes no live process dead, and hides no dead one`, async () => {
    const { database, dies, pass, silent } = openDesk()
    for (let second = 0; second < before; second++) {
      pass(1)
      assert.deepEqual(await silent(), [])
    }
    database.aheadMs = 60_000
    for (let second = 0; second < 6; second++) {
      assert.deepEqual(await silent(), [], `${second} s after the jump`)
      pass(1)
    }
    dies()
    pass(4)
    assert.deepEqual(await silent(), [2])
  })

test('a process that died before the jump is judged four seconds after it', async () => {
  const { database, dies, pass, silent } = openDesk()
  assert.deepEqual(await silent(), [])
  dies()
  database.aheadMs = 60_000
  pass(1)
  assert.deepEqual(await silent(), [])
  pass(4)
  assert.deepEqual(await silent(), [2])
})

test('a jump back makes the dead look alive for as long, and the living never dead', async () => {
  const { database, pass, silent } = openDesk()
  assert.deepEqual(await silent(), [])
  for (const aheadMs of [-60_000, 0]) {
    database.aheadMs = aheadMs
    for (let second = 0; second < 6; second++) {
      assert.deepEqual(await silent(), [], `${second} s after it was ${aheadMs / 1_000} s`)
      pass(1)
    }
  }
})

test('an answer that takes longer than a second proves nothing', async () => {
  const { database, dies, pass, silent } = openDesk()
  dies()
  database.answersAfterMs = 1_001
  pass(6)
  assert.deepEqual(await silent(), [])
  database.answersAfterMs = 900
  assert.deepEqual(await silent(), [2])
})
