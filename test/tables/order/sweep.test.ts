import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restUntil, startSweep } from '../../../src/leases/leased.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'

const everyMs = 100
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** A sweep on a clock that the test moves, which knows of one thing that is due. */
function openSweep(known: { dueAt: number } = { dueAt: Infinity }) {
  const clock = openHandClock(1_000_000)
  const start = clock.now()
  const looks: number[] = []
  const failures: unknown[] = []
  const sweep = startSweep({ clock, everyMs, failed: (error) => failures.push(error) }, async () => {
    looks.push(clock.now() - start)
    if (known.dueAt < 0) throw new Error('the database is away')
    return restUntil(start + known.dueAt, clock.now(), everyMs)
  })
  return {
    known,
    looks,
    failures,
    sweep,
    expect: (dueAt: number) => sweep.expect(start + dueAt),
    /** Moves the clock in small steps, so that nothing begins later than it should. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 10) {
        clock.pass(10)
        await settle()
      }
    },
  }
}

test('a sweep that knows of nothing looks once a second', async () => {
  const { looks, pass } = openSweep()
  await pass(3_200)
  assert.deepEqual(looks, [100, 1_100, 2_100, 3_100])
})

test('work that is due before the next look is seen on time, and once', async () => {
  const { looks, known, pass } = openSweep({ dueAt: 450 })
  await pass(400)
  known.dueAt = Infinity
  await pass(1_100)
  assert.deepEqual(looks, [100, 450, 1_450])
})

test('work returned to the queue moves the next look to its time', async () => {
  const { looks, expect, pass } = openSweep()
  await pass(200)
  expect(800)
  expect(600)
  expect(700)
  await pass(1_500)
  assert.deepEqual(looks, [100, 600, 1_600])
})

test('two looks are never closer than the shortest pause, however much is expected', async () => {
  const { looks, expect, pass } = openSweep()
  for (let turn = 0; turn < 50; turn++) {
    expect(0)
    await pass(10)
  }
  assert.deepEqual(looks, [100, 200, 300, 400, 500])
})

test('work expected during a look is seen by the next one', async () => {
  const clock = openHandClock(0)
  const looks: number[] = []
  const sweep = startSweep({ clock, everyMs, failed: (error) => assert.ifError(error) }, async () => {
    looks.push(clock.now())
    if (looks.length === 1) sweep.expect(250)
    return restUntil(Infinity, clock.now(), everyMs)
  })
  for (let passed = 0; passed < 400; passed += 10) {
    clock.pass(10)
    await settle()
  }
  assert.deepEqual(looks, [100, 250])
})

test('a look that fails is repeated after the shortest pause, and is reported', async () => {
  const { looks, known, failures, pass } = openSweep({ dueAt: -1 })
  await pass(200)
  known.dueAt = Infinity
  await pass(300)
  assert.deepEqual(looks, [100, 200, 300])
  assert.deepEqual(failures.map(String), Array(2).fill('Error: the database is away'))
})

test('after its stop nothing that is expected begins a look', async () => {
  const { looks, sweep, expect, pass } = openSweep()
  await pass(150)
  await sweep.stop()
  expect(200)
  await pass(2_000)
  assert.deepEqual(looks, [100])
})
