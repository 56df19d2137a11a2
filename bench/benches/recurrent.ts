import { controlOf } from '../../src/merchant/control.ts'
import { writeForm } from '../../src/spec/form.ts'
import type { Bench, Payment } from '../bench.ts'
import { errorOf, fieldOf, orderForm, type Merchant } from '../load/merchant.ts'
import { sameForm, signedForm } from './sale.ts'

/**
 * The merchant charges a registered card again: the request has no card data, and there is no
 * cardholder to authenticate.
 */
export const recurrent: Bench = {
  name: 'recurrent',
  means: 'recurrent payments of a registered card, begun by the merchant, from the POST to the final status, callbacks on',
  targets: [],
  inFlight: [1, 32, 256],
  warmUp: 5_000,
  inDetail: false,
  open(merchant) {
    const endpoint = String(merchant.site.endpoints['plain'])
    const charge = charger(merchant, endpoint)
    let card: Promise<string> | undefined
    return async (clientOrderid) => {
      if (card !== undefined) return charge(clientOrderid, await card)
      // The first payment of a run is the sale whose card all others charge. It counts in the books
      // as they do.
      const first = firstPayment(merchant, endpoint, clientOrderid)
      card = first.then((payment) => payment.card)
      card.catch(() => (card = undefined))
      return first
    }
  },
}

/**
 * A sale, and its card registered; the payment is not measured, since it ends during the warm-up.
 */
async function firstPayment(merchant: Merchant, endpoint: string, clientOrderid: string): Promise<Payment & { card: string }> {
  const { site } = merchant
  const began = performance.now()
  const form = signedForm(merchant, endpoint, clientOrderid, sameForm(site, '4111111111111111'))
  const reply = await merchant.post(`/api/v2/sale/${endpoint}`, form)
  const acceptMs = performance.now() - began
  const ending = await merchant.untilFinal(endpoint, clientOrderid, reply, began)
  const finalMs = performance.now() - began
  const orderid = fieldOf(reply, 'gateway-order-id') ?? ''
  const registered = await merchant.post(`/api/v2/create-card-ref/${endpoint}`, orderForm(merchant, clientOrderid, orderid))
  const card = fieldOf(registered, 'card-ref-id')
  if (card === undefined) throw new Error(`no card was registered: ${ending}, ${errorOf(registered)}`)
  return { acceptMs, finalMs, ending, card }
}

function charger(merchant: Merchant, endpoint: string): (clientOrderid: string, card: string) => Promise<Payment> {
  const { site, key } = merchant
  const path = `/api/v2/make-rebill-sale/${endpoint}`
  const same = writeForm([
    ['login', site.login],
    ['order_desc', 'A recurrent payment of the bench'],
    ['amount', '10.42'],
    ['currency', 'USD'],
    ['ipaddress', '203.0.113.7'],
    ['recurrent_scenario', 'REGULAR'],
    ['recurrent_initiator', 'MERCHANT'],
    ['server_callback_url', site.callbackUrl],
  ])
  return async (clientOrderid, card) => {
    const began = performance.now()
    const control = controlOf([site.login, clientOrderid, card, '1042', 'USD'], key)
    const form = `client_orderid=${clientOrderid}&cardrefid=${card}&${same}&control=${control}`
    const reply = await merchant.post(path, form)
    const acceptMs = performance.now() - began
    const ending = await merchant.untilFinal(endpoint, clientOrderid, reply, began)
    return { acceptMs, finalMs: performance.now() - began, ending }
  }
}
