import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import { secretsOf, type SecretsRow } from '../../src/mobile-api/invoice/rows.ts'
import { fixedKek } from '../../src/keys/encryption.ts'
import { entities, openPool } from '../../src/storage/pool.ts'
import { openKeyRing } from '../../src/keys/ring.ts'
import { cardNumber, send, settled } from '../conformance/requests/client.ts'
import { until } from '../harness/clock/until.ts'
import { openApp, type Begun, type Json } from '../wire/mobile/mobile-app.ts'
import { accessTokenOf, call, initiatePaths, initiation } from '../wire/mobile/mobile-merchant.ts'
import { openSumPage } from '../wire/mobile/mobile-sum-page.ts'
import { cvv2In, openSearch } from './search.ts'
import { closing, openWorld } from '../harness/world/opening.ts'

/** Requests of apps go through every operation, declines and crashes; then we search their data. */

const pans = {
  source: cardNumber('401288880751041'),
  destination: cardNumber('510510075104177310'),
  refused: cardNumber('400075104177310'),
}
/** Declined by the sandbox; that of what is approved is no number to look for. */
const cvv2 = '0751'
const approving = '1234'

const world = await openWorld({ env: { LOG_LEVEL: 'debug', TOLLGATE_HAND_OVER: 'off' } })
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const app = await openApp(world)
closing(app.merchant)
const sums = openSumPage(world, app, database)
let printed = ''
const search = openSearch(world, database, () => printed)
/** The secrets of every transaction that was begun. */
const secrets = { accessTokens: new Set<string>(), signatures: new Set<string>(), sessionTokens: new Set<string>() }
/** The texts of pages, status replies and receipts. */
const shown: string[] = []

before(goThroughEverything)

function begin(kind: Begun['kind'], wish: object = {}): Begun {
  const to = { card: { number: pans.destination } }
  const one = app.begin(kind, { number: pans.source, securityCode: approving, ...(kind === 'transfer' && { to }), ...wish })
  const { accessToken, signature } = one.body['session'] as { accessToken: string; signature: string }
  secrets.accessTokens.add(accessToken)
  secrets.signatures.add(signature)
  return one
}

async function through(one: Begun, state: string): Promise<Json> {
  const token = await app.accepted(one)
  secrets.sessionTokens.add(token)
  const seen = await app.ended(one, token)
  shown.push(JSON.stringify(seen))
  assert.equal(seen['state'], state, JSON.stringify(seen))
  return seen
}

async function goThroughEverything(): Promise<void> {
  const kinds = ['verification', 'sale', 'transfer'] as const
  for (const kind of kinds) {
    const seen = await through(begin(kind), 'APPROVED')
    const { invoice_id: invoiceId, order_id: orderId } = (await rowOf(seen))!
    const told = await settled(world, { orderid: orderId, client_orderid: invoiceId, serial: '' })
    const receipt = await send('GET', `${world.baseUrl}/view-receipt/${told['end-point-id']}/${told['receipt-id']}/`)
    shown.push(JSON.stringify(told), receipt.body)
    await through(begin(kind, { securityCode: cvv2 }), 'DECLINED')
  }
  await through(begin('transfer', { to: { card: { number: pans.source } }, number: pans.destination }), 'APPROVED')
  await throughRandomSum()
  await throughReferenceServer()
  await refusedInEveryWay()
  await crashed()
  printed += world.output()
}

async function rowOf({ invoiceId }: Json) {
  const sql = 'select * from mobile_invoice where invoice_id = $1'
  return (await database.query<{ invoice_id: string; order_id: string }>(sql, [invoiceId])).rows[0]
}

async function throughRandomSum(): Promise<void> {
  const endpoint = world.endpoints.mobile_random_sum
  const right = await sums.asked(begin('sale', { endpoint }))
  const wrong = await sums.asked(begin('transfer', { endpoint }))
  shown.push(await sums.page(right.url))
  await sums.answer(right.url, pans.source, 1)
  await sums.answer(right.url, right.sum, 1)
  for (const no of [1, 2, 3]) await sums.wrong(wrong, no)
  for (const asked of [right, wrong]) {
    shown.push(JSON.stringify(await sums.final(asked)), await sums.page(asked.url))
    await sums.released(asked)
  }
  await through(begin('sale', { endpoint, securityCode: cvv2 }), 'DECLINED')
}

/** By the demo app's own way, whose merchant keeps a journal of every call. */
async function throughReferenceServer(): Promise<void> {
  const server = world.merchantServerUrl
  for (const securityCode of ['111', cvv2]) {
    const accessToken = await accessTokenOf(server, 'scrubbed', 'ada@example.com')
    const { json } = await call(server + initiatePaths.sale, initiation('sale', accessToken, 'device-1'))
    const { session, invoiceId, endpointId } = json
    const change = (body: Json) => void (body['session'] = { ...session, accessToken })
    const one = begin('sale', { endpoint: Number(endpointId), invoiceId, accessToken, securityCode, change })
    const path = `${server}/app/gateway/sale/${endpointId}/${invoiceId}`
    const { status, json: answer } = await call(path, one.body)
    assert.equal(status, 200, JSON.stringify(answer))
    const its = { session: { accessToken, token: answer.session.token } }
    const isOver = ({ json: seen }: { json: object }) => !JSON.stringify(seen).includes('PROCESSING')
    shown.push(JSON.stringify(await until(() => call(`${path}/status`, its), isOver)))
  }
  for (const path of ['/log', '/callbacks.json', '/', '/app']) shown.push((await send('GET', server + path)).body)
}

/** Refusals with a card in them: bodies that are no JSON, wrong paths, tokens that are cards. */
async function refusedInEveryWay(): Promise<void> {
  const wish = { number: pans.refused, securityCode: cvv2 }
  // oxfmt-ignore
  const changes: readonly ((body: Json) => void)[] = [
    (body) => void delete body['transaction'], (body) => void (body['order'] = { description: [pans.refused] }), (body) => void ((body['consumer'] as Json)['email'] = pans.refused),
    (body) => void ((body['session'] as Json)['signature'] = pans.refused.repeat(3)), (body) => void ((body['transaction'] as Json)['currency'] = pans.refused), (body) => void (body['sourceOfFunds'] = pans.refused),
    (body) => void (body['sourceOfFunds'] = { card: { number: `${pans.refused}0`, securityCode: cvv2 } }), (body) => void (body['sourceOfFunds'] = { reference: { clientCardId: [pans.refused] } }),
  ]
  for (const change of changes) {
    const { status, body } = await app.perform(begin('sale', { ...wish, change }))
    assert.equal(status, 400, JSON.stringify(body))
    shown.push(JSON.stringify(body))
  }
  const one = begin('sale', wish)
  const text = JSON.stringify(one.body)
  const { endpoint } = one
  for (const [path, body] of [
    [`sale/${endpoint}/x`, text.slice(1)],
    [`sale/${pans.refused}/x`, text],
    [`sale/${endpoint}/x/${pans.refused}`, text],
    [`refund/${endpoint}/x`, text],
    [`sale/${endpoint}/x/status`, text],
  ] as const)
    await send('POST', `${world.baseUrl}/dapi/v1/${path}`, body, { 'content-type': 'application/json' })
  for (const other of [999_999, world.endpoints.strict, world.endpoints.disabled]) await app.perform({ ...one, endpoint: other })
  await app.status({ ...one, accessToken: pans.refused.repeat(2) }, pans.refused)
  await send('GET', `${world.baseUrl}/dapi/v1/sale/${endpoint}/x?number=${pans.refused}&securityCode=${cvv2}`)
  app.merchant.lie = () => ({
    status: 400,
    body: { error: { cause: pans.refused, code: pans.refused, message: `${pans.refused} ${cvv2}` } },
  })
  await through(begin('sale'), 'DECLINED')
  app.merchant.lie = undefined
}

/** Killed while someone is asked or a sum awaited. The database is searched then and at the end. */
async function crashed(): Promise<void> {
  const fault = { match: { amount_minor: '7511' }, do: { delay_ms: 60_000 } }
  await send('POST', `${world.acquirerAdminUrl}/faults`, JSON.stringify(fault), { 'content-type': 'application/json' })
  const asked = begin('sale', { securityCode: cvv2 })
  const choosing = begin('transfer', { endpoint: world.endpoints.mobile_fee })
  const sum = begin('sale', { endpoint: world.endpoints.mobile_random_sum })
  const authorising = begin('sale', { amountCentis: 7_511 })
  app.merchant.lie = (path) => (path.includes(asked.invoiceId) ? { hang: true } : {})
  const all = [asked, choosing, sum, authorising]
  const tokens = await Promise.all([asked, choosing, sum].map((one) => app.accepted(one)))
  await app.ended(choosing, tokens[1])
  await app.ended(sum, tokens[2])
  // Last, since the acquirer is asked for as long as the gate waits for an answer only.
  tokens.push(await app.accepted(authorising))
  const states = () => database.query<{ state: string }>('select state from all_transactions where amount_minor = 7511')
  const { rows } = await until(states, (seen) => seen.rows[0]?.state === 'authorising')
  assert.deepEqual(rows, [{ state: 'authorising' }])
  printed += world.output()
  await world.crash(async () => {
    app.merchant.lie = undefined
    await nowhere()
  })
  assert.equal((await app.ended(asked, tokens[0]))['state'], 'DECLINED')
  await app.complete(choosing, tokens[1]!, 'economy')
  for (const i of [1, 3]) shown.push(JSON.stringify(await app.ended(all[i]!, tokens[i])))
}

async function nowhere(): Promise<void> {
  const everything = await search.everything()
  for (const [name, content] of everything)
    for (const pan of Object.values(pans)) assert.ok(!content.includes(pan), `a card number is in ${name}`)
}

test('the search reads the invoices, the log at its finest, the journal of the merchant, and what was sealed', async () => {
  const everything = await search.everything()
  const content = (name: string) => [...everything].find(([place]) => place.includes(name))?.[1] ?? ''
  assert.match(content('gateway.log'), /"level":"debug"/)
  assert.match(content('merchant_server.calls'), /checkSignature/)
  const { rowCount } = await database.query('select from mobile_invoice where length(secrets_sealed) > 100')
  const accepted = secrets.sessionTokens.size
  assert.ok(rowCount! > 10 && rowCount! >= accepted, `${rowCount} sealed invoices of ${accepted} accepted`)
  assert.ok(content('mobile_invoice').split('\n').length >= accepted)
  assert.ok(shown.length > 20 && app.merchant.calls.length >= accepted)
})

for (const [which, pan] of Object.entries(pans))
  test(`the ${which} card's number is in no row, file, page, status, callback or call of a merchant's server`, async () => {
    assert.deepEqual(await search.placesOf(pan), [])
    for (const text of [...shown, JSON.stringify(app.merchant.calls)]) assert.ok(!text.includes(pan), text.slice(0, 200))
  })

test('no ended invoice has a card number, not even sealed; its tokens open', async () => {
  const kek = secret(Buffer.from(readFileSync(join(world.directory, 'keys', 'master.key'), 'utf8').trim(), 'base64'))
  const pool = openPool({
    url: world.databaseUrl,
    connections: 1,
    use: 'oltp',
    log: openLog({ level: 'fatal', destination: process.stderr }),
  })
  try {
    const keys = await openKeyRing(pool, fixedKek(kek, systemRandom), systemClock, systemRandom)
    const rows = await pool.run(
      entities<SecretsRow & { merchantId: bigint; invoiceId: string; state: string }>(
        `select merchant_id, invoice_id, state, secrets_sealed, secrets_key, cvv2_sealed, cvv2_key
        from mobile_invoice`,
      ),
      [],
    )
    const ended = rows.filter(({ state }) => state === 'ordered' || state === 'declined')
    assert.ok(ended.length >= 15, `${ended.length} have ended`)
    for (const row of ended) {
      const kept = secretsOf(row, row, keys)
      assert.deepEqual(Object.keys(kept), ['accessToken', 'signature'], row.invoiceId)
      assert.ok(secrets.accessTokens.has(kept.accessToken.reveal()))
    }
  } finally {
    await pool.close()
  }
})

test('no CVV2 is in clear, and no finished transaction has a sealed one', async () => {
  for (const [name, content] of await search.everything()) assert.equal(cvv2In(content, cvv2), undefined, name)
  for (const text of [...shown, JSON.stringify(app.merchant.calls)]) assert.equal(cvv2In(text, cvv2), undefined)
  const kept = await database.query(`select state from mobile_invoice
    where cvv2_sealed is not null and state in ('releasing', 'ordered', 'declined')`)
  assert.deepEqual(kept.rows, [])
  const cards =
    await database.query(`select order_id, t.state from order_facts c join all_transactions t using (merchant_id, order_id)
    where c.cvv2_sealed is not null and t.transaction_no = 1 and t.state not in ('filtering', 'awaiting method', 'ready')`)
  assert.deepEqual(cards.rows, [])
})

test('an access token is nowhere, not even at the merchant; a signature is in the journal of the merchant alone', async () => {
  const everything = [...(await search.everything())]
  const placesOf = (texts: Iterable<string>) => {
    const all = Array.from(texts, (text) => [text, Buffer.from(text)] as const).flatMap(([text, bytes]) => [
      text,
      bytes.toString('hex'),
      bytes.toString('base64').slice(0, -4),
    ])
    return everything.filter(([, content]) => all.some((text) => content.includes(text))).map(([name]) => name)
  }
  assert.ok(secrets.accessTokens.size > 20)
  assert.deepEqual(placesOf(secrets.accessTokens), [])
  assert.deepEqual(placesOf([...secrets.signatures].filter((text) => /^[0-9A-F]{40}$/.test(text))), [
    'table merchant_server.calls',
  ])
  for (const text of shown) for (const token of secrets.accessTokens) assert.ok(!text.includes(token))
})

test('a session token is in the invoice, at the merchant, and in no log or file', async () => {
  for (const token of secrets.sessionTokens)
    for (const place of await search.placesOf(token)) assert.match(place, /^table (?:public\.mobile_invoice|merchant_server\.)/)
  assert.deepEqual(await search.placesOf(randomUUID()), [])
})
