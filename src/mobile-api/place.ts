import type { Registry } from '../merchant/merchant.ts'
import type { Invoice } from './invoice.ts'
import type { Place } from './perform.ts'

/** Merchant and endpoint of an invoice, switched off or not: what was taken is carried to its end. */
export function placeOfInvoice(registry: Registry, { merchantId, endpointId }: Invoice): Place {
  const merchant = registry.merchant(merchantId)
  const endpoint = registry.endpoint(endpointId)
  if (!merchant || !endpoint) throw new Error(`endpoint ${endpointId} is not in the configuration`)
  return { merchant, endpoint }
}
