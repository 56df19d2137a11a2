import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { accepted, order, settled, statusOf, type Order } from '../../conformance/requests/client.ts'
import { notRegistered, rebill, refOf, register } from '../../conformance/cards/card.ts'
import { ended, follow, preauth } from '../../harness/world/follow.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { startServe } from '../../harness/world/serve.ts'
import { until } from '../../harness/clock/until.ts'
import { run } from './cli-run.ts'

/**
 * Cards are erased by `cards forget`, as the role for it, and by gateways that serve; and what
 * merchants can still do with a payment afterwards.
 */

const world = await openWorld()
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const sql = (text: string, values: unknown[] = []) =>
  database.query<Record<string, unknown>>(text, values).then(({ rows }) => rows)

const url = new URL(world.databaseUrl)
const user = `${url.pathname.slice(1)}_forgets`
await sql(`drop role if exists ${user}`)
await sql(`create role ${user} login password 'try' in role tollgate_retention`)
const env = { DATABASE_URL: Object.assign(url, { username: user, password: 'try' }).href }

async function made(asked: Promise<Order>, outcome: string): Promise<Order> {
  const one = await asked
  assert.equal((await settled(world, one)).status, outcome)
  return one
}
const sale = () => made(order(world), 'approved')
const refusedSale = () => made(order(world, { cvv2: '116' }), 'declined')

const old = {
  sold: await sale(),
  referred: await sale(),
  held: await made(preauth(world), 'approved'),
  busy: await sale(),
  declined: await refusedSale(),
}
const young = { sold: await sale(), declined: await refusedSale() }
const ref = refOf(await register(world, old.referred))
const days = (one: Order, count: number) =>
  sql(
    `update orders set created_at = created_at - $2 * interval '1 day', final_at = final_at - $2 * interval '1 day'
    where order_id = $1`,
    [one.orderid, count],
  )
for (const one of Object.values(old)) await days(one, one === old.declined ? 2 : 200)
await days(young.sold, 100)
// A return that is not decided; no sweep looks at it.
await sql(
  `insert into transaction (merchant_id, order_id, transaction_no, kind, origin, state, amount_minor, amount_text, result,
    tries, created_at)
  select merchant_id, order_id, 2, 'return', 'gateway', 'ready', 1, '0.01', '{}', 0, now() from orders where order_id = $1`,
  [old.busy.orderid],
)
const forget = await run(env, ['cards', 'forget', '--json'])

const all = [...Object.values(old), ...Object.values(young)]
const kept = async () => {
  const rows = await sql(
    `select order_id from order_facts where order_id = any ($1::bigint[])
      and num_nonnulls(pan_sealed, pan_key, destination_sealed, cvv2_sealed, cvv2_key) > 0`,
    [all.map(({ orderid }) => orderid)],
  )
  return rows.map(({ order_id: id }) => String(id)).sort()
}

test('cards of payments that ended long ago are erased, unless something of the order is still open', async () => {
  assert.equal(forget.code, 0, forget.err)
  assert.deepEqual(await kept(), [old.busy, young.sold, young.declined].map(({ orderid }) => orderid).sort())
  assert.ok((JSON.parse(forget.out) as { cards: number }).cards >= 4)
  const again = await run(env, ['cards', 'forget'])
  assert.equal(again.out, '0 card numbers were erased.\n')
  const trail = await sql(`select action, who from audit where action like 'cards %' order by no desc limit 2`)
  assert.deepEqual(
    trail.map(({ action }) => action),
    ['cards forgotten', 'cards forget'],
  )
})

test('the public data of a card stays', async () => {
  const shown = await statusOf(world, old.sold)
  assert.deepEqual([shown.status, shown['last-four-digits'], shown.bin?.length], ['approved', '1111', 6])
  assert.match(shown['card-hash-id'] ?? '', /^[0-9a-f]{32}$/)
})

test('a payment without its number is returned and captured', async () => {
  for (const [operation, one] of [
    ['return', old.sold],
    ['capture', old.held],
  ] as const) {
    const reply = await follow(world, operation, one)
    accepted(reply)
    assert.equal((await ended(world, one, reply['serial-number']!)).status, 'approved', operation)
  }
})

test('create-card-ref is refused, unless it had made the reference before, which pays on', async () => {
  const refused = await register(world, old.sold)
  notRegistered(refused, 'declined', old.sold)
  assert.match(refused['error-message'] ?? '', /its card number is no longer kept/)
  assert.equal(refOf(await register(world, old.referred)), ref)
  const second = accepted(await rebill(world, ref))
  assert.equal((await settled(world, second)).status, 'approved')
})

test('a span that would erase what is still needed is refused', async () => {
  const refused = await run(env, ['cards', 'forget', '--older-than', '29d'])
  assert.equal(refused.code, 2)
  assert.match(refused.err, /--older-than must be a span .* from 30d to /)
})

test('a gateway that serves erases cards as CARDS_FORGET says, and counts them', async () => {
  const one = await sale()
  await days(one, 40)
  const gateway = closing(await startServe(world, undefined, { CARDS_FORGET: 'approved=30d' }))
  const counted = async () => (await metricsOf(gateway.world))('tollgate_cards_forgotten_total') ?? 0
  await until(counted, (cards) => cards > 0)
  const [left] = await sql('select num_nonnulls(pan_sealed, pan_key) as sealed from order_facts where order_id = $1', [
    one.orderid,
  ])
  assert.deepEqual(left, { sealed: 0 })
})
