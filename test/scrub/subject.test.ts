import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { followRequest } from '../../src/spec/gateway/follow.ts'
import { rebillRequest } from '../../src/spec/gateway/rebill.ts'
import { saleRequest } from '../../src/spec/gateway/sale.ts'
import { checkReply, transferRequest } from '../../src/spec/mobile/requests.ts'
import { call as ask, refOf, register, signedRebill } from '../conformance/cards/card.ts'
import { accepted, order as payOrder, settled, statusOf } from '../conformance/requests/client.ts'
import { changed, ok } from '../conformance/mobile/mobile-merchant.ts'
import { begin, openMobile, rested, statusOf as mobileStatus } from '../conformance/mobile/mobile.ts'
import { cardOf, carryThrough, secureOrder } from '../conformance/three-d-secure/shopper.ts'
import { configurationRead } from '../harness/world/configuration.ts'
import { ended, follow } from '../harness/world/follow.ts'
import { closing, openWorld, openDirectory } from '../harness/world/opening.ts'
import { until } from '../harness/clock/until.ts'
import { cliOf, run, words } from '../wire/operator/cli-run.ts'
import { openSearch, spellings } from './search.ts'
import { again, app, asStored, cardsAndSecrets, confirmed, neverStored, returned, sale } from './subject-values.ts'

/**
 * A person pays in every way, with a value of its own in every field that tells of a person. Then
 * the person is erased, and every table is searched for the values.
 */

type Guarded = Readonly<Record<string, { guard: string }>>
const guarded = (table: Guarded) =>
  Object.keys(table)
    .filter((name) => table[name]!.guard !== 'open')
    .sort()

// ---- the person --------------------------------------------------------------------------------

const world = await openWorld()
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const sql = (text: string, values: unknown[] = []) =>
  database.query<Record<string, unknown>>(text, values).then(({ rows }) => rows)
const folder = openDirectory('subject')

const roles: Record<'retention' | 'read', string> = { retention: '', read: '' }
for (const role of ['retention', 'read'] as const) {
  const url = new URL(world.databaseUrl)
  const user = `${url.pathname.slice(1)}_subject_${role}`
  await sql(`drop role if exists ${user}`)
  await sql(`create role ${user} login password 'try' in role tollgate_${role}`)
  roles[role] = Object.assign(url, { username: user, password: 'try' }).href
}
const keyFile = join(world.directory, 'keys', 'master.key')
const as = (role: 'retention' | 'read', args: string[], input = '') =>
  run({ DATABASE_URL: roles[role], TOLLGATE_KEY_FILE: keyFile }, args, input)
async function told<T>(role: 'retention' | 'read', args: string[], input = ''): Promise<T> {
  const { code, out, err } = await as(role, args, input)
  assert.equal(code, 0, `${args.join(' ')}\n${err}`)
  return JSON.parse(out) as T
}

const number = await cardOf(world, 'frictionless')
const callback = `${world.merchantServerUrl}/callback?who=canary-url`
const first = await secureOrder(world, number, {
  ...sale,
  redirect_url: `${world.merchantServerUrl}/return?who=canary-redirect`,
  notify_url: callback,
  customer_user_agent: 'canary-agent',
})
await carryThrough(world, first)
assert.equal((await settled(world, first)).status, 'approved')
const back = await follow(world, 'return', first, { amount: '1.00', ...returned })
assert.equal((await ended(world, first, back['serial-number']!)).status, 'approved')
const ref = refOf(await register(world, first, {}, { path: world.endpoints.secure }))
const rebilled = accepted(await ask(world, 'make-rebill-sale', signedRebill(world, ref, again), world.endpoints.plain))
assert.equal((await settled(world, rebilled)).status, 'approved')

const mobile = await openMobile(world, [world.endpoints.plain])
closing(mobile.shop)
await configurationRead(world)
const transfer = await begin(mobile, 'transfer', app, { check: (honest) => ok(changed(honest, confirmed)) })
assert.equal((await rested(mobile, transfer)).state, 'APPROVED')
const { order_id: transferred } = (
  await sql('select order_id from mobile_invoice where invoice_id = $1', [transfer.invoiceId])
)[0]!

const orders = [first.orderid, rebilled.orderid, String(transferred)]
// Words of filters and issuers about the person, and a message that the old protocol kept.
await sql(`update order_facts set screening = $2 where order_id = $1`, [
  first.orderid,
  { score: 1, fired: [{ filterNo: 1, name: 'n', code: '3001', score: 1, found: 'canary-found' }] },
])
await sql(`update orders set authentication = (authentication::jsonb || $2)::json where order_id = $1`, [
  first.orderid,
  { cardholderInfo: 'canary-info', legacy: { accountId: 'canary-account' } },
])
await sql(
  `insert into delivery_attempt (merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status, answer)
  select merchant_id, order_id, delivery_no, -1, now(), 1, 500, 'no canary-answer' from delivery
  where order_id = $1 and delivery_no = 1`,
  [first.orderid],
)
const delivered = await until(
  () => sql(`select from delivery where order_id = any ($1::bigint[]) and state = 'due'`, [orders]),
  (due) => due.length === 0,
)
assert.deepEqual(delivered, [])
const hashId = String((await statusOf(world, first))['card-hash-id'])

const url = ['canary-url', 'canary-redirect']
const learned = ['canary-answer', 'canary-found', 'canary-info', 'canary-account', 'canary-agent', hashId]
const sent = [sale, again, returned, app, confirmed].flatMap((table): unknown[] => Object.values(table)).flat()
const values = [
  ...sent.map(String).map((value) => asStored[value] ?? value),
  ...url,
  ...learned,
  number,
  ...['accessToken', 'nonce', 'signature'].map((name) => String((transfer.body['session'] as Record<string, unknown>)[name])),
  String(transfer.session.token),
]
/** Too short to be looked for in the rows of others. */
const isShort = (value: string) => value.length < 6
/** A month is a number like many others. */
const member: Readonly<Record<string, string>> = { '10': 'expiryMonth\\W+', '11': 'expiryMonth\\W+' }

const search = openSearch(world, database, () => '')

/** The values that are in a table, with the tables. */
async function found(): Promise<Map<string, string[]>> {
  const tables = [...(await search.everything())].filter(([name]) => name.startsWith('table public.'))
  const own = tables.map(([name, text]) => {
    const rows = text.split('\n').filter((row) => [...orders, transfer.invoiceId].some((id) => row.includes(id)))
    return [name, rows.join('\n')] as const
  })
  const inside = (text: string, value: string) =>
    isShort(value)
      ? new RegExp(`(?<![A-Za-z0-9.:_-])${member[value] ?? ''}${value}(?![A-Za-z0-9.:_-])`).test(text)
      : spellings(value).some((spelling) => text.includes(spelling))
  return new Map(
    values.flatMap((value) => {
      const places = (isShort(value) ? own : tables).filter(([, text]) => inside(text, value)).map(([name]) => name)
      return places.length === 0 ? [] : [[value, places]]
    }),
  )
}

const emails = [sale.email.toUpperCase(), app['consumer.email'], ''].join('\n')
const addresses = join(folder, 'addresses')
writeFileSync(addresses, emails)
const long = ['--older-than', '180d', '--unapproved-after', '1d']

interface Found {
  orders: { order_id: number; left: string | null; erased_at: string | null }[]
  next: number | null
}
const idsOf = ({ orders: all }: Found) => all.map(({ order_id: id }) => String(id)).sort()

// ---- promises ----------------------------------------------------------------------------------

test('every field with data of a person, a card or a secret has a distinct value in this test', () => {
  const named = (table: object, sealed: readonly string[] = []) => [...Object.keys(table), ...sealed].sort()
  assert.deepEqual(guarded(saleRequest), named(sale, cardsAndSecrets.sale))
  assert.deepEqual(guarded(rebillRequest), named(again, cardsAndSecrets.again))
  assert.deepEqual(guarded(followRequest), named(returned))
  assert.deepEqual(guarded(transferRequest as Guarded), named(app, cardsAndSecrets.app))
  assert.deepEqual(guarded(checkReply as Guarded), named(confirmed, cardsAndSecrets.confirmed))
})

test('find lists the orders that hold data of a person, by e-mail, phone, card and order, to a reader', async () => {
  const find = (...args: string[]) => told<Found>('read', ['subject', 'find', ...args, '--json'])
  assert.deepEqual(idsOf(await find('--email', addresses)), [...orders].sort())
  const phones = join(folder, 'phones')
  writeFileSync(phones, '0049 (30) 7390-0002\n')
  assert.deepEqual(idsOf(await find('--phone', phones)), [first.orderid, rebilled.orderid].sort())
  const unlike = { email: 'other@example.com', country: 'DE', city: 'Berlin', zip_code: '10115', address1: 'x' }
  const near = await payOrder(world, { ...unlike, phone: '030 73900009' })
  await payOrder(world, { ...unlike, country: 'AT', phone: '030 73900009' })
  const written = await payOrder(world, { ...unlike, country: 'FR', phone: '4930 73900009' })
  writeFileSync(phones, '+49 (0)30 73900009\n')
  assert.deepEqual(idsOf(await find('--phone', phones)), [near.orderid, written.orderid].sort(), 'within its country, or in full')
  const card = join(folder, 'card')
  writeFileSync(card, number.replace(/(.{4})/g, '$1 '))
  const ofCard = idsOf(await find('--card', card, '--merchant', world.merchant.login, '--limit', '1000'))
  for (const id of [first.orderid, rebilled.orderid]) assert.ok(ofCard.includes(id))
  assert.deepEqual(idsOf(await find('--order', orders.join(','))), [...orders].sort())
  assert.deepEqual(idsOf(await find('--email', addresses, '--merchant', world.other.login)), [])
})

test('find goes on where a page ended', async () => {
  const seen: string[] = []
  for (let next: number | null = 0, pages = 0; next !== null && pages < 5; pages++) {
    const onwards: string[] = next === 0 ? [] : ['--after', String(next)]
    const page: Found = await told<Found>(
      'read',
      ['subject', 'find', '--email', '-', '--limit', '1', ...onwards, '--json'],
      emails,
    )
    seen.push(...idsOf(page))
    next = page.next
  }
  assert.deepEqual(seen.sort(), [...orders].sort())
})

test('export prints every value that is stored of a person, and no card number', async () => {
  const { code, out } = await as('read', ['subject', 'export', '--email', addresses])
  assert.equal(code, 0)
  const stored = values.filter((value) => !neverStored.includes(value))
  const secrets = [number, hashId, ...values.slice(-4)]
  for (const value of stored.filter((one) => !secrets.includes(one))) assert.ok(out.includes(value), value)
  for (const value of secrets) assert.ok(!out.includes(value), 'a secret')
})

test('orders that ended recently are left, with the reason', async () => {
  const erase = words`subject erase --email ${addresses} --yes --json`
  const { left } = await told<{ left: object }>('retention', [...erase, ...long])
  assert.deepEqual(left, { open: 0, callbacks: 0, young: 3 })
  assert.equal((await statusOf(world, first)).email, sale.email)
})

test('orders in progress, or with a callback due, are left, with the reason', async () => {
  await age(200)
  await sql(`update delivery set state = 'due', due_at = now() + interval '1 day' where order_id = $1 and delivery_no = 1`, [
    first.orderid,
  ])
  await sql(`update transaction set final_at = null where order_id = $1 and transaction_no > 1`, [transferred])
  await sql(
    `insert into transaction (merchant_id, order_id, transaction_no, kind, origin, state, amount_minor, amount_text, result,
      tries, created_at)
    select merchant_id, order_id, 9, 'return', 'gateway', 'ready', 1, '0.01', '{}', 0, now() from orders where order_id = $1`,
    [rebilled.orderid],
  )
  const { left } = await told<{ left: object }>('retention', ['subject', 'erase', '--email', addresses, '--json'])
  assert.deepEqual(left, { open: 2, callbacks: 1, young: 0 })
  await sql(`delete from transaction where order_id = $1 and transaction_no = 9`, [rebilled.orderid])
  await sql(`update transaction set final_at = created_at - interval '200 days' where order_id = $1 and final_at is null`, [
    transferred,
  ])
  await sql(`update delivery set state = 'delivered', due_at = null where order_id = $1 and delivery_no = 1`, [first.orderid])
})

test('after erasing, no table has a value of the person; before, each value is found', async () => {
  const before = await found()
  const sealed = [number, ...values.slice(-4).filter((value) => value !== transfer.session.token)]
  const missing = values.filter((value) => !before.has(value))
  const nonce = String((transfer.body['session'] as Record<string, unknown>)['nonce'])
  assert.deepEqual([...new Set(missing)].sort(), [...neverStored, ...sealed.filter((value) => value !== nonce)].sort())
  const books = await booksOf()
  const asked = await as('retention', ['subject', 'erase', '--email', '-'], emails)
  assert.match(asked.out, /3 orders would be erased/)
  assert.deepEqual(await found(), before)
  const done = await told<object>('retention', ['subject', 'erase', '--email', '-', '--yes', '--json'], emails)
  assert.deepEqual(done, { orders: 3, invoices: 1, references: 3, changes: 0, left: { open: 0, callbacks: 0, young: 0 } })
  assert.deepEqual(Object.fromEntries(await found()), {})
  const kept = await sql(`select from order_facts where order_id = any ($1::bigint[]) and pan_sealed is not null`, [orders])
  assert.equal(kept.length, 0)
  const [invoice] = await sql(`select secrets_sealed from mobile_invoice where invoice_id = $1`, [transfer.invoiceId])
  assert.equal(invoice!['secrets_sealed'], null)
  assert.deepEqual(await booksOf(), books)
})

test('erasing again finds nothing, and a later look says when it was', async () => {
  const repeated = await told<object>('retention', ['subject', 'erase', '--order', orders.join(','), '--yes', '--json'])
  assert.deepEqual(repeated, { orders: 0, invoices: 0, references: 0, changes: 0, left: { open: 0, callbacks: 0, young: 0 } })
  const { orders: seen } = await told<Found>('read', ['subject', 'find', '--order', first.orderid, '--json'])
  assert.match(String(seen[0]!.erased_at), /^20/)
  const { tell } = cliOf(() => world)
  assert.match(await tell(['order', 'show', first.orderid]), /Erased +the payer's data/)
})

test('the trail says how the person was named and how much was erased, and nothing of the person', async () => {
  const rows = await sql(
    `select action, details from audit where action like 'subject %' and who not like 'x%' order by no desc limit 40`,
  )
  const actions = new Set(rows.map(({ action }) => action))
  for (const action of ['subject find', 'subject export', 'subject erase', 'subject erased'])
    assert.ok(actions.has(action), action)
  for (const value of values.filter((one) => !isShort(one))) assert.ok(!JSON.stringify(rows).includes(value))
})

test('a merchant reads an erased payment without the person, and can still return it', async () => {
  const seen = await statusOf(world, first)
  assert.deepEqual([seen.status, seen['last-four-digits'], seen.email], ['approved', number.slice(-4), undefined])
  const reply = await follow(world, 'return', first, { amount: '2.00' })
  assert.equal((await ended(world, first, reply['serial-number']!)).status, 'approved')
  const refused = await ask(world, 'make-rebill-sale', signedRebill(world, ref, again), world.endpoints.plain)
  assert.notEqual(refused.type, 'async-response')
  await assert.rejects(mobileStatus(mobile, transfer), /ORDER_NOT_FOUND/)
})

test('the message of an erased order is not sent again', async () => {
  const { json } = cliOf(() => world)
  const done = await json<{ resent: number; erased: number }>('delivery', 'resend', first.orderid, '1')
  assert.deepEqual([done.resent, done.erased], [0, 1])
})

test('a person is named by one input, from a file, and a reader may erase no person', async () => {
  for (const args of [[], ['--email', addresses, '--order', '1'], ['--email', 'nobody@subject.example'], ['--card', addresses]]) {
    const { code, err } = await as('read', ['subject', 'find', ...args])
    assert.equal(code, 2, err)
  }
  const refused = await as('read', ['subject', 'erase', '--order', first.orderid, '--yes'])
  assert.equal(refused.code, 1)
  assert.match(refused.err, /may not do this/)
})

async function age(days: number): Promise<void> {
  const span = `interval '${days} days'`
  await sql(`update orders set final_at = final_at - ${span} where order_id = any ($1::bigint[])`, [orders])
  await sql(`update transaction set final_at = final_at - ${span} where order_id = any ($1::bigint[])`, [orders])
  await sql(`update mobile_invoice set ended_at = ended_at - ${span} where invoice_id = $1`, [transfer.invoiceId])
}

/** Amounts, states and what went to the acquirer. */
const booksOf = () =>
  sql(
    `select o.order_id, o.amount_minor, o.status, o.captured_minor, o.returned_minor, o.rrn, o.result::text,
      (select count(*) from order_event e where e.order_id = o.order_id) as events,
      (select count(*) from all_attempts a where a.order_id = o.order_id) as attempts
    from orders o where o.order_id = any ($1::bigint[]) order by o.order_id`,
    [orders],
  )
