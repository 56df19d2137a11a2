import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { keyFileIn, startOwnApi } from '../../harness/operators/api.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// Searches that no index serves: a page ends after 10,000 orders, and the next one goes on there.

const { url: databaseUrl } = closing(await migratedDatabase())
const api = closing(await startOwnApi({ databaseUrl, keyFile: keyFileIn(openDirectory('walks')) }))
await api.tell(['merchant', 'add', '--login', 'shop', '--name', 'Shop'])
const { token } = await api.tokenFor('auditor')

/** By its place in the list, newest first; ten are made in the same minute. */
const idAt = (place: number) => String(1_100_000 - place)
const many = 22_500
/** Around the places where pages end, the last of all, and one soon found. */
const yen = [5, 9_999, 10_000, 10_001, 20_001, 20_002, many - 1]

const database = closing(new Client({ connectionString: databaseUrl }))
await database.connect()
await database.query(
  `with o as (
    insert into orders (merchant_id, order_id, version, kind, client_orderid, path_id, endpoint_id, currency, amount_minor,
      amount_text, status, events, deliveries, created_at, final_at, authorised_minor, state, authorised_text, result, tries,
      transactions, attempts)
    select m.merchant_id, $2 - place, 0, 'sale', place::text, 1, 1, case when place = any ($3::int[]) then 'JPY' else 'USD' end,
      100, '1.00', 'approved', 1, 0, date_trunc('minute', now()) - (place / 10) * interval '1 minute', now(), 100,
      'approved', '1.00', '{}', 0, 1, 0
    from generate_series(0, $1::int - 1) place, merchant m where m.login = 'shop' returning merchant_id, order_id)
  insert into order_facts (merchant_id, order_id, request, card, card_hash) select merchant_id, order_id, '{}', '{}', '' from o`,
  [many, idAt(0), yen],
)
await database.query('analyze orders')

interface Page {
  orders: { order_id: string }[]
  next: string | null
}
async function pagesOf(asked: object): Promise<string[][]> {
  const pages: string[][] = []
  let after: string | null | undefined
  while (after !== null) {
    const { json, text } = await api.ask('order/find', { ...asked, ...(after !== undefined && { after }) }, { token })
    const page = json as unknown as Page
    assert.ok(Array.isArray(page.orders), text)
    pages.push(page.orders.map(({ order_id: orderId }) => orderId))
    after = page.next
  }
  return pages
}

// oxfmt-ignore
const cases = [
  ['what is rare',            { currency: 'JPY' },                [[5, 9_999, 10_000], [10_001, 20_001], [20_002, many - 1]]],
  ['what is rare, by amount', { amount: '100', currency: 'JPY' }, [[5, 9_999, 10_000], [10_001, 20_001], [20_002, many - 1]]],
  ['more than a page has',    { currency: 'JPY', limit: 2 },      [[5, 9_999], [10_000, 10_001], [20_001, 20_002], [many - 1]]],
  ['what is nowhere',         { code: ['999'] },                    [[], [], []]],
  ['what has an index',       { currency: 'JPY', client_orderid: '22499' }, [[many - 1]]],
] as const
for (const [what, asked, expected] of cases)
  test(`${what} is found completely, a page at a time`, async () => {
    assert.deepEqual(
      await pagesOf(asked),
      expected.map((places) => places.map(idAt)),
    )
  })
