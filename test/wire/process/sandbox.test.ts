import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { referenceFiles } from '../../../src/reference/files.ts'
import { sale } from '../../conformance/requests/client.ts'
import { ask as askSigned } from '../../conformance/requests/oauth.ts'
import { until } from '../../harness/clock/until.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { accessTokenOf, ask, begin, call, cardsOf, initiatePaths, initiation, kinds } from '../mobile/mobile-merchant.ts'
import { cliOf, run as command, words } from '../operator/cli-run.ts'

/** What belongs to a sandbox: its merchant, what it prints, its probes, and how it stops. */

const world = await openWorld({ own: true })
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const { tell, refuse, json } = cliOf(() => world)

test('its merchant answers the mobile API beside callbacks', async () => {
  const { endpoints, merchantServerUrl: base, output } = world
  const accessToken = await accessTokenOf(base, 'demo')
  for (const kind of kinds) {
    const one = await begin(base, kind, accessToken)
    assert.equal(one.endpointId, String(endpoints.mobile))
    assert.deepEqual((await ask(base, one)).json.consumer, { email: 'demo@example.com' })
  }
  const euro = await call(`${base}${initiatePaths.sale}`, initiation('sale', accessToken, 'device-1', { currency: 'EUR' }))
  assert.equal(euro.json.endpointId, String(endpoints.euro))
  assert.match(await (await fetch(`${base}/`)).text(), /Callbacks/)
  assert.ok(output().includes(`The merchant's server, with its callbacks ${base}/`))
})

test("the server of its merchant is checked with the installation's key", async () => {
  const check = ['merchant', 'check', world.merchantServerUrl]
  assert.match(await tell(check), /All \d\d promises kept\.\n$/)
  const euro = words`--currency EUR --endpoint ${world.endpoints.euro}`
  assert.ok((await json<{ conforms: boolean }>(...check, ...euro)).conforms)
  assert.match(await refuse(1, ...check, '--login', 'nobody'), /no merchant nobody/)
  const foreign = await command({ TOLLGATE_DIR: world.directory }, [...check, '--login', world.other.login])
  assert.equal(foreign.code, 1)
  assert.match(foreign.out, /initiate sale +wrong +session\.signature is right: it is/)
  assert.match(foreign.out, /initiate sale +wrong +the endpoint is this merchant's: it is \d+/)
})

const forms = [/expire_year=(\d+)/g, /name="expire_year"\s+value="(\d+)"/g, /name="expiry"[^>]*value="\d\d\/(\d\d)"/g]
const documents = [
  /"expire_year": \{[^}]*"examples": \[\s*"(\d+)/g,
  /"year": \{[^}]*"examples": \[\s*(\d+)/g,
  /&#34;year&#34;: (\d+)/g,
]

/** Years of expiry in forms, commands and documents. */
const yearsIn = (text: string): number[] =>
  [...forms, ...documents]
    .flatMap((form) => [...text.matchAll(form)])
    .map(([, year = '']) => (year.length === 2 ? 2000 + Number(year) : Number(year)))

test('no card that it prints or serves expires within three years', async () => {
  const soon = new Date().getUTCFullYear() + 3
  const pageOf = async (base: string, path: string) => [path, await (await fetch(new URL(base).origin + path)).text()] as const
  const paths = [
    '/docs/reference/sale',
    '/docs/reference/preauth',
    '/docs/reference/mobile-perform-sale',
    '/docs/openapi.json',
    '/docs/openapi-mobile.json',
  ]
  const served = await Promise.all(paths.map((path) => pageOf(world.baseUrl, path)))
  const files = [...referenceFiles()].filter(([, text]) => text.includes('expire_year='))
  for (const [name, text] of [['banner', world.output()], await pageOf(world.merchantServerUrl, '/app'), ...served, ...files]) {
    const years = yearsIn(text)
    assert.ok(years.length > 0, `${name} has a card`)
    for (const year of years) assert.ok(year > soon, `${name}: ${year}`)
  }
})

interface SandboxFile {
  merchant: { oauth_private_key_file: string }
}
const keyFile = () =>
  (JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as SandboxFile).merchant.oauth_private_key_file
const fingerprints = async () =>
  (await json<{ keys: { sha256: string }[] }>('merchant', 'key', 'list', 'sandbox')).keys.map((key) => key.sha256)
/** A call of v4 by the key in that file is let in. */
const signs = async () => assert.equal((await askSigned(world, 'status', [['client_orderid', 'x']])).httpStatus, 200)

test('it has a PKCS#1 pair of its own in a file that only its user reads, and its merchant signs with it', async () => {
  assert.ok(isAbsolute(keyFile()))
  assert.equal(keyFile(), join(world.directory, 'keys', 'oauth-private.pem'))
  assert.equal(statSync(keyFile()).mode & 0o777, 0o600)
  const text = readFileSync(keyFile(), 'utf8')
  assert.match(text, /^-----BEGIN RSA PRIVATE KEY-----\n/)
  assert.equal(createPublicKey(text).asymmetricKeyDetails?.modulusLength, 2048)
  await signs()
})

test("after a restart the merchant's server has its tokens, at its new address, and the pair is the same", async () => {
  const accessToken = await accessTokenOf(world.merchantServerUrl, 'a consumer without cards')
  const [pair, text] = [await fingerprints(), readFileSync(keyFile(), 'utf8')]
  await world.crash()
  const { endpoints, merchantServerUrl } = world
  assert.deepEqual(await cardsOf(merchantServerUrl, accessToken), [])
  assert.ok((await call(`${merchantServerUrl}/log`)).json.calls!.length > 0)
  for (const id of [endpoints.mobile, endpoints.euro]) {
    const shown = await json<{ merchant_server_url: string }>('endpoint', 'show', String(id))
    assert.equal(shown.merchant_server_url, merchantServerUrl)
  }
  assert.deepEqual([await fingerprints(), readFileSync(keyFile(), 'utf8')], [pair, text])
})

test('a sandbox without a pair gains one when it starts', async () => {
  const first = await fingerprints()
  await world.crash(async () => {
    await database.query(
      `delete from merchant_key where merchant_id = (select merchant_id from merchant where login = 'sandbox')`,
    )
    rmSync(keyFile())
  })
  const gained = await fingerprints()
  assert.equal(gained.length, 1)
  assert.notDeepEqual(gained, first)
  await signs()
})

test('/health says that the process serves, /ready that it may be given work', async () => {
  const health = await fetch(`${world.operatorUrl}/health`)
  assert.deepEqual([health.status, await health.json()], [200, { status: 'ok' }])
  // The line to the acquirer is made while it serves already.
  assert.deepEqual(await settled(200), { status: 'ready', reasons: [] })
})

test('/ready is 503 with the reason while no line to an acquirer is up, and 200 again afterwards', async () => {
  await line({ refuse: true, close_now: true })
  const down = await settled(503)
  assert.deepEqual(down.reasons, ['no line to an acquirer is up'])
  await line({ refuse: false })
  await settled(200)
})

test('/metrics counts requests by outcome and changes by batch', async () => {
  await sale(world)
  const metrics = await (await fetch(`${world.operatorUrl}/metrics`)).text()
  assert.match(metrics, /^tollgate_requests_total\{operation="sale",outcome="ok"\} [1-9]/m)
  assert.match(metrics, /^tollgate_batch_items_total\{batch="orders"\} [1-9]/m)
  assert.match(metrics, /^tollgate_gate_up\{gate="\d+"\} 1$/m)
  assert.match(metrics, /^process_cpu_seconds_total /m)
})

test('/metrics counts an answer of the acquirer that belongs to no request', async () => {
  await acquirer('faults', { match: { times: 1 }, do: { wrong_stan: true } })
  await sale(world)
  const strays = async () => (await metricsOf(world))('tollgate_acquirer_strays_total{gate="1",kind="unexpected"}')
  assert.equal(await until(strays, (count) => count === 1), 1)
})

test('its gateway is connected as a user that may serve and owns nothing', async () => {
  const { rows } = await database.query(`
    select distinct a.application_name as use, pg_has_role(a.usesysid, 'tollgate_serve', 'usage') as serves,
      u.usesuper as superuser
    from pg_stat_activity a join pg_user u on u.usesysid = a.usesysid
    where a.datname = current_database() and a.application_name in ('tollgate oltp', 'tollgate heartbeat') order by 1`)
  assert.deepEqual(rows, [
    { use: 'tollgate heartbeat', serves: true, superuser: false },
    { use: 'tollgate oltp', serves: true, superuser: false },
  ])
})

test('a stop with 60 sales at the acquirer loses none, leaves none open and ends', async () => {
  await line({ latency_ms: 380 })
  const replies = await Promise.all(Array.from({ length: 60 }, () => sale(world)))
  const orders = replies.map((reply) => reply['gateway-order-id'])
  const began = Date.now()
  await world.halt()
  // The gateway's own limits sum to under ten seconds; the rest is for a machine that ends five
  // processes.
  assert.ok(Date.now() - began < 40_000, `it took ${Date.now() - began} ms`)
  const { rows } = await database.query(
    `select status, count(*)::int as n from orders where order_id = any ($1::bigint[]) group by status`,
    [orders],
  )
  assert.deepEqual(rows, [{ status: 'approved', n: 60 }])
})

const line = (body: object) => acquirer('line', body)
const acquirer = (path: string, body: object) =>
  fetch(`${world.acquirerAdminUrl}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Asks until /ready answers so; the line's own time-outs bound it. */
async function settled(status: number): Promise<{ status: string; reasons: string[] }> {
  const look = async () => {
    const ready = await fetch(`${world.operatorUrl}/ready`)
    return { status: ready.status, body: (await ready.json()) as { status: string; reasons: string[] } }
  }
  return (await until(look, (ready) => ready.status === status, 120_000)).body
}
