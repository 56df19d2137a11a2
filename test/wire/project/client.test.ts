import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type RequestListener } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openClient, type Client } from '../../../client/client.ts'
import type { Accepted, Denied, Reply } from '../../../client/replies.ts'
import type { OrderName } from '../../../client/requests.ts'
import { openHttp, openWorld } from '../../harness/world/opening.ts'

/** The merchants' client: each operation once right, once refused, and with wrong keys. */

const world = await openWorld()
const sandbox: { merchant: { oauth_private_key_file: string } } = JSON.parse(
  readFileSync(join(world.directory, 'sandbox.json'), 'utf8'),
)
const settings = {
  baseUrl: `${world.baseUrl}/`,
  login: world.merchant.login,
  controlKey: world.merchant.controlKey,
  oauthKey: readFileSync(sandbox.merchant.oauth_private_key_file, 'utf8'),
}
const openAt = (entry: { endpoint: number } | { group: number }): Client => openClient({ ...settings, ...entry })
const client = openAt({ endpoint: world.endpoints.plain })
const secure = openAt({ endpoint: world.endpoints.secure })
const { privateKey: otherKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const otherKeys = { controlKey: randomUUID(), oauthKey: otherKey }
/** Another key each, and endpoints as they are. */
const stranger = openClient({ ...settings, ...otherKeys, endpoint: world.endpoints.plain })

const newName = (): string => `client-${randomUUID()}`
const who = { order_desc: 'Größe 42 & more', email: 'jane@example.com', ipaddress: '203.0.113.7' }
const card = {
  credit_card_number: '4111111111111111',
  card_printed_name: 'JANE DOE',
  expire_month: 12,
  expire_year: 2035,
  cvv2: '123',
}
const price = { amount: '10.42', currency: 'USD' }
const payment = (changes: object = {}) => ({ client_orderid: newName(), ...who, ...card, ...price, ...changes })
const back = { redirect_url: 'https://shop.example/back' }
const nobody: OrderName = { client_orderid: 'nobody', orderid: '999999999' }

type Any = Reply<{ is: string }> | Denied | { is: string }
const isRefused = (reply: Any, code: number): void =>
  assert.ok(reply.is === 'refused' && 'code' in reply && reply.code === code, JSON.stringify(reply))

function accepted(reply: Reply<Accepted>): Accepted {
  assert.ok(reply.is === 'accepted', JSON.stringify(reply))
  assert.match(reply.serialNumber, /^[0-9a-f-]{36}$/)
  return reply
}

async function approved(reply: Reply<Accepted>, by = client): Promise<Accepted> {
  const ending = await by.finish(reply)
  assert.ok(ending.is === 'final' && ending.status === 'approved', JSON.stringify(ending))
  return accepted(reply)
}

async function registered(): Promise<string> {
  const { order } = await approved(await client.sale(payment()))
  const kept = await client.createCardRef(order)
  assert.ok(kept.is === 'registered' && kept.uniqueCardRefId !== undefined, JSON.stringify(kept))
  return kept.cardRefId
}

describe('each operation, once as it should be and once refused', () => {
  test('sale, preauth, account verification', async () => {
    await approved(await client.sale(payment()))
    isRefused(await client.sale(payment({ credit_card_number: '4111111111111112' })), 3)
    await approved(await client.preauth(payment()))
    isRefused(await client.preauth(payment({ cvv2: '' })), 1)
    const { amount: _amount, currency: _currency, ...verification } = payment()
    await approved(await client.accountVerification(verification))
    isRefused(await client.accountVerification({ ...verification, client_orderid: newName(), email: 'x' }), 3)
  })
  test('capture, return and void, by parts and as a whole', async () => {
    const { order } = await approved(await client.preauth(payment()))
    const part = { ...order, currency: 'USD' }
    await approved(await client.capture({ ...part, amount: '8.1' }))
    isRefused(await client.capture({ ...part, amount: '8.00' }), 10)
    await approved(await client.return({ ...part, amount: '3.00' }))
    isRefused(await client.return({ ...part, amount: '5.11' }), 10)
    const whole = await approved(await client.sale(payment()))
    const undone = await approved(await client.void({ ...whole.order, comment: 'a mistake' }))
    isRefused(await client.void(nobody), 6)
    const seen = await client.status({ ...whole.order, 'by-request-sn': undone.serialNumber })
    assert.ok(seen.is === 'order' && seen.transactionType === 'reversal' && seen.stage === 'void_approved')
  })
  test('status, of both versions', async () => {
    const { order, serialNumber } = await approved(await client.sale(payment({ cvv2: '1234' })))
    for (const seen of [await client.status(order), await client.statusV4({ ...order, 'by-request-sn': serialNumber })]) {
      assert.ok(seen.is === 'order', JSON.stringify(seen))
      assert.deepEqual([seen.status, seen.stage, seen.order, seen.fields.amount], ['approved', 'sale_approved', order, '10.42'])
    }
    isRefused(await client.status(nobody), 6)
    isRefused(await client.statusV4(nobody), 6)
  })
  test('card references of both versions, card information', async () => {
    const { order } = await approved(await client.sale(payment()))
    const v2 = await client.createCardRef(order)
    const v4 = await client.createCardRefV4(order)
    assert.ok(v2.is === 'registered' && v4.is === 'registered' && v2.cardRefId === v4.cardRefId)
    assert.ok(v4.recurringPaymentId !== undefined && v4.dstCardRefId !== undefined && v4.dstRecurringPaymentId !== undefined)
    isRefused(await client.createCardRef(nobody), 6)
    isRefused(await client.createCardRefV4(nobody), 6)
    const info = await client.getCardInfo({ cardrefid: v2.cardRefId })
    assert.ok(info.is === 'card', JSON.stringify(info))
    assert.deepEqual([info.printedName, info.expireYear, info.bin, info.lastFourDigits], ['JANE DOE', '2035', '411111', '1111'])
    isRefused(await client.getCardInfo({ cardrefid: '1' }), 7)
  })
  test('a payment that was declined registers no card, and says so', async () => {
    const reply = await client.sale(payment({ cvv2: '116' }))
    const ending = await client.finish(reply)
    assert.ok(ending.is === 'final' && ending.status === 'declined' && ending.seen.reason?.code === 116)
    const kept = await client.createCardRef(accepted(reply).order)
    assert.ok(kept.is === 'not registered' && kept.status === 'declined' && kept.reason.code === 9)
  })
  test('recurrent payments by all three names', async () => {
    const cardrefid = await registered()
    const again = (changes: object = {}) => ({
      ...who,
      client_orderid: newName(),
      cardrefid,
      amount: '9.00',
      currency: 'USD',
      ...changes,
    })
    for (const operation of ['makeRebillSale', 'makeRebill', 'makeRebillPreauth'] as const) {
      await approved(await client[operation](again({ recurrent_initiator: 'MERCHANT' })))
      isRefused(await client[operation](again({ enumerate_amounts: '9.01' })), 3)
      isRefused(await client[operation](again({ cardrefid: '1' })), 7)
    }
  })
  test('the uploads, up to an order that does not wait for them', async () => {
    const reply = await secure.sale(payment(back))
    const waiting = await secure.finish(reply)
    assert.ok(waiting.is === 'cardholder' && waiting.step.is === 'method frame', JSON.stringify(waiting))
    const { order } = accepted(reply)
    const { threeDSServerTransID } = waiting.step
    // oxfmt-ignore
    const browser = {
      browserLanguage: 'en', browserColorDepth: 24, browserJavaEnabled: false, browserJavascriptEnabled: true,
      browserIP: '203.0.113.7', browserUserAgent: 'x', browserAcceptHeader: '*/*', browserTZ: -60,
      browserScreenHeight: 900, browserScreenWidth: 1600,
    }
    isRefused(
      await secure.uploadMethodUrlResult({ ...order, threeDSServerTransID: randomUUID(), threeDSCompInd: 'Y', ...browser }),
      9,
    )
    const uploaded = await secure.uploadMethodUrlResult({ ...order, threeDSServerTransID, threeDSCompInd: 'Y', ...browser })
    const ending = await secure.finish(uploaded, { past: waiting.step })
    assert.ok(ending.is === 'final' && ending.status === 'approved', JSON.stringify(ending))
    isRefused(await secure.uploadCresResult({ ...order, cres: 'x' }), 3)
    isRefused(await secure.uploadParesResult({ ...order, paRes: 'eJwDAAAAAAE=', md: 'x' }), 9)
  })
})

describe('keys and paths', () => {
  /** A CRes that cannot be read is refused before its checksum is checked. */
  function readableCres(): string {
    const ids = { threeDSServerTransID: randomUUID(), acsTransID: randomUUID(), messageVersion: '2.2.0' }
    const cres = { messageType: 'CRes', challengeCompletionInd: 'Y', transStatus: 'Y', ...ids }
    return Buffer.from(JSON.stringify(cres)).toString('base64url')
  }
  test('with a wrong control key every operation is refused with code 2', async () => {
    const { order } = await approved(await client.sale(payment()))
    const cardrefid = await registered()
    const rebill = { ...who, client_orderid: newName(), cardrefid, amount: '1.00', currency: 'USD' }
    const { amount: _amount, ...verification } = payment()
    const replies = await Promise.all([
      stranger.sale(payment()),
      stranger.preauth(payment()),
      stranger.accountVerification(verification),
      stranger.makeRebillSale(rebill),
      stranger.makeRebillPreauth(rebill),
      stranger.makeRebill(rebill),
      stranger.capture(order),
      stranger.return({ ...order, amount: '1.00', currency: 'USD' }),
      stranger.void(order),
      stranger.status(order),
      stranger.createCardRef(order),
      stranger.getCardInfo({ cardrefid }),
      stranger.uploadMethodUrlResult({ ...order, threeDSServerTransID: randomUUID(), threeDSCompInd: 'U' }),
      stranger.uploadCresResult({ ...order, cres: readableCres() }),
      stranger.uploadParesResult({ ...order, paRes: 'eJwDAAAAAAE=', md: 'x' }),
    ])
    const codes = replies.map((reply) => (reply.is === 'refused' ? reply.code : JSON.stringify(reply)))
    assert.deepEqual(
      codes,
      replies.map(() => 2),
    )
  })
  test('with a wrong key, or at a foreign endpoint, v4 is denied', async () => {
    const { order } = await approved(await client.sale(payment()))
    assert.deepEqual(await stranger.statusV4(order), { is: 'denied' })
    assert.deepEqual(await stranger.createCardRefV4(order), { is: 'denied' })
    assert.deepEqual(await openAt({ endpoint: world.other.endpoint }).statusV4(order), { is: 'denied' })
    await assert.rejects(openClient({ ...world.merchant, baseUrl: world.baseUrl, endpoint: 1 }).statusV4(order), TypeError)
  })
  test('a group takes each currency, for every kind of call', async () => {
    const group = openAt({ group: world.groups.multi })
    const { order, serialNumber } = await approved(await group.sale(payment({ currency: 'EUR' })), group)
    await approved(await group.return({ ...order, amount: '1.00', currency: 'EUR' }), group)
    const seen = await group.statusV4({ ...order, 'by-request-sn': serialNumber })
    assert.ok(seen.is === 'order' && seen.status === 'approved')
    const kept = await group.createCardRef(order)
    assert.ok(kept.is === 'registered')
    assert.equal((await group.getCardInfo({ cardrefid: kept.cardRefId })).is, 'card')
    isRefused(await group.sale(payment({ currency: 'KWD', amount: '1.234' })), 8)
    isRefused(await openAt({ group: world.endpoints.plain }).sale(payment()), 4)
  })
  test('yen are signed as they are, or times a hundred where the endpoint says so', async () => {
    const yen = openAt({ endpoint: world.endpoints.yen })
    await approved(await yen.sale(payment({ currency: 'JPY', amount: '100' })), yen)
    const at = { ...settings, endpoint: world.endpoints.hundredths }
    const hundredths = openClient({ ...at, controlMinorUnits: 'hundredths' })
    await approved(await hundredths.sale(payment({ currency: 'JPY', amount: '100' })), hundredths)
    isRefused(await openClient(at).sale(payment({ currency: 'JPY', amount: '100' })), 2)
    await assert.rejects(yen.sale(payment({ currency: 'JPY', amount: '100.5' })), RangeError)
  })
  test('the same return twice under an Idempotency-Key is one, even ended; without a key for ten minutes', async () => {
    const { order } = await approved(await client.sale(payment()))
    const tenth = { ...order, amount: '1.00', currency: 'USD' }
    const options = { idempotencyKey: randomUUID() }
    const first = await approved(await client.return(tenth, options))
    const second = await approved(await client.return(tenth, options))
    assert.notEqual(first.serialNumber, second.serialNumber)
    await approved(await client.return(tenth))
    isRefused(await client.return({ ...order, amount: '9.43', currency: 'USD' }), 10)
    await approved(await client.return({ ...order, amount: '9.42', currency: 'USD' }))
  })
})

describe('an idempotencyKey', () => {
  test('names one request: any other is refused with code 11, which names it', async () => {
    const options = { idempotencyKey: randomUUID() }
    const sold = payment()
    const first = await client.sale(sold, options)
    const again = await client.sale(sold, options)
    assert.ok(first.is === 'accepted' && again.is === 'accepted' && again.order.orderid === first.order.orderid)
    const other = await client.sale(payment(), options)
    assert.equal(other.is === 'refused' && other.message, `Idempotency-Key ${options.idempotencyKey} is already in use`)
  })
  test('that no gateway would take rejects, and nothing is sent', async () => {
    for (const idempotencyKey of ['', 'one two', 'x'.repeat(129), 'caf\u00e9'])
      await assert.rejects(client.sale(payment(), { idempotencyKey }), RangeError)
  })
})

describe('an unexpected answer', () => {
  const serve = async (listener: RequestListener) => `${(await openHttp(listener)).origin}/gateway`
  const at = (baseUrl: string, more: object = {}): Client =>
    openClient({ ...settings, ...more, baseUrl, endpoint: world.endpoints.plain })
  /** The gateway, on a way that loses the answers of a sale. */
  const losing = () =>
    serve((request, response) => {
      const chunks: Buffer[] = []
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const { 'content-type': type = '' } = request.headers
          const url = world.baseUrl + (request.url ?? '').slice('/gateway'.length)
          void fetch(url, { method: 'POST', body: Buffer.concat(chunks), headers: { 'content-type': type } })
            .then((answer) => answer.text())
            .then((text) => (url.includes('/sale/') ? response.destroy() : response.end(text.replaceAll('&', '\n&'))))
        })
    })

  test('a sale whose answer is lost is found by its name, and was charged once', async () => {
    const lossy = at(await losing())
    const sale = payment()
    const reply = await lossy.sale(sale)
    assert.ok(reply.is === 'no answer' && reply.asked.client_orderid === sale.client_orderid, JSON.stringify(reply))
    const ending = await lossy.finish(reply)
    assert.ok(ending.is === 'final' && ending.status === 'approved' && ending.order.client_orderid === sale.client_orderid)
    const again = accepted(await client.sale(sale))
    assert.equal(again.order.orderid, ending.order.orderid)
  })
  test('anything but a reply is no answer, with the reason: no server, another status, a page, a redirect', async () => {
    // oxfmt-ignore
    const cases: [baseUrl: string, why: RegExp][] = [
      ['http://127.0.0.1:2/gateway',                                                      /^(ECONNREFUSED|bad port)$/],
      [`${world.baseUrl}/nowhere`,                                                        /^HTTP 404$/],
      [await serve((_request, response) => response.end('<html>not today</html>')),       /^it is no async-response$/],
      [await serve((_request, response) => response.writeHead(307, { location: world.baseUrl }).end()), /^HTTP 307$/],
      [await serve((_request, response) => response.end('type=async-response')),          /^it names no order$/],
      [await serve((_request, response) => response.end('type=%')),                       /^it cannot be decoded$/],
      [await serve((_request, response) => response.writeHead(403).end()),                /^HTTP 403$/],
    ]
    for (const [baseUrl, why] of cases) {
      const reply = await at(baseUrl).sale(payment())
      assert.ok(reply.is === 'no answer', JSON.stringify(reply))
      assert.match(reply.why, why)
    }
  })
  test('a silent gateway is given up after the time-out, or immediately when the caller aborts', async () => {
    const baseUrl = await serve(() => {})
    const late = await at(baseUrl, { timeoutMs: 50 }).sale(payment())
    assert.ok(late.is === 'no answer' && late.why === 'none within 50 ms', JSON.stringify(late))
    const aborted = await at(baseUrl).sale(payment(), { signal: AbortSignal.abort() })
    assert.ok(aborted.is === 'no answer' && aborted.why === 'aborted')
    const open = await at(baseUrl).finish(aborted, { signal: AbortSignal.timeout(50) })
    assert.deepEqual(open, { is: 'open', why: 'aborted' })
  })
})
