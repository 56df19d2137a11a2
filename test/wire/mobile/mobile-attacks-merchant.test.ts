import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ledger, send, settled } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openApp, type App, type Begun, type Json } from './mobile-app.ts'
import type { Lie } from './mobile-peer.ts'

/**
 * The merchant's server as an enemy: whatever it answers, each transaction ends, nothing is charged
 * that was not confirmed, and the gateway goes on.
 */

/**
 * How many payments the gate takes in parallel. A merchant's half is more than the hundred invoices
 * a sweep takes into memory, so the hanging ones would stop the sweep if they counted there.
 */
const roomAtGate = 240

const world = await openWorld({ env: { LOG_LEVEL: 'debug' } })
const { pid } = world
const desk = closing(await openFaultDesk(world))
await desk.gate({ maxOpen: roomAtGate })
const app = await openApp(world)
closing(app.merchant)
/** The target of redirects, which no request reaches. */
const trap = closing(await startTrap())
const lies = new Map<string, (answer: Json) => Lie>()
app.merchant.lie = (path, answer) => lies.get(/\/([^/]+)\/check$/.exec(path)?.[1] ?? '')?.(answer) ?? {}

async function startTrap() {
  const hits: string[] = []
  const server = createServer((request, response) => {
    hits.push(request.url!)
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hits, close: () => void server.close() }
}

/** A sale whose check is answered so, to its end. */
async function saleWith(lie: (answer: Json) => Lie, wish: object = {}): Promise<Json> {
  const one = app.begin('sale', wish)
  lies.set(one.invoiceId, lie)
  return app.ended(one)
}
async function declines(lie: (answer: Json) => Lie, errorCode: number): Promise<void> {
  const seen = await saleWith(lie)
  assert.deepEqual([seen.state, seen.errorCode], ['DECLINED', errorCode], JSON.stringify(seen))
  assert.deepEqual(await ledger(world, seen.orderId as string), [])
}
const raw = (answer: (response: ServerResponse, text: string) => void) => (told: Json) => ({
  raw: (response: ServerResponse) => answer(response, JSON.stringify(told)),
})
/** Lies to the gateway's first try, which takes ten seconds, and hangs up on the others. */
function once(lie: (answer: Json) => Lie): (answer: Json) => Lie {
  let tries = 0
  return (answer) => (++tries === 1 ? lie(answer) : { raw: (response) => void response.destroy() })
}
/** Writes the same again and again until the other side hangs up. */
function repeat(end: ServerResponse, piece: string, everyMs: number): void {
  const socket = end.socket!
  const timer = setInterval(() => socket.write(piece), everyMs)
  socket.on('error', () => {}).once('close', () => clearInterval(timer))
}
/** Keeps calls without an answer until `end`, which cuts them and every later one. */
function openHanging() {
  const held: ServerResponse[] = []
  let isOver = false
  return {
    lie: raw((response) => void (isOver ? response.destroy() : held.push(response))),
    end(): void {
      isOver = true
      for (const response of held) response.destroy()
    },
  }
}

describe('bytes', { concurrency: 8 }, () => {
  const mebi = 1024 * 1024
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
  // oxfmt-ignore
  const cases: readonly (readonly [string, (told: Json) => Lie, number])[] = [
    ['10 MB of blanks around the right answer', raw((r, text) => void r.end(' '.repeat(10 * mebi) + text)),                                        4003],
    ['the right answer, and 10 MB after it',    raw((r, text) => void r.end(text + ' '.repeat(10 * mebi))),                                        4003],
    ['the right answer packed, with 10 MB',     raw((r, text) => void r.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text + ' '.repeat(10 * mebi)))), 4003],
    ['headers without an end',                  raw((r) => { r.socket!.write(head); repeat(r, `x-more: ${'y'.repeat(1_000)}\r\n`, 1) }),           4002],
    ['a header of 64 KiB',                      raw((r, text) => void r.socket!.end(`${head}x: ${'y'.repeat(65_536)}\r\n\r\n${text}`)),            4002],
    ['interim answers without an end',          once(raw((r) => repeat(r, 'HTTP/1.1 103 Early Hints\r\n\r\n', 20))),                               4002],
    ['a byte now and then',                     once(raw((r) => { r.socket!.write(`${head}content-length: 1000\r\n\r\n`); repeat(r, ' ', 250) })), 4002],
    ['no HTTP',                                 raw((r) => void r.socket!.end('\0\0\0\0garbage\r\n\r\n')),                                         4002],
    ['a body that is cut off',                  raw((r, text) => void r.socket!.end(`${head}content-length: 9000\r\n\r\n${text}`)),                4002],
    ['two lengths',                             raw((r, text) => void r.socket!.end(`${head}content-length: 2\r\ncontent-length: ${text.length}\r\n\r\n${text}`)), 4002],
    ['bytes that are no UTF-8',                 raw((r, text) => void r.end(Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(text)]))),           4003],
    ['the right answer in UTF-16',              raw((r, text) => void r.end(Buffer.from(text, 'utf16le'))),                                        4003],
  ]
  for (const [what, lie, errorCode] of cases)
    test(`${what}: declined ${errorCode}, nothing charged`, async () => {
      await declines(lie, errorCode)
    })
  for (const status of [301, 302, 303, 307, 308])
    test(`a redirect ${status} within the machine is not followed`, async () => {
      const redirect = raw((r) => void r.writeHead(status, { location: `${trap.url}/${status}` }).end())
      await declines(redirect, 4001)
      assert.deepEqual(trap.hits, [])
    })
})

describe('JSON', { concurrency: 8 }, () => {
  const session = (answer: Json) => answer['session'] as Json
  const text = (make: (told: string, answer: Json) => string) => (answer: Json) => ({
    body: make(JSON.stringify(answer), answer),
  })
  // oxfmt-ignore
  const cases: readonly (readonly [string, (told: Json) => Lie, number])[] = [
    ['all of it beneath __proto__',      text((told) => `{"__proto__":${told}}`),                                                          4003],
    ['the session beneath __proto__',    text((_told, a) => `{"invoiceId":"${a['invoiceId'] as string}","__proto__":{"session":${JSON.stringify(session(a))}}}`), 4003],
    ['members of the prototype',         text((_told, a) => `{"invoiceId":"${a['invoiceId'] as string}","session":"constructor"}`),        4003],
    ['a signature first right, then not', text((told) => told.replace('"checkSignature":', '"checkSignature":"x","checkSignature2":')),    4003],
    ['the right one, then a second nonce', text((told) => told.replace(/}}$/, `,"nonce":"${'n'.repeat(32)}"}}`).replace(/}$/, `,"session":{"nonce":"${'n'.repeat(32)}"}}`)), 4003],
    ['30,000 lists in each other',       text((told) => `{"x":${'['.repeat(30_000)}${']'.repeat(30_000)},${told.slice(1)}`),              4003],
    ['60,000 lists without an end',      text(() => '['.repeat(60_000)),                                                                   4003],
    ['a list around it',                 text((told) => `[${told}]`),                                                                      4003],
    ['two answers',                      text((told) => told + told),                                                                      4003],
    ['a comment',                        text((told) => `/**/${told}`),                                                                    4003],
    ['a sum of 345.5',                   (a) => ({ body: { ...a, transaction: { randomSumCentis: 345.5 } } }),                             4003],
    ['a sum beyond every number',        text((told) => told.replace(/}$/, ',"transaction":{"randomSumCentis":1e999}}')),                   4003],
    ['an error, and all else right',     (a) => ({ body: { ...a, error: { cause: 'FILTERED' } } }),                                        4001],
    ['a card named beyond 2^53',         text((told) => told.replace(/}$/, ',"sourceOfFunds":{"reference":{"serverCardId":9007199254740993}}}')), 4003],
  ]
  for (const [what, lie, errorCode] of cases)
    test(`${what}: declined ${errorCode}, nothing charged`, () => declines(lie, errorCode))
})

test('a decline before any charge keeps no CVV2; without a known card it is no order at all', async () => {
  const refuses = () => ({ status: 403, body: '' })
  const { orderId, errorCode } = await saleWith(refuses)
  assert.equal(errorCode, 4001)
  const kept = await desk.rows('select cvv2_sealed from order_facts where order_id = $1', [orderId])
  assert.deepEqual(kept, [{ cvv2_sealed: null }])
  const without = await saleWith(refuses, { reference: { clientCardId: 'nobody' } })
  assert.equal(without.state, 'DECLINED')
  assert.deepEqual(await desk.rows('select from orders where order_id = $1', [without.orderId]), [])
})

describe('texts', { concurrency: 8 }, () => {
  const billing = (value: object) => (answer: Json) => ({ body: { ...answer, billing: value } })
  const consumer = (value: object) => (answer: Json) => ({ body: { ...answer, consumer: value } })
  // oxfmt-ignore
  const cases: readonly (readonly [string, (told: Json) => Lie])[] = [
    ['a line break in the city',                billing({ address: { city: 'Paris\r\nX-Evil: 1' } })],
    ['a NUL in the street',                     billing({ address: { street: 'a\0b' } })],
    ['an escape in the phone number',           billing({ phone: '+1\u001b[2J' })],
    ['half a character in the city',            billing({ address: { city: 'a\ud800b' } })],
    ['the other half in the street',            billing({ address: { street: '\udc00' } })],
    ['a NUL in the e-mail address',             consumer({ email: 'ada\0@example.com' })],
    ['a control character in the e-mail address', consumer({ email: 'ada\u0007@example.com' })],
    ['half a character in the e-mail address',  consumer({ email: 'ada\ud800@example.com' })],
    ['half a character in an IP address',       consumer({ ipAddresses: ['192.0.2.\udfff'] })],
    ['an object in place of the city',          billing({ address: { city: { toString: 'x' } } })],
  ]
  for (const [what, lie] of cases) test(`${what}: declined, nothing charged`, () => declines(lie, 4003))

  // oxfmt-ignore
  const cardIds: readonly (readonly [string, number])[] = [
    ['7\0',          4003],
    ['\ud800',       4003],
    ['9'.repeat(19), 4004],
    ['0'.repeat(19), 4004],
    ['-1',           4004],
    ['1e3',          4004],
    ['0x10',         4004],
    [' 7',           4004],
    ['٧',            4004],
    ['9'.repeat(64), 4004],
  ]
  for (const [id, errorCode] of cardIds)
    test(`the card ${JSON.stringify(id)}: declined ${errorCode}`, async () => {
      const clientCardId = `card ${cardIds.findIndex(([other]) => other === id)}`
      app.merchant.cards.set(clientCardId, id)
      const seen = await app.ended(app.begin('sale', { reference: { clientCardId } }))
      assert.deepEqual([seen.state, seen.errorCode], ['DECLINED', errorCode], JSON.stringify(seen))
    })

  test('markup in an accepted answer appears as text in callbacks, pages and logs', async () => {
    const email = '"><img/src=x/onerror=alert(1)>@evil.example'
    const city = `</script><script>alert(1)</script>`
    const callback = `${world.merchantServerUrl}/callback`
    await desk.rows(
      `update endpoint set settings = settings || jsonb_build_object('callbackUrl', $1::text) where endpoint_id = $2`,
      [callback, world.endpoints.plain],
    )
    await desk.rows('update config_version set version = version + 1')
    await configurationRead(world)
    const address = { city, street: `'; drop table orders; --` }
    const one = app.begin('sale')
    const lie = (answer: Json) => ({ body: { ...answer, consumer: { email }, billing: { phone: '<b>1</b>', address } } })
    lies.set(one.invoiceId, lie)
    const seen = await app.ended(one)
    assert.equal(seen.state, 'APPROVED')
    const told = await settled(world, { orderid: seen.orderId as string, client_orderid: one.invoiceId, serial: '' })
    assert.deepEqual([told['email'], told['city']], [email, city])
    const receipt = await send('GET', `${world.baseUrl}/view-receipt/${told['end-point-id']}/${told['receipt-id']}/`)
    const isHere = async () =>
      (await send('GET', `${world.merchantServerUrl}/callbacks.json?client_orderid=${one.invoiceId}`)).body
    assert.match(await until(isHere, (text) => text.includes('onerror')), /"valid":true/)
    const page = await send('GET', `${world.merchantServerUrl}/?client_orderid=${one.invoiceId}`)
    for (const { httpStatus, body: text } of [receipt, page]) {
      assert.equal(httpStatus, 200)
      assert.doesNotMatch(text, /<img|<script>alert|<b>1/)
    }
  })
})

test('sales whose merchant hangs fill half of a gate that two share, then more are refused; others end in time', async () => {
  const elsewhere = app.begin('transfer', { endpoint: world.endpoints.mobile_fee })
  const token = await app.accepted(elsewhere)
  assert.equal((await app.ended(elsewhere, token)).state, 'TRANSFER_FEE_REQUEST')
  const hanging = openHanging()
  const half = roomAtGate / 2
  const hang = async (sale: Begun) => {
    lies.set(sale.invoiceId, hanging.lie)
    return { sale, answer: await app.perform(sale) }
  }
  const sell = (count: number) => Promise.all(Array.from({ length: count }, () => hang(app.begin('sale'))))
  const accepted = await sell(half)
  for (const { answer } of accepted) assert.equal(answer.status, 200, JSON.stringify(answer))
  for (const { answer } of await sell(20)) assert.deepEqual(refusalOf(answer), [500, 'PROCESSING_FAILED'])

  const [{ sale, answer }] = accepted as [Awaited<ReturnType<typeof hang>>]
  assert.deepEqual(await app.perform(sale), answer, 'an accepted sale sent again gets the same answer')
  const other = app.begin('sale', { invoiceId: sale.invoiceId })
  assert.deepEqual(refusalOf(await app.perform(other)), [500, 'PROCESSING_FAILED'], 'another sale under its name does not')

  await desk.rows('update mobile_invoice set rests_until = now(), due_at = now() where invoice_id = $1', [elsewhere.invoiceId])
  const isOver = ({ body }: { body: Json }) => body.state === 'DECLINED'
  const { body } = await until(() => app.status(elsewhere, token), isOver)
  assert.deepEqual([body.state, body.errorCode], ['DECLINED', 4006])

  const ids = accepted.map((one) => one.sale.invoiceId)
  const states = async () => {
    const sql = `select concat_ws(' ', state, error_code) as state, count(*)::int as sales
      from mobile_invoice where invoice_id = any ($1) group by 1`
    return (await desk.rows<{ state: string; sales: number }>(sql, [ids])).map((row) => `${row.sales} ${row.state}`)
  }
  assert.deepEqual(await states(), [`${half} checking`], 'they hang still')
  hanging.end()
  const ended = [`${half} declined 4002`]
  assert.deepEqual(await until(states, (seen) => String(seen) === String(ended)), ended)
})

const refusalOf = ({ status, body }: Awaited<ReturnType<App['perform']>>) => [status, (body.error as Json | undefined)?.['cause']]

test('after all answers the gateway is the same process, its log has only its own lines, and it sells', async () => {
  const written = readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')
  // The gateway still writes, so the text after the last line break may be half a line.
  const log = written.slice(0, written.lastIndexOf('\n') + 1)
  assert.notEqual(log, '')
  for (const line of log.split('\n').filter((text) => text !== '')) assert.equal(typeof JSON.parse(line), 'object')
  assert.doesNotMatch(log, /drop table orders|onerror/)
  assert.doesNotMatch(log.replaceAll('\n', ''), /\p{Cc}/u)
  assert.equal((await app.ended(app.begin('sale'))).state, 'APPROVED')
  process.kill(pid, 0)
  const left = await desk.rows(`select invoice_id, state from mobile_invoice where state in ('checking', 'ordering')`)
  assert.deepEqual(left, [], 'none is left behind')
})
