import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import {
  encodePairs,
  formType,
  newOrderId,
  readReply,
  send,
  settled,
  signedSale,
  saleUrl,
  signedStatus,
  statusUrl,
} from '../../conformance/requests/client.ts'
import type { Changes } from '../../conformance/requests/client.ts'
import { initiate, openMobile, read as readAnswer, urlOf, json as jsonType } from '../../conformance/mobile/mobile.ts'
import { atMethod, issuerMessages } from '../../conformance/three-d-secure/shopper.ts'
import { header, parametersOf, post, v4Url } from '../../conformance/requests/oauth.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { approved } from '../../conformance/operations/operations.ts'
import { cliOf } from '../operator/cli-run.ts'

/**
 * Limits as clients meet them, behind a proxy that names their addresses: docs/limits.md; and what
 * issuers get of those.
 */

const world = await openWorld({
  env: { TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8', ACCESS_LIMITS: 'pair=6 address=10 login=1000' },
})
const mobile = await openMobile(world)
closing(mobile.shop)

let addresses = 0
/** An address that no other test uses. */
const newAddress = () => `198.51.100.${++addresses}`
const from = (address: string) => ({ 'x-forwarded-for': address })
const wrong: Changes = { control: '0'.repeat(40) }

const status = async (address: string, changes: Changes = {}) => {
  const fields = signedStatus(world, { client_orderid: 'nobody', ...changes })
  return readReply(await send('POST', statusUrl(world), encodePairs(Object.entries(fields)), from(address)))
}
const codes = async (times: number, ask: () => Promise<Record<string, string>>) => {
  const found: string[] = []
  for (let i = 0; i < times; i++) found.push((await ask())['error-code'] ?? 'none')
  return found
}
const refusedBy = async (limit: string) => (await metricsOf(world))(`tollgate_limit_refused_total{limit="${limit}"}`) ?? 0

test('after too many failures for a login, this address is refused with 20, and the merchant from no other address', async () => {
  const [guesser, shop] = [newAddress(), newAddress()]
  const before = await refusedBy('pair')
  assert.deepEqual(await codes(8, () => status(guesser, wrong)), [...Array(6).fill('2'), '20', '20'])
  const blocked = await status(guesser)
  assert.deepEqual([blocked['error-code'], blocked.type, blocked['error-message']], ['20', 'error', 'Too many requests'])
  assert.equal((await status(shop))['error-code'], '6', 'judged, and not found')
  assert.equal((await refusedBy('pair')) - before, 3)
})

test('a success that is sent again forgives no failure, and a new one does', async () => {
  const address = newAddress()
  const { client_orderid } = await approved(world, 'sale')
  const { control } = signedStatus(world, { client_orderid: 'nobody' })
  const replay = () => status(address, { control })
  assert.equal((await replay())['error-code'], '6')
  assert.deepEqual(await codes(5, () => status(address, wrong)), Array(5).fill('2'))
  assert.equal((await replay())['error-code'], '6')
  assert.deepEqual(await codes(2, () => status(address, wrong)), ['2', '20'])
  const other = newAddress()
  assert.deepEqual(await codes(5, () => status(other, wrong)), Array(5).fill('2'))
  assert.equal((await status(other, { client_orderid }))['error-code'], undefined)
  assert.deepEqual(await codes(5, () => status(other, wrong)), Array(5).fill('2'))
})

test('a sale refused by a limit makes no order', async () => {
  const guesser = newAddress()
  await codes(6, () => status(guesser, wrong))
  const fields = signedSale(world, { client_orderid: newOrderId() })
  const sale = (address: string) =>
    send('POST', saleUrl(world), encodePairs(Object.entries(fields)), from(address)).then(readReply)
  assert.equal((await sale(guesser))['error-code'], '20')
  const { client_orderid } = fields
  assert.equal((await status(newAddress(), { client_orderid }))['error-code'], '6')
  assert.equal((await sale(newAddress())).type, 'async-response')
})

test('an address that fails in many names is refused without a reason, and its well signed requests are served', async () => {
  const address = newAddress()
  let names = 0
  const fails = () => status(address, { login: `nobody-${++names}`, ...wrong })
  assert.deepEqual(await codes(12, fails), [...Array(10).fill('2'), '20', '20'])
  assert.deepEqual(await codes(3, () => status(address)), ['6', '6', '6'])
})

test('the address of the proxy itself is not counted', async () => {
  const fields = encodePairs(Object.entries(signedStatus(world, { client_orderid: 'x', ...wrong })))
  const ask = async () => readReply(await send('POST', statusUrl(world), fields))
  assert.deepEqual(await codes(20, ask), Array(20).fill('2'))
})

test('a signature of v4 that fails too often is refused with 20 before it is verified', async () => {
  const address = newAddress()
  const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const url = v4Url(world, 'status')
  const ask = (signing = {}) =>
    post(url, [['client_orderid', 'x']], header(parametersOf(world, url, [['client_orderid', 'x']], signing)), from(address))
  for (let i = 0; i < 6; i++) assert.equal((await ask({ key })).httpStatus, 403)
  assert.equal(readReply(await ask({ key }))['error-code'], '20')
  assert.equal(readReply(await ask())['error-code'], '20')
})

test('a request of v4 that is sent again forgives no failure, and a new one does', async () => {
  const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const url = v4Url(world, 'status')
  const body: [string, string][] = [['client_orderid', 'nobody']]
  const good = () => header(parametersOf(world, url, body))
  const sent = (address: string, signed: string) => post(url, body, signed, from(address))
  const fails = async (address: string, times: number) => {
    const found: string[] = []
    for (let i = 0; i < times; i++) {
      const answer = await sent(address, header(parametersOf(world, url, body, { key })))
      found.push(answer.httpStatus === 403 ? 'denied' : readReply(answer)['error-code']!)
    }
    return found
  }
  const [address, other, seen] = [newAddress(), newAddress(), good()]
  assert.equal(readReply(await sent(address, seen))['error-code'], '6')
  assert.deepEqual(await fails(address, 5), Array(5).fill('denied'))
  assert.equal((await sent(address, seen)).httpStatus, 403)
  assert.deepEqual(await fails(address, 1), ['20'])
  assert.deepEqual(await fails(other, 5), Array(5).fill('denied'))
  assert.equal(readReply(await sent(other, good()))['error-code'], '6')
  assert.deepEqual(await fails(other, 5), Array(5).fill('denied'))
})

test('apps share addresses: an app that fails locks out no other', async () => {
  const address = newAddress()
  const perform = async (changes = {}) => {
    const made = initiate(mobile, 'sale', changes)
    return readAnswer(await send('POST', urlOf(mobile, made), JSON.stringify(made.body), { ...jsonType, ...from(address) }))
  }
  const fails = () => perform({ 'session.signature': 'f'.repeat(40) })
  const causes: unknown[] = []
  for (let i = 0; i < 12; i++) causes.push(((await fails()).json.error as { cause: string }).cause)
  const [first, last] = [causes[0], causes[11]]
  assert.notEqual(first, last)
  assert.deepEqual(causes, [...Array(10).fill(first), last, last])
  assert.equal((await perform()).httpStatus, 200)
})

test('pages that are not there count for the address and are kept account of, and lock nothing', async () => {
  const address = newAddress()
  const paid = await approved(world, 'sale')
  const { 'receipt-id': receipt = '' } = await status(newAddress(), { client_orderid: paid.client_orderid })
  const { plain, euro } = world.endpoints
  const get = (path: string) => send('GET', `${world.baseUrl}/${path}`, '', from(address)).then(({ httpStatus }) => httpStatus)
  const before = await refusedBy('address')
  const token = 'A'.repeat(22)
  // oxfmt-ignore
  const guesses: [operation: string, reason: string, paths: string[]][] = [
    ['payment-page', 'unknown page',    [`3ds/${token}`, `3ds/${token}/state`, '3ds/short']],
    ['random-sum',   'unknown page',    [`random-sum/${token}`, `random-sum/${token}/state`, 'random-sum/short', 'random-sum/1']],
    ['receipt',      'unknown receipt', [`view-receipt/${euro}/${receipt}/`, `view-receipt/${plain}/1/`, `view-receipt/${plain}/${crypto.randomUUID()}`]],
  ]
  for (const [, , paths] of guesses) for (const path of paths) assert.equal(await get(path), 404, path)
  assert.equal(await get(`3ds/${token}`), 404, 'beyond the limit it is answered as before')
  assert.equal(await refusedBy('address'), before)
  assert.equal(await get(`view-receipt/${plain}/${receipt}/`), 200)
  assert.equal((await status(address))['error-code'], '6', 'what holds is served')
  assert.deepEqual(await codes(1, () => status(address, { login: 'nobody-pages', ...wrong })), ['20'])
  const { json } = cliOf(() => world)
  const ofPages = () => json<{ refused: Entry[] }>('access', '--limit', '1000').then((all) => all.refused.filter(isHere))
  const isHere = (one: Entry) => one.address === address && one.operation !== 'status'
  const kept = await until(ofPages, (all) => all.reduce((sum, { count }) => sum + count, 0) === 11)
  const rows = kept.map(({ login, endpoint, operation, reason, count }) => [login, endpoint, operation, reason, count])
  assert.deepEqual(
    rows.sort(([, , a], [, , b]) => (String(a) < String(b) ? -1 : 1)),
    [
      [null, null, 'payment-page', 'unknown page', 4],
      [null, null, 'random-sum', 'unknown page', 4],
      [null, null, 'receipt', 'unknown receipt', 3],
    ],
  )
})

test("the issuer gets the cardholder's address from a trusted proxy, or else that of the sale", async () => {
  // oxfmt-ignore
  const rows = [
  //  X-Forwarded-For                        browserIP of the AReq
    ['192.0.2.9',                            '192.0.2.9'],
    ['192.0.2.66, 192.0.2.9, 10.1.2.3',      '192.0.2.9'],
    ['[2001:db8::9]:4711',                   '2001:db8::9'],
    // the sale says 203.0.113.7
    [undefined,                              '203.0.113.7'],
    ['192.0.2.9, unknown',                   '203.0.113.7'],
    ['192.168.1.20',                         '203.0.113.7'],
  ] as const
  // oxfmt-ignore
  const described = {
    javascriptEnabled: 'true', javaEnabled: 'false', language: 'en-GB', colorDepth: '24', screenHeight: '900',
    screenWidth: '1400', timeZone: '-60', methodReturned: 'true',
  }
  for (const [forwarded, browserIP] of rows) {
    const { made, seen } = await atMethod(world, 'frictionless')
    const headers = { 'content-type': formType, ...(forwarded === undefined ? {} : from(forwarded)) }
    const body = encodePairs(Object.entries(described))
    const page = `${seen['redirect-to']}/browser`
    assert.equal((await fetch(page, { method: 'POST', headers, body, redirect: 'manual' })).status, 303)
    await settled(world, made)
    const [areq, ...more] = await issuerMessages(world, seen['tds-method-url-frame-3ds-server-trans-id'] ?? '', 'AReq')
    assert.deepEqual([areq?.browserIP, more], [browserIP, []], String(forwarded))
  }
})

interface Entry {
  login: string | null
  endpoint: string | null
  operation: string
  address: string | null
  reason: string
  count: number
}
