import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { pauseMs } from '../../../client/waiting.ts'
import { products } from '../../../simulators/merchant/shop/catalogue.ts'
import { pauseAfter, ShopOrder } from '../../../simulators/merchant/shop/order.ts'
import { orderPage } from '../../../simulators/merchant/shop/order-page.ts'
import { secret } from '../../../src/base/secret.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'

/** An order of the shop beside a gateway that says what a test wants. */

type Reply = Record<string, string>

const challenge = { status: 'processing', 'tds-status': 'CReqForm', 'tds-creq-form-creq': trans('one') }

function trans(id: string): string {
  return Buffer.from(JSON.stringify({ threeDSServerTransID: id })).toString('base64url')
}

/** `status` is what the gateway answers to status, and `upload` to an upload; both may change. */
async function openOrder(says: { status: Reply; upload?: string }) {
  let polls = 0
  const gateway = createServer((request, response) => {
    const [, name = ''] = /\/api\/(?:v2|3ds\/v1)\/([^/]+)\//.exec(request.url ?? '') ?? []
    if (name === 'status') polls++
    const type = name === 'status' ? 'status-response' : name === 'sale' ? 'async-response' : (says.upload ?? 'async-response')
    const fields = name === 'status' ? says.status : { 'gateway-order-id': '1' }
    request.resume().on('end', () => response.end(new URLSearchParams({ type, ...fields }).toString()))
  })
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
  closing(gateway)
  const { port } = gateway.address() as AddressInfo
  const clock = openHandClock(Date.UTC(2030, 0, 31))
  const purchase = {
    product: products[0]!,
    currency: 'USD',
    way: 'server-to-server',
    scenario: 'a card',
    network: 'visa',
    cardNumber: '4111111111111111',
    cvv2: '123',
    endpoint: '1',
  } as const
  const account = { login: 'shop', controlKey: secret('key'), baseUrl: `http://127.0.0.1:${port}/gateway` }
  const browser = { userAgent: 'test', accept: '*/*', language: 'en', ip: '127.0.0.1' }
  const world = { account, callbackUrl: `${account.baseUrl}/callback`, base: 'http://127.0.0.1:1', clock }
  const order = closing(new ShopOrder('id', 'order-1', purchase, browser, world))
  const ran = order.run(purchase)
  const parts = { nonce: 'n', places: {}, messages: [], revision: '', isSettled: false, receiptUrl: undefined }
  const page = () => orderPage({ ...parts, order })
  /** Lets time pass until the order is so. */
  const passUntil = async (mode: string, ms = 250) => {
    assert.equal(
      await until(
        () => (clock.pass(ms), Promise.resolve(order.mode)),
        (now) => now === mode,
      ),
      mode,
    )
  }
  return { order, page, passUntil, polls: () => polls, ran }
}

test("the issuer's message to the cardholder is shown with the outcome, as text", async () => {
  const info = 'Call us: <b>0800</b> & "ask"'
  const { page, passUntil } = await openOrder({ status: { status: 'declined', 'cardholder-info': info } })
  await passUntil('over')
  assert.match(page(), /Your bank says<\/b> Call us: &#60;b&#62;0800&#60;\/b&#62; &#38; &#34;ask&#34;/)
})

test('a CRes that the gateway accepts ends the challenge immediately; a refused one does not', async () => {
  const says: Parameters<typeof openOrder>[0] = { status: challenge, upload: 'validation-error' }
  const { order, page, passUntil } = await openOrder(says)
  await passUntil('challenge')
  assert.match(page(), /<iframe/)
  const returned = order.challengeReturned(new URLSearchParams({ cres: trans('one') }))
  assert.equal(order.mode, 'answered')
  assert.doesNotMatch(page(), /<iframe|hint/)
  await returned
  await passUntil('challenge')
  delete says.upload
  await order.challengeReturned(new URLSearchParams({ cres: trans('one') }))
  await passUntil('answered')
  // A second authentication asks again.
  says.status = { ...challenge, 'tds-creq-form-creq': trans('two') }
  await passUntil('challenge')
})

test('a shop that stops asking says that money may have moved', async () => {
  const { page, passUntil, polls, ran } = await openOrder({ status: { status: 'unknown' } })
  await passUntil('over', 30_000)
  await ran
  assert.match(page(), /Not over yet[^]*It may have been charged\. A callback will say so\./)
  assert.ok(polls() <= 60, `${polls()} polls`)
})

test('the shop polls at the intervals of the client', () => {
  for (const ms of [0, 1_999, 2_000, 14_999, 15_000, 119_999, 120_000, 1_000_000])
    assert.equal(pauseAfter(ms), pauseMs(ms), `${ms}`)
})
