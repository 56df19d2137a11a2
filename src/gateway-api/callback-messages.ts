import type { Delivery } from '../delivery/delivery.ts'
import type { MessageKind, Rendered } from '../delivery/try.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Endpoint, Registry } from '../merchant/merchant.ts'
import type { Order } from '../order/decide/order.ts'
import { callbackForm, renderCallback } from './callback.ts'

interface CallbackParts {
  registry: () => Registry
  orderOf: (delivery: Delivery) => Promise<Order | undefined>
  /** Where messages about orders of an endpoint may go. */
  policyOf: (endpoint: Endpoint | undefined) => TargetPolicy
}

export interface CallbackMessages extends MessageKind {
  /** The same for an order that is already loaded. */
  renderFor: (delivery: Delivery, order: Order) => Rendered | undefined
}

/**
 * Callbacks as messages that must arrive: written from the current order, delivered once the
 * merchant answers 200.
 */
export function callbackMessages({ registry, orderOf, policyOf }: CallbackParts): CallbackMessages {
  function renderFor(delivery: Delivery, order: Order): Rendered | undefined {
    const transaction = order.transactions.find((t) => t.no === delivery.transactionNo)
    const merchant = registry().merchant(order.merchantId)
    if (!merchant) throw new Error(`merchant ${order.merchantId} is not in the configuration`)
    const endpoint = registry().endpoint(order.endpointId)
    return transaction && renderCallback(delivery.url, callbackForm(order, transaction, merchant, endpoint), policyOf(endpoint))
  }
  return {
    renderFor,
    async render(delivery) {
      const order = await orderOf(delivery)
      return order && renderFor(delivery, order)
    },
    judge: (reply) => (reply.is === 'answered' && reply.status === 200 ? 'received' : 'again'),
  }
}
