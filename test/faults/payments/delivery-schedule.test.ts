import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { deliveryWrites, openDeliveryStore } from '../../../src/delivery/store.ts'
import { openOutgoing } from '../../../src/http/outgoing.ts'
import { ensurePartitions } from '../../../src/storage/partitions.ts'
import { atOnce } from '../../../src/storage/transaction.ts'
import { statement } from '../../../src/storage/pool.ts'
import { openHeartbeat } from '../../harness/clock/heartbeat.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing } from '../../harness/world/opening.ts'
import { alone, senderOf } from '../../harness/clock/delivery-sender.ts'

/** Fourteen days of tries on a hand clock, with the real sender, database and receiver. */

const log = openLog({ level: 'fatal', destination: process.stderr })
const policy = { plainHttp: true, loopbackAnyPort: true }
const second = 1_000
const day = 86_400 * second

const { pool } = await openMigrated('search')
await ensurePartitions(pool)
const heartbeat = closing(await openHeartbeat(pool, 1n, 'here', systemClock, log))
const outgoing = closing(openOutgoing({ policy, clock: systemClock, perOrigin: 4 }))
let status = 500
const merchant = closing(await openReceiver(() => status))

const order = { merchantId: 1n, orderId: 1_000_001n }
const message = (deliveryNo: number, path: string, at: number) => ({
  ...order,
  deliveryNo,
  transactionNo: 1,
  kind: 'callback' as const,
  url: `${merchant.origin}${path}`,
  origin: merchant.origin,
  at,
})
interface Row {
  state: string
  tries: number
  due_at: number | null
}
const row = async (deliveryNo: number): Promise<Row> =>
  (await pool.run(statement<Row>('select state, tries, due_at from delivery where delivery_no = $1'), [deliveryNo]))[0]!

test('a merchant that never answers 200 is called thirty times in fourteen days, at growing intervals', async () => {
  const startAt = Date.UTC(2026, 0, 1)
  const clock = openHandClock(startAt)
  const sender = senderOf({ store: openDeliveryStore(pool), outgoing, clock, heartbeat, maxInHand: 100 })
  await atOnce(pool, deliveryWrites([message(1, '/never', startAt)], undefined))
  sender.sweep()
  /** Moves on by parts of a sweep until the next try is noted; a slow machine adds little. */
  const tried = async (count: number): Promise<void> => {
    for (let look = 0; (await row(1)).tries < count; look++) {
      assert.ok(look < 20_000, `try ${count} was not made`)
      clock.pass(20)
      await pause(2)
    }
  }
  const at: number[] = []
  for (let count = 1; count <= 30; count++) {
    await tried(count)
    const { due_at } = await row(1)
    at.push(clock.now())
    if (due_at === null) break
    // Nothing is sent before its time.
    clock.pass(due_at - clock.now() - second)
    for (let look = 0; look < 3; look++) {
      clock.pass(200)
      await pause(5)
    }
    assert.equal(merchant.calls('/never').length, count)
    clock.pass(second)
  }
  assert.equal(at.length, 30)
  assert.deepEqual(await row(1), { state: 'given up', tries: 30, due_at: null })
  clock.pass(30 * day)
  for (let look = 0; look < 5; look++) {
    clock.pass(200)
    await pause(5)
  }
  assert.equal(merchant.calls('/never').length, 30)

  // Within a second; the clock is moved on while the process has its real time to do it in.
  assert.ok(at[0]! - startAt < 10 * second, `the first after ${at[0]! - startAt} ms`)
  const total = at.at(-1)! - startAt
  assert.ok(total > 12.5 * day && total < 15.5 * day, `${total / day} days`)
  const pauses = at.slice(1).map((moment, i) => moment - at[i]!)
  // A tenth of jitter either way, and a second for the sweeps.
  for (const [i, ms] of pauses.entries()) if (i > 0) assert.ok(ms > (pauses[i - 1]! * 0.9) / 1.1 - 2 * second, `pause ${i + 1}`)
  assert.ok(pauses[0]! < 8 * second && pauses.at(-1)! > 0.8 * day)
  await sender.stop(1_000)
})

test('operators see the breaker of a server until a message arrives at it', async () => {
  const clock = openHandClock(Date.UTC(2027, 0, 1))
  const sender = senderOf({ store: openDeliveryStore(pool), outgoing, clock, heartbeat, maxInHand: 100 })
  const messages = Array.from({ length: 12 }, (_, i) => ({
    ...message(1, '/broken', clock.now()),
    orderId: 1_000_100n + BigInt(i),
  }))
  await atOnce(pool, deliveryWrites(messages, undefined))
  sender.sweep()
  const noted = statement<{ paused: { until: number }[]; due: number }>(`
    select paused_origins as paused, (select count(*)::int from delivery where state = 'due') as due from heartbeat`)
  /** Moves on until what is noted fits. */
  const until = async (fits: (paused: { until: number }[], due: number) => boolean) => {
    for (let look = 0; ; look++) {
      const [now] = await pool.run(noted)
      if (fits(now!.paused, now!.due)) return now!.paused
      assert.ok(look < 20_000, JSON.stringify(now))
      clock.pass(20)
      await pause(2)
    }
  }
  const startAt = clock.now()
  const [one] = await until(([first]) => first !== undefined && first.until > startAt)
  status = 200
  await until((paused, due) => paused.length === 0 && due === 0)
  assert.ok(clock.now() >= one!.until, 'nothing was sent before')
  await sender.stop(0)
})

const turns = [{ merchantId: 1n, held: 0, blocked: [], from: 0 }]
const room = { all: 10, common: 10, few: 1 }

test('a newer message of an order waits only for the first try of the older one', async () => {
  const store = openDeliveryStore(pool)
  const now = systemClock.now()
  await atOnce(pool, deliveryWrites([message(11, '/both', now), message(12, '/both', now)], undefined))
  const claim = async (at: number) => (await store.claimDue(alone, at, turns, room)).taken.map(({ deliveryNo }) => deliveryNo)
  const [first] = (await store.claimDue(alone, now, turns, room)).taken
  assert.ok(first?.deliveryNo === 11)
  assert.deepEqual(await claim(now), [], 'the newer one waits while the older one is tried for the first time')
  await store.saveTries([{ delivery: first, at: now, durationMs: 5, httpStatus: 500, state: 'due', dueAt: now + 3_600_000 }], 1n)
  assert.deepEqual(await claim(now), [12], 'and goes although the older one is not delivered')
})

test('a process that was taken over notes nothing, and a message is in one hand only', async () => {
  const store = openDeliveryStore(pool)
  const now = systemClock.now()
  await atOnce(pool, deliveryWrites([message(21, '/taken', now)], undefined))
  // Process 7 has no heartbeat: it is dead.
  const claim = async (processId: bigint, at: number) =>
    (await store.claimDue({ processId, silent: [] }, at, turns, room)).taken.find(({ deliveryNo }) => deliveryNo === 21)
  const mine = await claim(7n, now)
  assert.equal(await claim(1n, now), undefined, 'not looked at before its time')
  const theirs = await claim(1n, now + 5_000)
  assert.equal(theirs?.hadLease, 7n)
  await store.saveTries([{ delivery: mine!, at: now, durationMs: 5, httpStatus: 200, state: 'delivered' }], 7n)
  assert.equal((await row(21)).state, 'due')
  await store.saveTries([{ delivery: theirs, at: now, durationMs: 5, httpStatus: 200, state: 'delivered' }], 1n)
  assert.equal((await row(21)).state, 'delivered')
})
