import type { Delivery } from '../delivery/delivery.ts'
import type { Kind, Rendered } from '../delivery/send.ts'
import { firstPaymentOf } from '../gateway-api/card-references.ts'
import type { Order } from '../order/order.ts'
import { judgeMapping, mappingBody, type ToldCard } from './merchant-wire.ts'
import type { MobileWorld } from './mobile-world.ts'
import { placeOfInvoice } from './place.ts'

/** The card mapping notification: registers the cards of an approved transaction and tells the merchant's server. Fifteen tries take less than a day. */
type MappingWorld = Pick<MobileWorld, 'registry' | 'invoices' | 'clock' | 'policyOf' | 'registerCard' | 'registerDestination'>

export const cardMapping = (w: MappingWorld, orderOf: (delivery: Delivery) => Promise<Order | undefined>): Kind => ({
  maxTries: 15,
  judge: () => 'again',
  async render(delivery): Promise<Rendered | undefined> {
    const order = await orderOf(delivery)
    const { invoiceId } = order?.request.mobile ?? {}
    const found = invoiceId === undefined ? undefined : await w.invoices.find(delivery.merchantId, invoiceId)
    if (!order || !found) return undefined
    const { invoice, secrets } = found
    const { merchant, endpoint } = placeOfInvoice(w.registry(), invoice)
    const source = invoice.request.card && (await sourceOf(w, order))
    const destination = secrets.toPan && (await destinationOf(w, order))
    const body = mappingBody(invoice, secrets, { ...(source && { source }), ...(destination && { destination }) })
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

const binFact = ({ bin }: { bin: string }) => (bin === '' ? {} : { bin: Number(bin) })

async function sourceOf(world: MappingWorld, order: Order): Promise<ToldCard> {
  const { merchantId, orderId, card } = order
  const place = { merchantId, orderId }
  const { ids, uniqueReference } = await world.registerCard({ place, card, first: firstPaymentOf(order), at: world.clock.now() })
  return { serverCardId: String(ids.cardRefId), uniqueReferenceCardId: uniqueReference, ...binFact(card) }
}

/** Nobody pays with somebody else's card because money was once sent to it: its id is one that serves as a destination alone. */
async function destinationOf(world: MappingWorld, order: Order): Promise<ToldCard> {
  const { merchantId, orderId, request } = order
  const card = request.transfer!.destination
  const made = { place: { merchantId, orderId }, card, at: world.clock.now() }
  const { dstCardRefId, uniqueReference } = await world.registerDestination(made)
  return { serverCardId: String(dstCardRefId), uniqueReferenceCardId: uniqueReference, ...binFact(card) }
}
