import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { deliveryWrites, lookedAt, openDeliveryStore } from '../../../src/delivery/store.ts'
import { openOutgoing } from '../../../src/http/outgoing.ts'
import { ensurePartitions } from '../../../src/storage/partitions.ts'
import { atOnce } from '../../../src/storage/transaction.ts'
import { statement, type Pool } from '../../../src/storage/pool.ts'
import { until } from '../../harness/clock/until.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { openHeartbeat } from '../../harness/clock/heartbeat.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing } from '../../harness/world/opening.ts'
import { alone, senderOf } from '../../harness/clock/delivery-sender.ts'

/**
 * One merchant with more waiting messages than there are places, and others with one: the real
 * sender and claim, on a clock that is moved by hand.
 */

const log = openLog({ level: 'fatal', destination: process.stderr })
const policy = { plainHttp: true, loopbackAnyPort: true }
const [evil, victim] = [1n, 2n]
const startAt = Date.UTC(2026, 0, 1)
/** The lease lasts by this clock too: a slow machine must not make it late. */
const clock = openHandClock(startAt + 100_000)

const { pool } = await openMigrated()
await ensurePartitions(pool)
const heartbeat = closing(await openHeartbeat(pool, 1n, 'here', clock, log))
const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
const outgoing = closing(openOutgoing({ policy, clock: openHandClock(startAt), resolve }))
const hangs = closing(await openReceiver(() => 'hang'))
const shop = closing(await openReceiver(() => 200))
beforeEach(() => pool.run(statement('delete from delivery')))

let orders = 0n
/** Messages of as many orders, due one millisecond after the other. */
async function waits(merchantId: bigint, count: number, originOf: (n: number) => string, at = startAt): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => {
    const origin = originOf(n)
    const place = { merchantId, orderId: ++orders, deliveryNo: 1, transactionNo: 1, kind: 'callback' as const }
    return { ...place, url: `${origin}/${merchantId}`, origin, at: at + n }
  })
  await atOnce(pool, deliveryWrites(rows, undefined))
}
const turn = (merchantId: bigint, more: { held?: number; blocked?: string[]; from?: number } = {}) => ({
  held: 0,
  blocked: [],
  from: 0,
  ...more,
  merchantId,
})
const countOf = (taken: { merchantId: bigint }[], merchantId: bigint) => taken.filter((d) => d.merchantId === merchantId).length

test('the merchant with the fewest places comes first; beyond the common places only those with few', async () => {
  const store = openDeliveryStore(pool)
  await waits(evil, 100, () => hangs.origin)
  await waits(victim, 5, () => shop.origin, startAt + 50_000)
  const now = startAt + 100_000
  const waiting = await store.waiting(0n, 10)
  assert.deepEqual(
    waiting.map(({ merchantId }) => merchantId),
    [evil, victim],
  )
  const claim = (held: number, all: number, common: number) =>
    store.claimDue(alone, now, [turn(evil, { held }), turn(victim)], { all, common, few: 64 }).then(({ taken }) => taken)
  const first = await claim(0, 6, 6)
  assert.deepEqual([countOf(first, evil), countOf(first, victim)], [3, 3])
  const full = await claim(64, 10, 0)
  assert.deepEqual([countOf(full, evil), countOf(full, victim)], [0, 2])
  const some = await claim(64, 10, 4)
  assert.equal(countOf(some, evil), 4)
})

test('a claim reads only so much of what waits at a blocked origin, and reaches the rest in turns', async () => {
  await waits(evil, 5 * lookedAt, () => 'http://blocked.test')
  await waits(evil, 1, () => shop.origin, startAt + 50_000)
  await waits(victim, 1, () => shop.origin, startAt + 60_000)
  await pool.run(statement('analyze delivery'))
  let read = 0
  const explained: Pool = {
    ...pool,
    async run(sql, values) {
      const [plan] = await pool.run(statement<{ 'QUERY PLAN': Plan[] }>(`explain (analyze, format json) ${sql.text}`), values)
      read = rowsRead(plan!['QUERY PLAN'][0]!.Plan)
      return []
    },
  }
  const room = { all: 10, common: 10, few: 64 }
  const now = startAt + 100_000
  const turns = (from: number) => [turn(evil, { blocked: ['http://blocked.test'], from }), turn(victim)]
  await openDeliveryStore(explained).waiting(0n, 10)
  assert.ok(read <= 4, `${read} rows read to find the merchants`)
  await pool.run(statement('update delivery set lease = null, due_at = created_at'))
  await openDeliveryStore(explained).claimDue(alone, now, turns(0), room)
  assert.ok(read <= lookedAt + 10, `${read} rows read to claim`)
  await pool.run(statement('update delivery set lease = null, due_at = created_at'))
  const store = openDeliveryStore(pool)
  let from = 0
  const found: number[] = []
  for (let claims = 0; claims < 6; claims++) {
    const { taken, passedOver } = await store.claimDue(alone, now, turns(from), room)
    found.push(countOf(taken, evil), countOf(taken, victim))
    from = passedOver[0]?.until ?? 0
  }
  assert.deepEqual(found, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])
})

interface Plan {
  Plan: Node
}
interface Node {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}
/** Rows that the scans of tables and indexes gave or threw away. */
const rowsRead = (node: Node): number => {
  const own = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  const isScan = /^(Index|Seq|Bitmap).*Scan$/.test(node['Node Type'])
  return (isScan ? own : 0) + (node.Plans ?? []).reduce((sum, below) => sum + rowsRead(below), 0)
}

test('while all that one merchant may have hangs, the next sweep takes the message of another and calls him', async () => {
  const sender = senderOf({ store: openDeliveryStore(pool), outgoing, clock, heartbeat, maxInHand: 400 })
  const { port } = new URL(hangs.origin)
  await waits(evil, 1_000, (n) => `http://h${n}.localhost:${port}`)
  sender.sweep()
  for (const inHand of [256, 300]) {
    clock.pass(200)
    assert.equal((await until(sender.counts, (counts) => counts.inHand === inHand)).inHand, inHand)
  }
  const grants = sender.room()
  assert.deepEqual([grants(evil, 1), grants(victim, 50), grants(victim, 1), grants(3n, 50)], [false, true, false, true])
  await waits(victim, 1, () => shop.origin)
  clock.pass(200)
  const calls = () => [shop.calls(`/${victim}`).length, hangs.calls(`/${evil}`).length]
  assert.deepEqual(await until(calls, ([one, many]) => one === 1 && many! >= 256), [1, 256])
  await outgoing.close()
  const stopping = { isOver: false }
  void sender.stop(1_000).then(() => (stopping.isOver = true))
  const goOn = () => {
    clock.pass(100)
    return stopping.isOver
  }
  assert.ok(await until(goOn, (isOver) => isOver))
})
