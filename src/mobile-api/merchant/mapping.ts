import { CardForgotten } from '../../card/vault.ts'
import type { Delivery } from '../../delivery/delivery.ts'
import type { MessageKind, Rendered } from '../../delivery/try.ts'
import type { Endpoint, Registry } from '../../merchant/merchant.ts'
import type { TargetPolicy } from '../../http/address.ts'
import { firstPaymentOf, type Cards } from '../../order/cards.ts'
import type { Clock } from '../../base/clock.ts'
import type { Order } from '../../order/decide/order.ts'
import { mobileKind } from '../../spec/mobile/kinds.ts'
import { judgeMapping, mappingBody, type MappedCard } from './wire.ts'
import { merchantEndpointOf } from './endpoint.ts'
import type { Invoices } from '../invoice/invoices.ts'

interface Mapping extends Pick<Cards, 'registerCard' | 'registerDestination'> {
  registry: () => Registry
  invoices: Pick<Invoices, 'find'>
  clock: Clock
  policyOf: (endpoint: Endpoint) => TargetPolicy
}

/**
 * The card mapping notification: registers the cards of an approved transaction and sends their
 * references to the merchant's server. Fifteen tries take less than a day.
 */
export function cardMapping(
  w: Mapping,
  orderOf: (delivery: Delivery) => Promise<Order | undefined>,
): MessageKind & { renderFor(delivery: Delivery, order: Order): Promise<Rendered | undefined> } {
  async function renderFor(delivery: Delivery, order: Order): Promise<Rendered | undefined> {
    const { invoiceId } = order.request.mobile ?? {}
    const found = invoiceId === undefined ? undefined : await w.invoices.find(delivery.merchantId, invoiceId)
    if (!found) return undefined
    const { invoice, secrets } = found
    const { merchant, endpoint } = merchantEndpointOf(w.registry(), invoice)
    const source = invoice.request.card && (await sourceOf(w, order))
    const creditsNew = mobileKind(invoice.kind).credits && invoice.request.toClientCardId === undefined
    const destination = creditsNew && (await destinationOf(w, order))
    const body = mappingBody(invoice, secrets, { ...(source && { source }), ...(destination && { destination }) })
    return {
      method: 'POST',
      url: delivery.url,
      headers: { 'content-type': 'application/json; charset=utf-8', accept: 'application/json' },
      body,
      policy: w.policyOf(endpoint),
      judge: (reply) => judgeMapping(invoice, reply, merchant.controlKeys),
    }
  }
  return {
    maxTries: 15,
    judge: () => 'again',
    async render(delivery) {
      const order = await orderOf(delivery)
      return order && renderFor(delivery, order)
    },
    renderFor,
  }
}

const binFact = ({ bin }: { bin: string }) => (bin === '' ? {} : { bin: Number(bin) })

async function sourceOf(parts: Mapping, order: Order): Promise<MappedCard> {
  const { merchantId, orderId, card } = order
  const orderKey = { merchantId, orderId }
  const reference = await parts.registerCard({ orderKey, card, first: firstPaymentOf(order), at: parts.clock.now() })
  if (!reference) throw new CardForgotten(orderKey)
  const { ids, uniqueReference } = reference
  return { serverCardId: String(ids.cardRefId), uniqueReferenceCardId: uniqueReference, ...binFact(card) }
}

/** The id of a card that only received money can be used as a destination, never to pay. */
async function destinationOf(parts: Mapping, order: Order): Promise<MappedCard> {
  const { merchantId, orderId, request } = order
  const card = request.transfer?.destination
  if (!card) throw new Error(`order ${orderId} credits no card`)
  const made = { orderKey: { merchantId, orderId }, card, at: parts.clock.now() }
  const { dstCardRefId, uniqueReference } = await parts.registerDestination(made)
  return { serverCardId: String(dstCardRefId), uniqueReferenceCardId: uniqueReference, ...binFact(card) }
}
