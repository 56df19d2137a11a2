import assert from 'node:assert/strict'
import { test } from 'node:test'
import { words } from '../wire/operator/cli-run.ts'
import { openInstallation, type Change } from '../wire/operator/history-cli.ts'

// Values of a person in the histories of filters: found, exported and cleared.
// No gateway runs here, so that nothing but these commands writes.

const { sql, tell, refuse, json, historyOf, newest } = await openInstallation()
await tell(words`merchant add --login shop`)

const listed: Record<string, string[]> = {
  email: ['eve@example.com', '@example.com', 'bob@example.com'],
  ip: ['203.0.113.7', '203.0.113.0/24'],
  phone: ['+49 30 73900002', '030 73900009'],
  card: ['0123456789abcdef0123456789abcdef', 'fedcba9876543210fedcba9876543210'],
}
const filters: string[] = []
for (const [of, values] of Object.entries(listed)) {
  const { filter } = await json<{ filter: number }>(
    words`filter add black --merchant shop --of ${of} --value ${values.join(',')}`,
  )
  await tell(words`filter entries shop ${filter} remove --value ${values.join(',')}`)
  filters.push(String(filter))
}
const [merchant] = await sql(`select merchant_id as id from merchant where login = 'shop'`)
const id = String(merchant!['id'])
await sql(
  `insert into orders (merchant_id, order_id, version, kind, client_orderid, path_id, endpoint_id, currency, amount_minor,
    amount_text, status, events, deliveries, created_at, final_at, authorised_minor, state, authorised_text, result, tries,
    transactions, attempts)
  values (${id}, 1000001, 0, 'sale', 'one', 101, 101, 'USD', 100, '1.00', 'declined', 1, 0, now() - interval '9 days',
    now() - interval '9 days', 0, 'declined', '0.00', '{}', 0, 1, 0)`,
)
const request = { email: 'Eve@Example.com', ipAddress: '203.0.113.7', phone: '030 73900002', country: 'DE' }
const card = { hashId: listed['card']![0], bin: '411111', lastFour: '1111' }
await sql(
  `insert into order_facts (merchant_id, order_id, request, card, card_hash)
  values (${id}, 1000001, '${JSON.stringify(request)}', '${JSON.stringify(card)}', '')`,
)
const entriesIn = async (filter: string) =>
  (await historyOf('filter', 'history', 'shop', filter)).map(({ before, after }) =>
    [before?.['entries'], after['entries']].flat(),
  )
interface Listing extends Pick<Change, 'change' | 'action'> {
  entity: string
  merchant: string
  filter: number
  added?: string[]
  removed?: string[]
}
const eve = 'eve@example.com\n'
const changesBy = async (what: 'find' | 'export') => {
  const print = await tell(['subject', what, '--email', '-', ...(what === 'find' ? ['--json'] : [])], eve)
  return (JSON.parse(print) as { changes: Listing[] }).changes
}

test('a person is found in the histories of filters and exported with them', async () => {
  const found = await changesBy('find')
  assert.deepEqual(
    found.map(({ entity, merchant: login, filter, action }) => [entity, login, `${filter} ${action}`]),
    filters.flatMap((no) => [`${no} filter add`, `${no} filter entries`]).map((one) => ['filter', 'shop', one]),
  )
  const [made, taken] = (await historyOf('filter', 'history', 'shop', filters[0]!)).toReversed()
  assert.deepEqual([found[0]!.change, found[1]!.change], [made!.change, taken!.change])
  assert.match(
    await tell(words`subject find --email -`, eve),
    new RegExp(`history of filter ${filters[0]} of shop: change ${made!.change} `),
  )
  const exported = await changesBy('export')
  const own = ['eve@example.com', '203.0.113.7/32', '493073900002', listed['card']![0]!]
  assert.deepEqual(
    exported.map(({ change, added, removed }) => ({ change, added, removed })),
    found.map(({ change }, at) => {
      const value = [own[Math.floor(at / 2)]!]
      return at % 2 === 0 ? { change, added: value, removed: [] } : { change, added: [], removed: value }
    }),
  )
  const trail = JSON.stringify(await json<object>(words`audit list --about ${'a person'}`))
  assert.ok(trail.includes('"changes":8') && !trail.includes('eve@'))
})

test('erasing a person removes only its values from the histories of filters', async () => {
  const told = await tell(words`subject erase --email - --yes`, eve)
  assert.match(told, /Erased: 1 order.* values in 8 changes of filters/)
  const left = {
    email: ['bob@example.com', '@example.com'],
    ip: ['203.0.113.0/24'],
    phone: ['03073900009'],
    card: [listed['card']![1]],
  }
  for (const [at, values] of Object.values(left).entries())
    for (const entries of await entriesIn(filters[at]!))
      assert.deepEqual(new Set(entries.filter((one) => one !== undefined)), new Set(values), filters[at])
  const { change, secrets } = await newest('filter', 'history', 'shop', filters[0]!)
  assert.deepEqual(secrets, ['values of a person'])
  assert.match(
    await refuse(words`filter undo ${change}`),
    /cannot be undone: the values it replaced were not kept.*values of a person/,
  )
  assert.match(await tell(words`subject erase --email - --yes`, eve), /values in 0 changes/)
  assert.deepEqual([await changesBy('find'), await changesBy('export')], [[], []])
})

test('no history contains a value of an erased payer', async () => {
  await sql(`update order_facts set request = '${JSON.stringify({ erasedAt: '2030-01-01T00:00:00.000Z' })}', card = '{}'`)
  const found = await json<{ orders: object[]; changes: Listing[] }>(words`subject find --order 1000001 --merchant shop`)
  assert.deepEqual([found.orders.length, found.changes], [1, []])
})
