import type { Order } from '../../src/order/decide/order.ts'
import { configuration } from '../model/configuration.ts'
import type { Breaks } from './invariant.ts'

/** Watches that the acquirer gets the CVV2 that a customer gave, also after its key was lost. */
export interface Cvv2Watch {
  /** A customer is about to pay under this name, which is a client_orderid or an invoice. */
  paying(endpointId: bigint, name: string, cvv2: string | undefined): void
  /** An authorisation leaves a gateway with this CVV2. */
  authorised(order: Order, cvv2: string | undefined): void
}

export function watchCvv2s(breaks: Breaks): Cvv2Watch {
  const given = new Map<string, string | undefined>()
  return {
    paying(endpointId, name, cvv2) {
      given.set(`${configuration.endpoint(endpointId)!.merchantId}/${name}`, cvv2)
    },
    authorised({ orderId, merchantId, clientOrderid, request }, cvv2) {
      const came = given.get(`${merchantId}/${request.mobile?.invoiceId ?? clientOrderid}`)
      if (cvv2 === came) return
      const why = `order ${orderId} came with ${came ?? 'no CVV2'} and is authorised with ${cvv2 ?? 'none'}`
      breaks('what came with a CVV2 is not charged without it', why)
    },
  }
}
