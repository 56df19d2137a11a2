import type { Endpoint, Merchant, Registry } from '../../merchant/merchant.ts'
import type { Invoice } from '../invoice/invoice.ts'

export interface MerchantEndpoint {
  readonly merchant: Merchant
  readonly endpoint: Endpoint
}

/**
 * Merchant and endpoint of an invoice, even if they are switched off: an accepted invoice is
 * brought to its end.
 */
export function merchantEndpointOf(registry: Registry, { merchantId, endpointId }: Invoice): MerchantEndpoint {
  const merchant = registry.merchant(merchantId)
  const endpoint = registry.endpoint(endpointId)
  if (!merchant || !endpoint) throw new Error(`endpoint ${endpointId} is not in the configuration`)
  return { merchant, endpoint }
}
