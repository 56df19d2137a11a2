import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { cardNumber, status, notEmpty } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { at, changed, ok, type Behaviour, type Kind } from './mobile-merchant.ts'
import { begin, cardAt, ends, initiate, openMobile, orderOf, perform, refused, signature } from './mobile.ts'

/** Requests that differ in one detail, and reports on a transaction that charged nothing. */

const shop = closing(await openReceiver(() => 200))
const world = await openWorld()
const { tell } = cliOf(() => world)
await tell(['endpoint', 'set', String(world.endpoints.plain), '--callback-url', `${shop.origin}/own?x=1`])
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile])
closing(mobile.shop)
await until(
  () => ends(mobile, 'APPROVED', 'sale'),
  () => shop.calls('/own').length > 0,
)

const kinds: Kind[] = ['verification', 'sale', 'transfer']
const notified = (invoiceId: string) => until(() => mobile.shop.notifications(invoiceId), notEmpty)

for (const kind of kinds)
  describe(kind, { concurrency: 8 }, () => {
    it("an order that the merchant's server refused is one of the gateway API too, and is called back", async () => {
      const { made, told } = await ends(mobile, 'DECLINED', kind, {}, { check: () => ({ status: 403, body: '' }) })
      const order = await status(world, { client_orderid: made.invoiceId, orderid: orderOf(told) })
      assert.deepEqual([order.status, order['error-code']], ['declined', String(told.errorCode)])
      const seen = await until(() => shop.calls('/own').filter(({ query }) => query.get('orderid') === orderOf(told)), notEmpty)
      assert.deepEqual(
        seen.map(({ query }) => [query.get('status'), query.get('error_code')]),
        [['declined', String(told.errorCode)]],
      )
    })
    it('the bin of a nine-digit card is left out, because it would show most of the number', async () => {
      const number = cardNumber('41111111')
      const { made } = await ends(mobile, 'APPROVED', kind, { [`${cardAt(kind)}.number`]: number })
      const [call] = await notified(made.invoiceId)
      assert.ok(call, 'the notification came')
      assert.equal(at(call.body, 'sourceCard.bin'), undefined)
      assert.ok(!call.text.includes(number))
    })
    it('location, billing, billing.address and order are objects', async () => {
      for (const path of ['location', 'billing', 'billing.address', 'order'])
        for (const value of ['a', 1, ['a'], true]) {
          const made = initiate(mobile, kind, { [path]: value })
          refused(await perform(mobile, made), 'INVALID_REQUEST', new RegExp(`^${path} `), made.invoiceId)
        }
    })
    it('a country that ISO 3166-1 does not have is refused', async () => {
      const made = initiate(mobile, kind, { 'billing.address.country': 'ABC' })
      refused(await perform(mobile, made), 'INVALID_REQUEST', /^billing\.address\.country /, made.invoiceId)
    })
    it('the same invoice and nonce at another endpoint, signed for it, is other content', async () => {
      const made = await begin(mobile, kind)
      const next = { ...made, endpoint: world.endpoints.mobile }
      const signed = signature(kind, next.endpoint, next.invoiceId, next.body, world.merchant.controlKey)
      const told = await perform(mobile, { ...next, body: changed(next.body, { 'session.signature': signed }) })
      refused(told, 'INVALID_REQUEST', /invoiceId/, made.invoiceId)
    })
  })

describe('serverCardId', () => {
  const paidWith = async (): Promise<string> => {
    const { made } = await ends(mobile, 'APPROVED', 'sale')
    const [call] = await notified(made.invoiceId)
    return String(at(call?.body, 'sourceCard.reference.serverCardId'))
  }
  it('may be a number, which a number of JavaScript holds exactly', async () => {
    const mine = await paidWith()
    assert.ok(Number.isSafeInteger(Number(mine)))
    const check: Behaviour = (honest) => ok(JSON.stringify(honest).replace(`"serverCardId":"${mine}"`, `"serverCardId":${mine}`))
    await ends(mobile, 'APPROVED', 'sale', { sourceOfFunds: { reference: { clientCardId: 'c' } } }, { source: mine, check })
  })
  it('for a destination declines a sale, which has none', async () => {
    const mine = await paidWith()
    const check: Behaviour = (honest) => ok(changed(honest, { 'destinationOfFunds.reference.serverCardId': mine }))
    await ends(mobile, 'DECLINED', 'sale', {}, { check })
  })
})
