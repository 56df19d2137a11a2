import type { Delivery } from '../delivery/delivery.ts'
import type { Kind, Rendered } from '../delivery/send.ts'
import { firstPaymentOf } from '../gateway-api/card-references.ts'
import type { Order } from '../order/order.ts'
import { judgeMapping, mappingBody } from './merchant-wire.ts'
import type { MobileWorld } from './mobile-world.ts'
import { placeOfInvoice } from './place.ts'

/** The card mapping notification: registers the card of an approved transaction and tells the merchant's server. Fifteen tries take less than a day. */
export const cardMapping = (world: () => MobileWorld, orderOf: (delivery: Delivery) => Promise<Order | undefined>): Kind => ({
  maxTries: 15,
  judge: () => 'again',
  async render(delivery): Promise<Rendered | undefined> {
    const w = world()
    const order = await orderOf(delivery)
    const { invoiceId } = order?.request.mobile ?? {}
    const found = invoiceId === undefined ? undefined : await w.invoices.find(delivery.merchantId, invoiceId)
    if (!order || !found) return undefined
    const { invoice, secrets } = found
    const { merchant, endpoint } = placeOfInvoice(w.registry(), invoice)
    const { merchantId, orderId, card } = order
    const reference = await w.registerCard({
      place: { merchantId, orderId },
      card,
      first: firstPaymentOf(order),
      at: w.clock.now(),
    })
    const body = mappingBody(invoice, secrets, {
      serverCardId: String(reference.ids.cardRefId),
      uniqueReferenceCardId: reference.uniqueReference,
      bin: Number(card.bin),
    })
    return {
      method: 'POST',
      url: delivery.url,
      headers: { 'content-type': 'application/json; charset=utf-8', accept: 'application/json' },
      body,
      policy: w.policyOf(endpoint),
      judge: (reply) => judgeMapping(invoice, reply, merchant.controlKeys),
    }
  },
})
