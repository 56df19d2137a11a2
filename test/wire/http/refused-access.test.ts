import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { formType, order, send, status, statusUrl, type Changes } from '../../conformance/requests/client.ts'
import { changed, ok, type Json } from '../../conformance/mobile/mobile-merchant.ts'
import { newCard } from '../../conformance/mobile/mobile-books.ts'
import { askStatus, begin, ends, initiate, openMobile, perform } from '../../conformance/mobile/mobile.ts'
import { ask } from '../../conformance/requests/oauth.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf } from '../operator/cli-run.ts'

/** What operators see of requests with a wrong checksum, signature or token. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile_random_sum])
closing(mobile.shop)
const { json, tell } = cliOf(() => world)
const { login } = world.merchant
const endpoint = String(world.endpoints.plain)

interface Entry {
  login: string | null
  endpoint: string
  operation: string
  address: string
  reason: string
  count: number
}

const ofThisMerchant = ['--merchant', login]

/**
 * The entry of an operation, once the gateway has written one that satisfies. Other merchants of
 * the sandbox have entries too.
 */
async function entryOf(operation: string, satisfies: (entry: Entry) => boolean, of = ofThisMerchant): Promise<Entry> {
  const listed = () => json<{ refused: Entry[] }>('access', '--limit', '100', ...of)
  const { refused } = await until(listed, (all) => all.refused.some((one) => one.operation === operation && satisfies(one)))
  const {
    login: who,
    endpoint: at,
    address,
    reason,
    count,
    ...rest
  } = refused.find((one) => one.operation === operation && satisfies(one))!
  assert.deepEqual(Object.keys(rest), ['operation', 'first_at', 'last_at'])
  return { login: who, endpoint: at, operation, address, reason, count }
}

const wrong: Changes = { control: '0'.repeat(40) }
const place = { endpoint, address: '127.0.0.1', count: 1 }

test('identical refusals are one entry with their number, one line in the log, and a count of the merchant', async () => {
  const before = (await metricsOf(world))(`tollgate_access_refused_total{merchant="${login}"}`) ?? 0
  const { client_orderid } = await order(world)
  const many = 300
  await Promise.all(Array.from({ length: many }, () => status(world, { client_orderid, ...wrong })))
  const entry = await entryOf('status', ({ count }) => count === many)
  assert.deepEqual(entry, { ...place, login, operation: 'status', reason: 'wrong checksum', count: many })
  const log = readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')
  const told = ['"access refused"', '"operation":"status"', `"login":"${login}"`, `"endpoint":"${endpoint}"`, '"level":"warn"']
  const lines = log.split('\n').filter((line) => told.every((part) => line.includes(part)))
  assert.equal(lines.length, 1)
  assert.ok(lines[0]!.includes('"address":"127.0.0.1"'), lines[0])
  assert.ok(!log.includes(wrong.control!))
  const after = (await metricsOf(world))(`tollgate_access_refused_total{merchant="${login}"}`) ?? 0
  assert.equal(after - before, many)
})

test('the log line of a request refused for what it asks has endpoint, login, address and its level in a word', async () => {
  const { 'serial-number': serial = '' } = await status(world, { client_orderid: 'nobody-knows-it' })
  const log = () => readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8').split('\n')
  const line = await until(
    () => log().find((one) => one.includes(serial) && one.endsWith('}')),
    (one) => one !== undefined,
  )
  const { time: _time, ...facts } = JSON.parse(line!) as Record<string, string>
  const asked = { serial, operation: 'status', endpoint, login, address: '127.0.0.1' }
  assert.deepEqual(facts, { level: 'info', ...asked, refused: 'order not found', detail: '', msg: 'refused' })
})

test('an unknown login is an entry without its name', async () => {
  await status(world, { login: 'nobody-at-all', client_orderid: 'x', ...wrong })
  const entry = await entryOf('status', ({ reason }) => reason === 'unknown login', [])
  assert.equal(entry.login, null)
  assert.doesNotMatch(await tell(['access']), /nobody-at-all/)
  assert.ok((await metricsOf(world))('tollgate_access_refused_total{merchant="unknown"}'))
})

test('so are a wrong signature of v4, a wrong signature of an app, and a wrong token', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await ask(world, 'status', [['client_orderid', 'x']], { key: privateKey })
  const v4 = await entryOf('status-v4', () => true)
  assert.deepEqual(v4, { ...place, login, operation: 'status-v4', reason: 'the signature does not hold' })

  const made = initiate(mobile, 'sale', { 'session.signature': 'f'.repeat(40) })
  await perform(mobile, made)
  const signature = await entryOf('perform-sale', () => true)
  assert.deepEqual(signature, { ...place, login, operation: 'perform-sale', reason: 'wrong signature' })

  const good = await begin(mobile, 'sale')
  await askStatus(mobile, good, { accessToken: 'x'.repeat(64), token: 'y'.repeat(36) })
  const token = await entryOf('sale-status', () => true)
  assert.deepEqual(token, { ...place, login, operation: 'sale-status', reason: 'wrong invoice or token' })
})

test('a wrong random sum is counted for its merchant, and a text that is no sum is not', async () => {
  const endpointId = world.endpoints.mobile_random_sum
  const card = { 'sourceOfFunds.card.number': newCard() }
  const randomSumCentis = { 'transaction.randomSumCentis': 543 }
  const way = { endpoint: endpointId, check: (honest: Json) => ok(changed(honest, randomSumCentis)) }
  const { told } = await ends(mobile, 'REDIRECT_REQUEST', 'sale', card, way)
  const answer = (sum: string, no: number) =>
    send('POST', String(told.redirectUrl), new URLSearchParams({ sum, answer: String(no) }).toString(), {
      'content-type': formType,
    })
  for (const [sum, no] of [
    ['no sum', 1],
    ['5.44', 1],
    ['5.44', 1],
    ['5.42', 2],
    ['5.43', 3],
  ] as const)
    assert.equal((await answer(sum, no)).httpStatus, 303)
  const entry = await entryOf('random-sum', ({ count }) => count === 2)
  const at = { endpoint: String(endpointId), address: '127.0.0.1' }
  assert.deepEqual(entry, { ...at, login, operation: 'random-sum', reason: 'wrong sum', count: 2 })
})

test('a path without an endpoint is no access that was refused', async () => {
  await send('POST', statusUrl(world, 999_999_999), `login=${login}&client_orderid=x&control=${wrong.control}`)
  await entryOf('status', () => true)
  assert.doesNotMatch(await tell(['access']), /999999999/)
})
