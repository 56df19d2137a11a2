import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { startForgetting, type KeptFor } from '../../../src/card/forgetting.ts'
import { openPool, statement, timestamp, type Pool } from '../../../src/storage/pool.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { until } from '../../harness/clock/until.ts'

// Gateways erase the cards of ended payments, as members of tollgate_serve, on a clock that only
// the test moves.

const log = openLog({ level: 'fatal', destination: process.stderr })
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const usual: KeptFor = { approved: 180 * dayMs, unapproved: dayMs }

async function openInstallation() {
  const database = closing(await migratedDatabase())
  const owner = closing(openPool({ url: database.url, connections: 2, use: 'oltp', log }))
  const clock = openHandClock(Date.parse('2026-02-03T04:05:06Z'))
  const url = new URL(database.url)
  const user = `${url.pathname.slice(1)}_serves`
  await owner.run(statement(`create role ${user} login password 'try' in role tollgate_serve`), [])
  Object.assign(url, { username: user, password: 'try' })
  const pool = closing(openPool({ url: url.href, connections: 4, use: 'oltp', log }))
  return { owner, pool, clock }
}
type Installation = Awaited<ReturnType<typeof openInstallation>>

interface Stored {
  id: number
  status: string
  madeAt: number
  endedAt?: number
  step?: string
}

async function store({ owner }: Installation, orders: readonly Stored[]): Promise<void> {
  await owner.run(
    statement(`with o as (
        insert into orders (merchant_id, order_id, version, kind, client_orderid, path_id, endpoint_id, currency, amount_minor,
          amount_text, status, events, deliveries, created_at, final_at, authorised_minor, state, authorised_text, result, step,
          due_at, tries, transactions, attempts)
        select 7, n.id, 0, 'sale', n.id::text, 1, 1, 'USD', 100, '1.00', n.status, 1, 0, n.made_at, n.ended_at, 100, n.status,
          '1.00', '{}', n.step, case when n.step is not null then n.made_at end, 0, 1, 0
        from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[])
          as n (id, status, made_at, ended_at, step) returning order_id)
      insert into order_facts (merchant_id, order_id, request, card, card_hash, pan_sealed, pan_key, destination_sealed)
      select 7, order_id, '{}', '{}', '', 'sealed', 1, 'sealed' from o`),
    [
      orders.map(({ id }) => id),
      orders.map(({ status }) => status),
      orders.map(({ madeAt }) => timestamp(madeAt)),
      orders.map(({ endedAt }) => timestamp(endedAt)),
      orders.map(({ step }) => step ?? null),
    ],
  )
}

/** A process that serves, as far as the duty knows it. */
async function openProcess({ owner, pool, clock }: Installation, processId: bigint, keptFor: KeptFor | 'off' = usual) {
  await owner.run(
    statement(`insert into heartbeat (process_id, instance, started_at, beat_at)
      values ($1::bigint, $1::bigint::text, now(), now() + interval '1 day')`),
    [processId],
  )
  let asked = 0
  const judge = () => (asked++, Promise.resolve({ processId, silent: [] }))
  const heartbeat = { processId, holding: () => true }
  const duty = startForgetting({ pool, heartbeat, judge, clock, log }, keptFor === 'off' ? undefined : keptFor)
  const die = () => owner.run(statement(`delete from heartbeat where process_id = $1`), [processId])
  return closing({ ...duty, die, asked: () => asked })
}

const kept = async (pool: Pool): Promise<number[]> => {
  const rows = await pool.run(
    statement<{ order_id: bigint }>(`select order_id from order_facts
      where num_nonnulls(pan_sealed, pan_key, destination_sealed, cvv2_sealed, cvv2_key) > 0 order by order_id`),
    [],
  )
  return rows.map(({ order_id: id }) => Number(id))
}

interface Duty {
  name: string
  lease: bigint | null
  due_at: number
}
const duties = (pool: Pool) => pool.run(statement<Duty>(`select name, lease, due_at from duty order by name`), [])

/** Lets both duties run until nothing is left to do. A duty enters its row when it begins. */
const roundEnds = ({ pool, clock }: Installation) =>
  until(
    () => (clock.pass(5_000), duties(pool)),
    (rows) => rows.length === 2 && rows.every(({ lease, due_at: due }) => lease === null && due > clock.now()),
    60_000,
    5,
  )

const returnOf = (orderId: number) =>
  statement<object>(`insert into transaction (merchant_id, order_id, transaction_no, kind, origin, state, amount_minor,
    amount_text, result, tries, created_at)
    values (7, ${orderId}, 2, 'return', 'gateway', 'ready', 1, '0.01', '{}', 0, now())`)

test('a gateway erases the cards that are due each hour, and what may be needed stays until it is not', async () => {
  const installation = await openInstallation()
  const { owner, pool, clock } = installation
  const ago = (ms: number) => clock.now() - ms
  //     id  status         ended                      made
  const rows = [
    order(1, 'approved', 181 * dayMs, 181 * dayMs), // goes
    order(2, 'approved', 179 * dayMs, 200 * dayMs), // ended too lately
    order(3, 'approved', 190 * dayMs, 190 * dayMs), // a return is under way
    order(4, 'declined', 25 * hourMs, 26 * hourMs), // goes
    order(5, 'declined', 23 * hourMs, 30 * hourMs), // ended too lately
    order(6, 'filtered', 25 * hourMs, 25 * hourMs), // goes
    order(7, 'error', 25 * hourMs, 25 * hourMs), // goes
    { id: 8, status: 'processing', madeAt: ago(300 * dayMs), step: 'authorise' },
    { id: 9, status: 'unknown', madeAt: ago(300 * dayMs), step: 'reverse' },
    // Approved, and its reversal is still to be done.
    { ...order(10, 'approved', 200 * dayMs, 200 * dayMs), step: 'reverse' },
    order(11, 'approved', 2 * dayMs, 2 * dayMs), // young
  ]
  function order(id: number, status: string, ended: number, made: number): Stored {
    return { id, status, madeAt: ago(made), endedAt: ago(ended) }
  }
  await store(installation, rows)
  await owner.run(returnOf(3), [])
  const duty = await openProcess(installation, 1n)
  await roundEnds(installation)
  assert.deepEqual(await kept(pool), [2, 3, 5, 8, 9, 10, 11])
  assert.equal(duty.cards(), 4)

  await owner.run(statement(`update transaction set final_at = now()`), [])
  await owner.run(
    statement(`update orders set step = null, due_at = null, status = 'declined', final_at = $1 where order_id in (8, 9)`),
    [timestamp(clock.now() - 2 * dayMs)],
  )
  clock.pass(hourMs)
  await roundEnds(installation)
  assert.deepEqual(await kept(pool), [2, 10, 11], 'what was passed over is looked at again')
  clock.pass(dayMs)
  await roundEnds(installation)
  assert.deepEqual(await kept(pool), [10, 11])
  assert.equal(duty.cards(), 9)
})

test('orders of which nothing is left to do are not looked at again', async () => {
  const installation = await openInstallation()
  const { owner, pool, clock } = installation
  const at = clock.now() - 2 * dayMs
  const some = ['declined', 'approved', 'declined'].map((status, i) => ({ id: i + 1, status, madeAt: at + i, endedAt: at + i }))
  await store(installation, some)
  const duty = await openProcess(installation, 1n)
  await roundEnds(installation)
  assert.deepEqual(await kept(pool), [2])
  // As no order is: with a card again, to see who looks.
  await owner.run(statement(`update order_facts set pan_sealed = 'sealed', pan_key = 1 where order_id in (1, 3)`), [])
  const later = { id: 4, status: 'declined', madeAt: clock.now() - 2 * dayMs + hourMs, endedAt: clock.now() - 2 * dayMs + hourMs }
  await store(installation, [later])
  clock.pass(hourMs)
  await roundEnds(installation)
  assert.deepEqual([await kept(pool), duty.cards()], [[1, 2, 3], 3])
})

test('one process at a time erases, and another goes on where it stopped', async () => {
  const installation = await openInstallation()
  const { pool, clock } = installation
  const count = 1_300
  const old = clock.now() - 3 * dayMs
  const orders = Array.from({ length: count }, (_, i) => ({ id: i + 1, status: 'declined', madeAt: old, endedAt: old }))
  await store(installation, orders)
  const [one, other] = [await openProcess(installation, 1n), await openProcess(installation, 2n)]
  const left = async () => (await kept(pool)).length
  // What a process counts: its step may be committed before it knows.
  await until(
    () => (clock.pass(5_000), one.cards() + other.cards()),
    (cards) => cards > 0,
    60_000,
    1,
  )
  const [first, second] = one.cards() > 0 ? [one, other] : [other, one]
  await first.stop()
  const rest = await left()
  assert.ok(rest > 0 && first.cards() === count - rest)
  const before = second.asked()
  await until(
    () => clock.pass(60_000),
    () => second.asked() > before + 3,
  )
  assert.equal(second.cards(), 0, 'the process that has the duty is alive')
  await first.die()
  await roundEnds(installation)
  assert.deepEqual([await left(), second.cards()], [0, rest], 'no card twice, and none left out')
  // A process that starts again begins where nothing is left to do.
  await second.stop()
  const third = await openProcess(installation, 3n)
  clock.pass(hourMs)
  await roundEnds(installation)
  assert.equal(third.cards(), 0)
})

test('switched off, it erases no card of a payment', async () => {
  const installation = await openInstallation()
  const { pool, clock } = installation
  const old = clock.now() - 400 * dayMs
  await store(installation, [{ id: 1, status: 'declined', madeAt: old, endedAt: old }])
  const duty = await openProcess(installation, 1n, 'off')
  clock.pass(5_000)
  await duty.stop()
  assert.deepEqual([await kept(pool), duty.cards(), await duties(pool)], [[1], 0, []])
})
