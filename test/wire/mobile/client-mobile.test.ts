import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { openMobileApp } from '../../../client/mobile.ts'
import type { Begun, Performed } from '../../../client/mobile-replies.ts'
import { ledger } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { cliOf, run } from '../operator/cli-run.ts'
import { closing, openDirectory, openHttp, openWorld } from '../../harness/world/opening.ts'

/** The mobile client: an app that uses it, a merchant's server built on it, and the gateway. */

const world = await openWorld()
const { merchant, endpoints } = world
/** The example finds its sandbox by this file, here with a merchant of this test. */
const directory = openDirectory('example')
const sandbox = {
  base_url: world.baseUrl,
  merchant: { login: merchant.login, control_key: merchant.controlKey, signing_secret: merchant.signingSecret },
  endpoints,
  endpoint_groups: world.groups,
}
writeFileSync(join(directory, 'sandbox.json'), JSON.stringify(sandbox), { mode: 0o600 })
const env = { ...process.env, TOLLGATE_DIR: directory, PORT: '0' }
const server = spawn(process.execPath, [join(import.meta.dirname, '../../../examples/mobile-server.js')], { env })
closing({ close: () => server.kill() })
let said = ''
for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
const serverUrl = await until(
  () => /http:\S+/.exec(said)?.[0],
  (found) => found !== undefined || server.exitCode !== null,
)
assert.ok(serverUrl, said)
const { mobile } = endpoints
const settings = ['--merchant-server-url', serverUrl, '--consumer-defined-rate', 'on']
await cliOf(() => world).tell(['endpoint', 'set', String(mobile), ...settings])
await configurationRead(world)
const app = openMobileApp({ baseUrl: `${world.baseUrl}/`, merchantServerUrl: `${serverUrl}/` })
const granted = await app.requestAccessToken()
assert.ok(granted.is === 'granted', JSON.stringify(granted))
const { accessToken } = granted

const request = (securityCode = '111', amountCentis = 1_042) => ({
  consumer: { device: { serialNumber: 'phone-1' }, email: 'jane@example.com' },
  sourceOfFunds: {
    card: {
      number: '4111111111111111',
      expiry: { month: 12, year: new Date().getUTCFullYear() + 1 },
      securityCode,
      holder: { printedName: 'JANE DOE' },
    },
  },
  transaction: { amountCentis, currency: 'USD' },
})

async function begun(asked = request()): Promise<Begun<'sale'>> {
  const reply = await app.initiate('sale', accessToken, asked)
  assert.ok(reply.is === 'begun', JSON.stringify(reply))
  return reply
}

async function performed(asked = request()): Promise<Performed> {
  const reply = await app.perform(await begun(asked), asked)
  assert.ok(reply.is === 'performed', JSON.stringify(reply))
  return reply
}

test('the server of the example keeps every promise of `tollgate merchant check`', async () => {
  const file = join(directory, 'check.json')
  writeFileSync(file, JSON.stringify({ control_key: merchant.controlKey }))
  const { code, out, err } = await run({}, ['merchant', 'check', serverUrl, '--file', file])
  assert.equal(code, 0, out + err)
  assert.match(out, /\n\nAll \d\d promises kept\.\n$/)
})

test('a sale is charged once, however often it is performed, and reported with its amounts', async () => {
  const asked = request()
  const one = await begun(asked)
  const [first, second] = await Promise.all([app.perform(one, asked), app.perform(one, asked)])
  assert.ok(first.is === 'performed', JSON.stringify(first))
  assert.deepEqual(second, first)
  const ending = await app.finish(first)
  assert.ok(ending.is === 'final' && ending.state === 'APPROVED', JSON.stringify(ending))
  const { orderId, transaction, bankOrderId } = ending.seen
  assert.deepEqual([transaction?.amountCentis, transaction?.currency], [1_042, 'USD'])
  assert.ok(bankOrderId)
  assert.equal((await ledger(world, orderId!)).length, 1)
})

test('a verification is approved, and a decline has its reason', async () => {
  const { consumer, sourceOfFunds } = request()
  const asked = { consumer, sourceCard: sourceOfFunds.card, transaction: { currency: 'USD' } }
  const one = await app.initiate('verification', accessToken, asked)
  assert.ok(one.is === 'begun', JSON.stringify(one))
  const reply = await app.perform(one, asked)
  assert.ok(reply.is === 'performed', JSON.stringify(reply))
  const verified = await app.finish(reply)
  assert.ok(verified.is === 'final' && verified.state === 'APPROVED', JSON.stringify(verified))
  const expired = { card: { ...sourceOfFunds.card, expiry: { month: 1, year: 2020 } } }
  const declined = await app.finish(await performed({ ...request(), sourceOfFunds: expired }))
  assert.ok(declined.is === 'final' && declined.state === 'DECLINED', JSON.stringify(declined))
  assert.equal(declined.seen.reason?.code, 101)
})

test('the consumer of a transfer chooses the fee, and both cards are registered', async () => {
  const asked = { ...request(), destinationOfFunds: { card: { number: '5555555555554444' } } }
  const one = await app.initiate('transfer', accessToken, asked, { fromBin: '411111', toBin: '555555' })
  assert.ok(one.is === 'begun', JSON.stringify(one))
  const reply = await app.perform(one, asked)
  assert.ok(reply.is === 'performed', JSON.stringify(reply))
  const asks = await app.finish(reply)
  assert.ok(asks.is === 'fees', JSON.stringify(asks))
  const [fee] = asks.fees
  assert.deepEqual([fee?.commissionCentis, fee?.currency], [0, 'USD'])
  const unknown = await app.completeTransfer(reply, 'no such gate')
  assert.ok(unknown.is === 'refused' && unknown.cause === 'INVALID_REQUEST', JSON.stringify(unknown))
  assert.deepEqual(await app.completeTransfer(reply, fee!.assignedId), reply)
  const ending = await app.finish(reply)
  assert.ok(ending.is === 'final' && ending.state === 'APPROVED', JSON.stringify(ending))
  assert.deepEqual([ending.seen.transaction?.amountCentis, ending.seen.transaction?.commissionCentis], [1_042, 0])
  const kinds = new Set((await ledger(world, ending.seen.orderId!)).map(({ kind }) => kind))
  assert.deepEqual(kinds, new Set(['debit', 'credit']))
})

test('the merchant sees no card of the app', async () => {
  const seen: string[] = []
  const { origin: url } = await openHttp((asked, response) => {
    void text(asked).then((body) => (seen.push(body), response.end()))
  })
  const curious = openMobileApp({ baseUrl: world.baseUrl, merchantServerUrl: url })
  assert.equal((await curious.initiate('sale', accessToken, request())).is, 'no answer')
  const { consumer, transaction } = request()
  const { device } = consumer
  assert.deepEqual(JSON.parse(seen[0]!), { consumer: { device }, transaction, session: { accessToken } })
})

test('a request that differs from its invoice is refused by the gateway, a stranger by both; silence is no answer', async () => {
  const one = await begun()
  const dearer = await app.perform(one, request('111', 9_999))
  assert.ok(dearer.is === 'refused' && dearer.cause === 'INVALID_REQUEST' && dearer.httpStatus === 400, JSON.stringify(dearer))
  assert.match(dearer.message, /signature/)
  const stranger = await app.initiate('sale', 'f'.repeat(64), request())
  assert.ok(stranger.is === 'refused' && stranger.cause === 'INVALID_REQUEST', JSON.stringify(stranger))
  const known = await performed()
  const foreign = await app.finish({ ...known, token: randomUUID() })
  assert.ok(foreign.is === 'refused' && foreign.cause === 'ORDER_NOT_FOUND', JSON.stringify(foreign))
  const nobody = openMobileApp({ baseUrl: 'http://127.0.0.1:1', merchantServerUrl: 'http://127.0.0.1:1', timeoutMs: 5_000 })
  assert.equal((await nobody.perform(one, request())).is, 'no answer')
  assert.equal((await nobody.finish(known, { limitMs: 100 })).is, 'open')
})
