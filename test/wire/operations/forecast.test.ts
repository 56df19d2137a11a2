import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { secret } from '../../../src/base/secret.ts'
import { setEndpoint } from '../../../src/operator/configuration/endpoint-rows.ts'
import type { Changed } from '../../../src/operator/desk.ts'
import { configurationIn, forecastOf, type Configuration } from '../../../src/operator/forecast/forecast.ts'
import type { Office } from '../../../src/operator/office.ts'
import { rightsOf } from '../../../src/operator/permissions.ts'
import { loginsIn } from '../../../src/operator/where.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { begin } from '../../conformance/operations/operations.ts'
import {
  accepted,
  order,
  refused,
  required,
  sale,
  settled,
  type Changes,
  type Fields,
} from '../../conformance/requests/client.ts'
import { cardOf, waitsFor } from '../../conformance/three-d-secure/shopper.ts'
import { askApi, tokensOf } from '../../harness/operators/api.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf, words } from '../operator/cli-run.ts'

// A dry run says what a change would have made of the payments of the last days. Each forecast is
// compared with a count by hand; then the change is made, and the same payments come again.

const world = await openWorld()
const { tell, json } = cliOf(() => world)
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url: world.databaseUrl, connections: 3, use: 'admin', log }))
const { login } = world.merchant
const [bad, worse] = ['bad@forecast.example', 'worse@forecast.example']

interface Forecast {
  judged: number | null
  more: boolean
  changes: { before: string; after: string; why: string; orders: number }[]
  not_forecast: Record<string, string>
}

const newEndpoint = async (name: string, ...more: string[]) =>
  (
    await json<{ endpoint_id: number }>(
      ...words`endpoint add --merchant ${login} --currency USD --gate 1 --name ${name}`,
      ...more,
    )
  ).endpoint_id
const path = await newEndpoint('forecast')
const secure = await newEndpoint('forecast-secure', '--three-d-secure', 'on')
const { filter: first } = await json<{ filter: number }>(
  ...words`filter add black --merchant ${login} --endpoint ${path} --of email --value ${worse} --name first`,
)
await configurationRead(world)

const way = { path }
const redirect_url = 'https://shop.example/back'
/** What comes, by its name; again for each change that is made. */
const payments = {
  good: { phone: '12345678', redirect_url },
  bad: { email: bad, redirect_url },
  declined: { email: bad, phone: '12345678', cvv2: '116' },
  filtered: { email: worse, phone: '12345678', redirect_url },
} satisfies Record<string, Changes>
type Name = keyof typeof payments

async function pay(name: Name): Promise<Fields> {
  const { orderid, ...sold } = await order(world, payments[name], way)
  return { ...(await settled(world, { orderid, ...sold }, way)), orderid }
}
const ends = async (name: Name) => (await pay(name)).status
const again = (name: Name) => sale(world, payments[name], way)

for (const [name, status, count] of [
  ['good', 'approved', 3],
  ['bad', 'approved', 2],
  ['declined', 'declined', 1],
  ['filtered', 'filtered', 1],
] as const)
  for (let i = 0; i < count; i++) assert.equal(await ends(name), status)
await settled(world, accepted(await begin(world, 'preauth', payments.good, way)), way)
const old = await pay('bad')
await pool.run({ name: '', text: `update orders set created_at = created_at - interval '7 days 1 minute' where order_id = $1` }, [
  old.orderid,
])
/** The preauthorisation is one more; the old one does not count. */
const all = 8

const dry = async (args: readonly string[]): Promise<Forecast> =>
  (await json<{ forecast: Forecast }>(...args, '--dry-run')).forecast
const countsOf = ({ changes }: Forecast) =>
  Object.fromEntries(changes.map(({ before, after, why, orders }) => [`${before} > ${after}: ${why}`, orders]))

/** Makes a change, and takes it back once the payments have come. */
async function made(args: readonly string[], back: readonly string[], comes: () => Promise<void>): Promise<void> {
  await tell(args)
  await configurationRead(world)
  await comes()
  await tell(back)
  await configurationRead(world)
}

const set = (...more: string[]) => [...words`endpoint set ${path}`, ...more]
const elsewhere = (await json<{ gates: { gate_id: number; name: string; enabled: boolean }[] }>('gate', 'list')).gates.find(
  ({ gate_id: id, enabled }) => id !== 1 && enabled,
)!

test('a field that becomes mandatory', async () => {
  const args = set('--mandatory', 'phone')
  const forecast = await dry(args)
  assert.deepEqual(countsOf(forecast), { 'approved > refused: field phone is missing': 2 })
  assert.deepEqual([forecast.judged, forecast.more], [all, false])
  await made(args, set('--mandatory', 'none'), async () => {
    refused(await again('bad'), 1, required('phone'))
    assert.equal(await ends('good'), 'approved')
    await forget()
  })
})

/** Payments that came again are no part of later counts by hand. */
async function forget(): Promise<void> {
  const text = `update orders set created_at = created_at - interval '8 days' where endpoint_id = $1 and order_id > $2`
  await pool.run({ name: '', text }, [path, old.orderid])
}

test('an operation that is switched off, and an endpoint', async () => {
  const args = set('--operations', 'sale=off')
  const off = (why: string, sales: number) => ({
    [`approved > refused: ${why}`]: sales,
    [`declined > refused: ${why}`]: 1,
    [`filtered > refused: ${why}`]: 1,
  })
  assert.deepEqual(countsOf(await dry(args)), off('sale is switched off', 5))
  await made(args, set('--operations', 'sale=on'), async () => {
    refused(await again('good'), 5)
    accepted(await begin(world, 'preauth', payments.good, way))
    await forget()
  })
  const disable = words`endpoint disable ${path}`
  assert.deepEqual(countsOf(await dry(disable)), off('its endpoint or group is switched off', 6))
  await made(disable, words`endpoint enable ${path}`, async () => refused(await begin(world, 'preauth', payments.good, way), 5))
})

test('a filter that is added, gets a value, or goes; the words of a dry run name no payer', async () => {
  const add = words`filter add black --merchant ${login} --endpoint ${path} --of email --value ${bad} --name second`
  const fires = (filter: string) => ({
    [`approved > filtered: filter ${filter}`]: 2,
    [`declined > filtered: filter ${filter}`]: 1,
  })
  assert.deepEqual(countsOf(await dry(add)), fires(`${first + 1} (second)`))
  const text = await tell([...add, '--dry-run'])
  assert.match(
    text,
    /Of 8 orders since .*, 3 would have ended otherwise\.\n\nORDERS +NOW +THEN +WHY\n +2 +approved +filtered +filter/,
  )
  assert.ok(!text.includes(bad))
  const entries = (what: string) => words`filter entries ${login} ${first} ${what} --value ${bad}`
  assert.deepEqual(countsOf(await dry(entries('add'))), fires(`${first} (first)`))
  await made(entries('add'), entries('remove'), async () => {
    assert.deepEqual([await ends('bad'), await ends('declined'), await ends('good')], ['filtered', 'filtered', 'approved'])
    await forget()
  })
  const remove = words`filter remove ${login} ${first}`
  assert.deepEqual(countsOf(await dry(remove)), { [`filtered > not known: no longer: filter ${first} (first)`]: 1 })
  await tell(remove)
  const { changes } = await json<{ changes: { change: number }[] }>(...words`filter history ${login} ${first}`)
  const undo = words`filter undo ${changes[0]!.change}`
  assert.deepEqual(countsOf(await dry(undo)), { [`not known > filtered: filter ${first} (first)`]: 1 })
  await tell(undo)
  const limit = words`filter add velocity --merchant ${login} --endpoint ${path} --per email --limit 1 --within 1h`
  const forecast = await dry(limit)
  assert.deepEqual([forecast.changes, forecast.not_forecast], [[], { limit: 'the counts of this filter do not exist yet' }])
})

test('3-D Secure that is switched on, and what its policy lets through', async () => {
  const args = set('--three-d-secure', 'on')
  assert.deepEqual(countsOf(await dry(args)), {
    'approved > not known: with 3-D Secure, by gate 1 (sandbox acquirer)': 6,
    'declined > refused: field redirect_url is missing': 1,
  })
  await made(args, set('--three-d-secure', 'off'), async () => {
    await waitsFor(world, await order(world, payments.good, way), 'MethodUrlFrame')
    refused(await again('declined'), 1, required('redirect_url'))
    await forget()
  })
  const credit_card_number = await cardOf(world, 'not-enrolled')
  const securely = async () =>
    settled(world, await order(world, { credit_card_number, redirect_url }, { path: secure }), { path: secure })
  assert.equal((await securely())['error-code'], '2006')
  const policy = words`endpoint set ${secure} --authentication-policy not-enrolled=authorise`
  assert.deepEqual(countsOf(await dry(policy)), {
    'declined > not known: no longer: Card is not enrolled in 3-D Secure': 1,
  })
  await made(policy, words`endpoint set ${secure} --authentication-policy safe`, async () =>
    assert.equal((await securely()).status, 'approved'),
  )
})

test('another gate, and a merchant that is switched off', async () => {
  const args = set('--gate', String(elsewhere.gate_id))
  const why = `without 3-D Secure, by gate ${elsewhere.gate_id} (${elsewhere.name})`
  assert.deepEqual(countsOf(await dry(args)), { [`approved > not known: ${why}`]: 6, [`declined > not known: ${why}`]: 1 })
  const { judged, changes } = await dry(words`merchant disable ${login}`)
  const count = changes.reduce((sum, { orders }) => sum + orders, 0)
  assert.equal(count, judged)
  assert.ok(changes.every(({ after, why: said }) => after === 'refused' && said === 'the merchant is switched off'))
})

test('a setting that does not decide says so, and nothing is read', async () => {
  const forecast = await dry(set('--descriptor', 'OTHER', '--repeat-window', '1h'))
  assert.deepEqual([forecast.judged, forecast.changes], [null, []])
  assert.deepEqual(Object.keys(forecast.not_forecast), ['repeat_window_ms', 'descriptor'])
  assert.match(
    await tell(set('--descriptor', 'OTHER', '--dry-run')),
    /No forecast of descriptor: it decides about no payment\.\n/,
  )
})

const kek = fixedKek(secret(Buffer.alloc(32)), systemRandom)
const office: Office = {
  rights: rightsOf('owner'),
  unrecorded: () => {},
  pool,
  cells: async () => [{ cellNo: 0, pool }],
  clock: systemClock,
  random: systemRandom,
  who: 'a test',
  action: 'endpoint set',
  databaseUrl: world.databaseUrl,
  callbackPolicy: { plainHttp: true, loopbackAnyPort: true },
  keys: () => Promise.reject(new Error('no key is opened')),
  kek: () => kek,
  log,
  progress: () => {},
}

test('only so many of the newest are judged, and that there were more is said; another merchant has none', async () => {
  const seen: Configuration[] = []
  const changed: Changed[] = []
  const dryRun: Office['dryRun'] = async (runner, of) => {
    seen.push(await configurationIn(runner))
    if (of) changed.push(of)
  }
  await setEndpoint({ ...office, dryRun }, { endpoint: BigInt(path), mandatoryFields: ['phone'] })
  const [before, after] = seen
  const forecast = (most: number | undefined, at = office) =>
    forecastOf(at, changed[0]!, [before!, after!] as [Configuration, Configuration], most)
  // The newest are a preauthorisation, a filtered and a declined one, and two without a phone.
  for (const [most, missing, more] of [
    [3, 0, true],
    [4, 1, true],
    [7, 2, true],
    [8, 2, false],
    [undefined, 2, false],
  ] as const) {
    const { judged, more: were, changes } = await forecast(most)
    assert.deepEqual([judged, were, changes[0]?.orders ?? 0], [most ?? all, more, missing], String(most))
  }
  const merchantIds = (await loginsIn(pool)).merchantIds()
  const own = before!.endpoint(BigInt(path))!.merchantId
  for (const merchantId of merchantIds) {
    const { judged } = await forecast(undefined, { ...office, rights: rightsOf('owner', { merchantId, login: '' }) })
    assert.equal(judged, merchantId === own ? all : 0)
  }
})

test('the API gives the same forecast; a token of one merchant tries what it may change', async () => {
  const { operator_api_url: url } = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as Record<
    string,
    string
  >
  const tokenFor = tokensOf(tell)
  const { token } = await tokenFor('operator')
  const { headers } = await askApi(url!, 'endpoint/show', { endpoint: path }, { token })
  const ifMatch = { 'if-match': headers.get('etag')! }
  const wish = { endpoint: path, mandatory_fields: ['phone'], dry_run: true }
  const { json: tried } = await askApi(url!, 'endpoint/set', wish, { token, headers: ifMatch })
  assert.deepEqual(countsOf(tried['forecast'] as Forecast), { 'approved > refused: field phone is missing': 2 })
  const theirs = await tokenFor('operator', world.other.login)
  const { status } = await askApi(url!, 'endpoint/set', wish, { token: theirs.token, headers: ifMatch })
  assert.equal(status, 403)
  const which = { login: world.other.login, which: 'all', dry_run: true }
  const { json: signed } = await askApi(url!, 'merchant/signed-requests', which, { token: theirs.token })
  const forecast = signed['forecast'] as Forecast
  assert.deepEqual([forecast.judged, Object.keys(forecast.not_forecast)], [null, ['signed_requests']])
})
