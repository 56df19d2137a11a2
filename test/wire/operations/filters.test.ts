import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newOrderId, order, settled, type Changes, type Fields } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Desk } from '../../../src/operator/desk.ts'
import {
  readEntries,
  readRule,
  ruleKinds,
  type FilterWish,
  type RuleKind,
} from '../../../src/operator/configuration/filter-settings.ts'
import { isMisfit } from '../../../src/operator/refused.ts'
import { addFilter, removeFilter } from '../../../src/operator/configuration/filter-rows.ts'
import { loadBins, replaceBins } from '../../../src/card/bin-rows.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { startServe } from '../../harness/world/serve.ts'
import { type World } from '../../harness/world/world.ts'
import { cliOf } from '../operator/cli-run.ts'
import { closing, openDirectory, openWorld } from '../../harness/world/opening.ts'

/**
 * Filters as an operator makes them and a merchant meets them. Two more gateway processes serve on
 * the database of the sandbox.
 */

const folder = openDirectory('filters')
const world = await openWorld()
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url: world.databaseUrl, connections: 2, use: 'search', log }))
const desk: Desk = { pool, clock: systemClock, random: systemRandom, who: 'the test', action: 'a test' }
const [first, second] = await Promise.all([startServe(world), startServe(world)])
closing(first)
closing(second)

const { tell, json, refuse } = cliOf(() => world)
const hour = 3_600_000
const either = (at: number): World => (at % 2 === 0 ? first : second).world

interface Shown {
  status: string
  screening: { score: number; filtered: boolean; fired: { filter: number; code: string; found: string }[] } | null
}

let made = 0
/** An address that no other test pays by, so that a rule of one test says nothing to another. */
const newEmail = () => `customer-${++made}@filters.example`

/** Adds a rule as the command does, and waits until every process knows it. */
async function add(
  kind: RuleKind,
  wish: FilterWish,
  more: { values?: string[]; score?: number; code?: string; name?: string; endpointId?: bigint } = {},
) {
  const facts = readRule(kind, wish)
  const { values = [], ...rest } = more
  const entries = 'of' in facts ? readEntries(facts.of, values) : new Set<string>()
  assert.ok(!isMisfit(entries))
  const { code, score } = ruleKinds[kind]
  const { filterNo } = await addFilter(desk, { login: world.merchant.login, code, score, ...rest, facts, entries })
  await allRead()
  return filterNo
}

const remove = (filterNo: number) => removeFilter(desk, world.merchant.login, filterNo)

const allRead = () => configurationRead(world, first.world, second.world)

const addByCommand = (...args: string[]) => json<{ filter: number }>('filter', 'add', ...args, '--merchant', world.merchant.login)
const inEuro = (): World => ({ ...world, endpoints: { ...world.endpoints, plain: world.endpoints.euro } })

async function pay(changes: Changes, at: World = world): Promise<Fields> {
  const sold = await order(at, { ipaddress: '198.51.100.20', ...changes })
  return { ...(await settled(at, sold)), orderid: sold.orderid }
}

const many = (count: number, pays: (at: number) => Promise<Fields>) =>
  Promise.all(Array.from({ length: count }, (_, at) => pays(at)))
const tally = (ended: Fields[]) => {
  const counts: Record<string, number> = {}
  for (const { status = '' } of ended) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test('order show names the rule that filtered, and no attempt; taken off the list, the address pays', async () => {
  const email = newEmail()
  const no = await add('black', { of: 'email' }, { values: [email], code: '3077', name: 'bad people' })
  const ended = await pay({ email })
  const shown = await json<Shown & { attempts: unknown[] }>('order', 'show', ended.orderid!)
  assert.deepEqual(shown.attempts, [])
  assert.deepEqual(shown.screening, {
    score: 100,
    filtered: true,
    fired: [{ filter: no, name: 'bad people', code: '3077', score: 100, found: `email ${email} is listed` }],
  })
  assert.match(await tell(['order', 'show', ended.orderid!]), /Filters +1 fired, score 100 of 100: filtered[^]*bad people/)
  await tell(['filter', 'entries', world.merchant.login, String(no), 'remove', '--value', email.toUpperCase()])
  await allRead()
  assert.equal((await pay({ email })).status, 'approved')
})

test('cards are listed by an order that was made with them, or by numbers from a file that are kept as hashes', async () => {
  const bad = '4222222222222220'
  const worse = '5105105105105100'
  const stolen = await pay({ credit_card_number: bad })
  assert.equal(stolen.status, 'approved')
  const { filter: no } = await addByCommand('black', '--of', 'card', '--card-of', stolen.orderid!)
  await allRead()
  assert.equal((await pay({ credit_card_number: bad })).status, 'filtered')
  const file = join(folder, 'cards.txt')
  writeFileSync(file, `# stolen\n${worse.replace(/(.{4})/g, '$1 ')}\n`)
  await tell(['filter', 'entries', world.merchant.login, String(no), 'add', '--file', file])
  await allRead()
  assert.equal((await pay({ credit_card_number: worse })).status, 'filtered')
  const { entries } = await json<{ entries: string[] }>('filter', 'show', world.merchant.login, String(no))
  assert.equal(entries.length, 2)
  for (const entry of entries) assert.match(entry, /^[0-9a-f]{32}$/)
  const complaint = await refuse(2, 'filter', 'entries', world.merchant.login, String(no), 'add', '--value', worse)
  assert.match(complaint, /by --file/)
  await remove(no)
})

test('of 64 simultaneous payments by two processes no more pass than the limit allows', async () => {
  for (let round = 0; round < 5; round++) {
    const email = newEmail()
    const limit = 5 + round
    const no = await add('velocity', { per: 'email', limit: String(limit), withinMs: hour })
    const ended = await many(64, (at) => pay({ email, client_orderid: newOrderId() }, either(at)))
    assert.deepEqual(tally(ended), { approved: limit, filtered: 64 - limit })
    assert.ok(ended.filter(({ status }) => status === 'filtered').every((one) => one['error-code'] === '3002'))
    await remove(no)
  }
})

test('simultaneous payments by two processes never exceed a sum, and another currency does not use it up', async () => {
  const email = newEmail()
  const no = await add('volume', { per: 'email', limit: '100.00', currency: 'USD', withinMs: 720 * hour })
  const euro = await pay({ email, currency: 'EUR', amount: '90.00' }, inEuro())
  assert.equal(euro.status, 'approved')
  const ended = await many(40, (at) => pay({ email, amount: at % 2 === 0 ? '7.50' : '10.00' }, either(at)))
  const passed = ended.filter(({ status }) => status === 'approved')
  const sum = passed.reduce((total, { amount }) => total + Number(amount), 0)
  assert.ok(sum <= 100 && sum > 90, `${sum}`)
  assert.equal((tally(ended)['approved'] ?? 0) + (tally(ended)['filtered'] ?? 0), 40)
  await remove(no)
})

test('refused payments count for a limit, or do not, or alone, as its setting says', async () => {
  const [everything, standing, refusedOnly] = [newEmail(), newEmail(), newEmail()]
  const declined = (email: string) => pay({ email, cvv2: '116' })
  const paid = (email: string) => pay({ email })
  const all = await add('velocity', { per: 'email', limit: '2', withinMs: hour }, { score: 50 })
  assert.deepEqual([(await declined(everything)).status, (await declined(everything)).status], ['declined', 'declined'])
  const third = await json<Shown>('order', 'show', (await paid(everything)).orderid!)
  assert.deepEqual(
    third.screening!.fired.map(({ found }) => found),
    ['2 by this email before, of 2'],
  )
  await remove(all)

  const unrefused = await add('velocity', { per: 'email', limit: '2', withinMs: hour, counts: 'unrefused' })
  for (let i = 0; i < 3; i++) assert.equal((await declined(standing)).status, 'declined')
  for (const status of ['approved', 'approved', 'filtered']) assert.equal((await paid(standing)).status, status)
  await remove(unrefused)

  const refused = await add('velocity', { per: 'email', limit: '2', withinMs: hour, counts: 'refused' })
  for (let i = 0; i < 3; i++) assert.equal((await paid(refusedOnly)).status, 'approved')
  for (let i = 0; i < 2; i++) assert.equal((await declined(refusedOnly)).status, 'declined')
  assert.equal((await paid(refusedOnly)).status, 'filtered')
  await remove(refused)
})

test('a repeat of a request uses nothing up', async () => {
  const email = newEmail()
  const no = await add('velocity', { per: 'email', limit: '1', withinMs: hour })
  const client_orderid = newOrderId()
  const ended = await many(8, () => pay({ email, client_orderid }))
  assert.deepEqual(new Set(ended.map(({ orderid }) => orderid)).size, 1)
  assert.deepEqual(tally(ended), { approved: 8 })
  assert.equal((await pay({ email })).status, 'filtered')
  await remove(no)
})

test('the imported BIN table says the country and the bank of a card; one with an overlap changes nothing', async () => {
  const rules = [await add('country-mismatch', {}), await add('amount', { currency: 'USD', most: '500' })]
  const german = { credit_card_number: '4000020000000000' }
  assert.equal((await pay({ country: 'DE', ...german })).status, 'approved')
  assert.equal((await pay({ country: 'FR' }))['error-code'], '3005')
  // All merchants of a sandbox share the table.
  const before = await loadBins(pool)
  try {
    const table = join(folder, 'bins.csv')
    writeFileSync(table, 'first,last,country,bank\n4111,4111,FRA,"Banque Imaginaire, Paris"\n')
    assert.match(await tell(['bin', 'import', table]), /1 range now/)
    await until(
      () => pay({ country: 'FR' }),
      ({ status }) => status === 'approved',
    )
    // The acquirer would say it of a payment that it is asked about.
    const stopped = await pay({ country: 'FR', amount: '500.01' })
    const { 'error-code': code, 'bank-name': bank, 'card-country-alpha-three-code': country } = stopped
    assert.deepEqual([code, bank, country], ['3004', 'Banque Imaginaire, Paris', 'FRA'])
    assert.match(await tell(['bin', 'find', '411111']), /FR[\s\S]*Banque Imaginaire, Paris/)
    assert.match(await refuse(2, 'bin', 'import', join(folder, 'nothing.csv')), /cannot be read/)
    writeFileSync(table, 'first,last,country\n411100,411150,FRA\n411120,411190,DE\n')
    assert.match(await refuse(2, 'bin', 'import', table), /overlap.*Nothing was changed/)
  } finally {
    await transaction(pool, (runner) => replaceBins(runner, before))
  }
  await until(
    () => pay({ country: 'FR' }),
    ({ status }) => status === 'filtered',
  )
  for (const no of rules) await remove(no)
})

test('one card is freed from a limit, by its number or its hash, and the others stay; the trail never has it', async () => {
  const [one, other] = ['4222222222222220', '5105105105105100']
  const limit = ['--per', 'card', '--limit', '100', '--currency', 'USD', '--within', '24h']
  const { filter: no } = await addByCommand('volume', ...limit)
  await allRead()
  const reset = (...more: string[]) => ['filter', 'reset', world.merchant.login, String(no), ...more]
  const pays = async (card: string) => (await pay({ credit_card_number: card, amount: '60.00' })).status
  try {
    assert.deepEqual([await pays(one), await pays(other), await pays(one)], ['approved', 'approved', 'filtered'])
    // What was filtered is counted too.
    assert.match(
      await tell(reset(), `${one}\n`),
      /counts by it from nothing again: there were 2 payments of 120\.00 USD in all\./,
    )
    assert.deepEqual([await pays(one), await pays(one), await pays(other)], ['approved', 'filtered', 'filtered'])
    const { orders } = await json<{ orders: { card: { hash_id: string } }[] }>('order', 'find', '--limit', '1')
    const hash = orders[0]!.card.hash_id
    const freed = { orders: 2, amount: '120.00', currency: 'USD' }
    assert.deepEqual((await json<{ freed: object }>(...reset(hash))).freed, freed)
    assert.match(await refuse(1, ...reset(hash)), /counts no payment of this card now/)
    assert.match(await refuse(2, ...reset('4222222222222221')), /--value must be the number of a card, or its card-hash-id/)
    const { entries } = await json<{ entries: { action: string; details: object }[] }>(
      'audit',
      'list',
      '--about',
      'filter reset filter',
    )
    const own = entries.filter(({ action }) => action === 'filter reset').slice(0, 2)
    const details = { per: 'card', freed }
    assert.deepEqual(
      own.map((entry) => entry.details),
      [details, details],
    )
    const all = JSON.stringify(await json('audit', 'list', '--limit', '100'))
    for (const value of [one, hash, '4222222222222221']) assert.ok(!all.includes(value))
  } finally {
    await remove(no)
  }
  assert.match(await refuse(1, ...reset(one)), /is removed already/)
})

test('an address is reset under its normalised form, and a filter that counts nothing has none to reset', async () => {
  const email = newEmail()
  const { filter: no } = await addByCommand('velocity', '--per', 'email', '--limit', '1', '--within', '24h')
  await allRead()
  assert.deepEqual([(await pay({ email })).status, (await pay({ email })).status], ['approved', 'filtered'])
  await tell(['filter', 'reset', world.merchant.login, String(no), email.toUpperCase()])
  assert.equal((await pay({ email })).status, 'approved')
  assert.match(await refuse(1, 'filter', 'reset', world.merchant.login, String(no), newEmail()), /no payment of this email/)
  await remove(no)
  const { filter: list } = await addByCommand('black', '--of', 'email', '--value', newEmail())
  assert.match(
    await refuse(1, 'filter', 'reset', world.merchant.login, String(list), email),
    /is not a limit, so it counts nothing: black list of email/,
  )
  await tell(['filter', 'entries', world.merchant.login, String(list), 'add', '--value', newEmail()])
  const lines = (await tell(['filter', 'list'])).split('\n')
  const line = lines.find((one) => new RegExp(` ${list}  `).test(one))
  assert.match(line ?? '', /  black list of email, 2 on it$/, 'what it is called follows its entries')
  await remove(list)
})

test('filter test judges without counting; filter list shows all filters; an invalid rule is refused', async () => {
  const email = newEmail()
  const { filter: no } = await addByCommand('velocity', '--per', 'email', '--limit', '1', '--within', '10min')
  await allRead()
  const payment = ['--endpoint', String(world.endpoints.plain), '--card', '4111111111111111', '--email', email]
  const trial = () => json<{ filtered: boolean; fired: { filter: number }[] }>('filter', 'test', ...payment)
  assert.deepEqual([(await trial()).filtered, (await trial()).filtered], [false, false])
  assert.equal((await pay({ email })).status, 'approved')
  const said = await trial()
  assert.deepEqual([said.filtered, said.fired.map(({ filter }) => filter)], [true, [no]])
  assert.match(await tell(['filter', 'list']), /at most 1 payments by email in 10 min/)
  await tell(['filter', 'remove', world.merchant.login, String(no)])
  assert.match(await refuse(1, 'filter', 'remove', world.merchant.login, String(no)), /is removed already/)
  assert.match(await refuse(1, 'filter', 'show', world.merchant.login, '999999'), /no filter 999999/)
  // oxfmt-ignore
  const wrong: readonly (readonly [args: string, why: RegExp])[] = [
    ['black',                                                          /--of is needed/],
    ['velocity --per card --within 1h',                                /--limit/],
    ['velocity --limit 3 --within 1h',                                 /--per/],
    ['velocity --per card --limit 3',                                  /--within is needed/],
    ['velocity --per card --limit 3 --within 10s',                     /1min to 366d/],
    ['volume --per card --limit 3 --within 1h',                        /--currency/],
    ['volume --per card --limit 3.001 --currency USD --within 1h',     /--limit must be an amount of USD/],
    ['amount --currency USD',                                          /--least or --most/],
    ['amount --currency USD --least 5 --most 4',                       /--least must be no more than the most/],
    ['amount --currency USD --most 3 --value x',                       /no list/],
    ['time-of-day --from 25:00 --to 06:00',                            /22:00/],
    ['time-of-day --from 01:00 --to 06:00 --zone Mars/Base',           /IANA/],
    ['black --of ip --value 10.0.0.0/99',                              /not an IP address/],
    ['black --of email --limit 3',                                     /does not apply/],
    ['black --of email --value a@b.example --code 2001',               /3000 to 3999/],
    ['grey',                                                           /black/],
  ]
  for (const [args, why] of wrong)
    assert.match(await refuse(2, 'filter', 'add', ...args.split(' '), '--merchant', world.merchant.login), why)
})
