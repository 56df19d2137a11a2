import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as settle } from 'node:timers/promises'
import { openLog, type Log } from '../../../src/base/log.ts'
import { startHeart, type Heart } from '../../../src/leases/heart.ts'
import { openPulse, type Pulse } from '../../../src/leases/pulse.ts'
import { heartInLoop } from '../../harness/clock/heartbeat.ts'
import { startHeartbeat, type Heartbeat, type HeartbeatStore } from '../../../src/leases/heartbeat.ts'
import { openHandClock, type HandClock } from '../../harness/clock/hand-clock.ts'

/**
 * The lease of a process, second by second. Its row is a word here: `well`, `slow` (an answer only
 * when let go), `away`, `gone`.
 */

interface Desk {
  clock: HandClock
  row: { is: 'well' | 'slow' | 'away' | 'gone'; beats: number; answer: () => void }
  store: HeartbeatStore
  lines: { level: string; msg: string; orders?: number }[]
  log: Log
  /** Lets this much time pass, in steps of half a second. */
  pass(ms: number): Promise<void>
}

function openDesk(): Desk {
  const clock = openHandClock(1_000_000)
  const row: Desk['row'] = { is: 'well', beats: 0, answer: () => {} }
  const lines: Desk['lines'] = []
  const write = (line: string) => void lines.push(JSON.parse(line) as Desk['lines'][number])
  return {
    clock,
    row,
    lines,
    log: openLog({ level: 'error', destination: { write } }),
    store: {
      enter: () => Promise.resolve(),
      beat() {
        row.beats++
        if (row.is === 'slow') return new Promise((resolve) => (row.answer = () => resolve(true)))
        return row.is === 'away' ? Promise.reject(new Error('the database is away')) : Promise.resolve(row.is === 'well')
      },
      leave: () => Promise.resolve(),
      lapsed: () => Promise.resolve(),
      tookOver: () => Promise.resolve(),
    },
    async pass(ms) {
      for (let passed = 0; passed < ms; passed += 500) {
        clock.pass(500)
        await settle()
      }
    },
  }
}

const begin = ({ store, clock, log }: Desk, inHand = 0): Promise<Heartbeat> =>
  startHeartbeat({
    store,
    processId: 7n,
    instance: 'here',
    clock,
    log,
    heart: heartInLoop(store, clock, log),
    inHand: () => inHand,
  })

/**
 * A heart beside a loop that does what the test says, and how long that had stood still when the
 * process was ended.
 */
async function beside({ store, clock, log }: Desk, waitedMs = () => 0): Promise<{ heart: Heart; pulse: Pulse; ended: number[] }> {
  const pulse = openPulse()
  pulse.turnedAt = clock.monotonic()
  const ended: number[] = []
  const heart = await startHeart({
    enter: () => store.enter(7n, 'here'),
    beat: () => store.beat(7n),
    clock,
    log,
    pulse,
    waitedMs,
    onMode: () => {},
    endHung: (ms) => void ended.push(ms),
  })
  return { heart, pulse, ended }
}

test('the age of a lease counts from before its beat was written, even if the answer comes late', async () => {
  const desk = openDesk()
  const heartbeat = await begin(desk)
  desk.row.is = 'slow'
  await desk.pass(1_000)
  assert.equal(desk.row.beats, 1)
  await desk.pass(1_500)
  desk.row.answer()
  desk.row.is = 'away'
  await settle()
  assert.equal(heartbeat.holding(), true, 'the beat was begun 1.5 s ago')
  await desk.pass(1_500)
  assert.equal(heartbeat.holding(), false, 'and 3 s ago now, although its answer came 1.5 s ago')
  await heartbeat.stop()
})

test('a beat whose answer comes after three seconds renews nothing', async () => {
  const desk = openDesk()
  const heartbeat = await begin(desk)
  desk.row.is = 'slow'
  await desk.pass(4_500)
  desk.row.answer()
  desk.row.is = 'away'
  await settle()
  assert.equal(heartbeat.holding(), false)
  assert.equal(heartbeat.counts().changes.late, 1)
  await heartbeat.stop()
})

test('the loop may be blocked for fourteen seconds: its heart beats on', async () => {
  const desk = openDesk()
  const { heart, pulse, ended } = await beside(desk)
  await desk.pass(14_000)
  assert.equal(desk.row.beats, 14)
  assert.equal(desk.clock.monotonic() - pulse.beatenAt, 0)
  assert.deepEqual(ended, [])
  await heart.stop()
})

test('a process whose loop is blocked for fifteen seconds is ended, and sends nothing if it survives', async () => {
  const desk = openDesk()
  const { heart, pulse, ended } = await beside(desk)
  const hangsAt = desk.clock.monotonic() + 15_000
  await desk.pass(20_000)
  assert.equal(desk.row.beats, 14)
  assert.deepEqual(ended, [15_000])
  assert.equal(pulse.lostAt, hangsAt)
  await heart.stop()
})

// The time before it was first seen to stand still is unknown, and is not taken off.
//   of each second it waits   and is ended after
const starving: readonly (readonly [waitsMs: number, endedMs: number])[] = [
  [0, 15_000],
  [500, 29_000],
  [750, 57_000],
  [1_000, 60_000],
]
for (const [waitsMs, endedMs] of starving)
  test(`a loop that waits ${waitsMs} ms of each second for a processor hangs after ${endedMs} ms`, async () => {
    const desk = openDesk()
    // It had waited before, and while it turned.
    let waited = 100_000
    const { heart, pulse, ended } = await beside(desk, () => waited)
    for (let second = 0; second < 20; second++) {
      pulse.turnedAt = desk.clock.monotonic()
      waited += 900
      await desk.pass(1_000)
    }
    for (let second = 0; second < 90 && ended.length === 0; second++) {
      waited += waitsMs
      await desk.pass(1_000)
    }
    assert.deepEqual(ended, [endedMs])
    await heart.stop()
  })

test('a suspended process is late when it continues, and does not count as one with a hanging loop', async () => {
  const desk = openDesk()
  const { heart, pulse, ended } = await beside(desk)
  const heartbeat = await begin(desk)
  const begunAt = desk.clock.monotonic()
  desk.clock.pass(60_000)
  assert.equal(heartbeat.holding(), false, 'judged before anything else could happen')
  await settle()
  assert.deepEqual(ended, [])
  pulse.turnedAt = desk.clock.monotonic()
  await desk.pass(2_000)
  assert.deepEqual(ended, [])
  assert.equal(heartbeat.holding(), true)
  assert.equal(heartbeat.holding(begunAt), false, 'what was begun before is not sent')
  await heartbeat.stop()
  await heart.stop()
})

test('a database that answers no beat is silent, and time in which the process stood still does not count', async () => {
  const desk = openDesk()
  const heartbeat = await begin(desk)
  await desk.pass(2_000)
  assert.equal(heartbeat.silentMs(), 0)
  desk.row.is = 'away'
  await desk.pass(4_000)
  assert.equal(heartbeat.silentMs(), 4_000)
  // Its loop reads a request after the standstill before any timer has run.
  let firstRead = NaN
  desk.clock.after(0, () => (firstRead = heartbeat.silentMs()))
  desk.clock.pass(20_000)
  assert.equal(firstRead, 4_000)
  assert.equal(heartbeat.silentMs(), 0)
  await desk.pass(11_000)
  assert.equal(heartbeat.silentMs(), 11_000)
  desk.row.is = 'well'
  await desk.pass(2_000)
  assert.equal(heartbeat.silentMs(), 0)
  await heartbeat.stop()
})

test('a process judges others when it reached the database for as long as a dead one is silent', async () => {
  const desk = openDesk()
  const heartbeat = await begin(desk)
  // oxfmt-ignore
  const days = [
    // the row    for       holding  judges
    ['well',      3_500,    true,    false],
    ['well',        500,    true,    true],
    ['away',      1_000,    true,    false],
    ['well',      1_000,    true,    false],
    ['well',      3_500,    true,    false],
    ['well',        500,    true,    true],
    ['away',     10_000,    false,   false],
    ['well',      1_000,    true,    false],
    ['well',      4_000,    true,    true],
  ] as const
  for (const [is, ms, holding, judges] of days) {
    desk.row.is = is
    await desk.pass(ms)
    assert.deepEqual([heartbeat.holding(), heartbeat.judges()], [holding, judges], `${is} for ${ms} ms`)
  }
  await heartbeat.stop()
})

test('a lapse, its end, a take-over and a loss are errors in the log, with the number of orders, and are counted', async () => {
  const desk = openDesk()
  const heartbeat = await begin(desk, 12)
  desk.row.is = 'away'
  await desk.pass(5_000)
  desk.row.is = 'well'
  await desk.pass(2_000)
  heartbeat.tookOver(3, [5n, 6n])
  desk.row.is = 'gone'
  await desk.pass(1_000)
  await heartbeat.lost
  assert.equal(heartbeat.holding(), false)
  assert.deepEqual(heartbeat.counts(), { changes: { holding: 2, late: 1, lost: 1 }, lapsedOrders: 24, takenOver: 3 })
  assert.deepEqual(
    desk.lines.map(({ level, msg, orders }) => [level, orders, msg.split(':')[0]]),
    [
      ['error', 12, 'the lease of this process lapsed'],
      ['error', 12, 'the lease is held again'],
      ['error', 3, 'orders were taken over from processes that stopped answering'],
      ['error', 12, 'this process lost its lease'],
    ],
  )
  await heartbeat.stop()
})

test('a restarted heartbeat does not take the lease for fresher than it is', async () => {
  const desk = openDesk()
  const pulse = openPulse()
  const { store, clock, log } = desk
  const parts = { beat: () => store.beat(7n), clock, log, pulse, waitedMs: () => 0, onMode: () => {}, endHung: () => {} }
  const first = await startHeart({ ...parts, enter: () => store.enter(7n, 'here') })
  pulse.turnedAt = clock.monotonic()
  const beatenAt = pulse.beatenAt
  await first.stop()
  await desk.pass(2_000)
  const second = await startHeart({ ...parts, enter: () => Promise.reject(new Error('its row is there')) })
  assert.equal(pulse.beatenAt, beatenAt)
  await desk.pass(1_000)
  assert.equal(pulse.beatenAt, clock.monotonic())
  assert.equal(pulse.recoveredAt, clock.monotonic(), 'three seconds passed without a beat')
  await second.stop()
})
