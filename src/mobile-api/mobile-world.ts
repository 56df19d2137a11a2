import type { World } from '../gateway-api/asked.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Outgoing } from '../http/outgoing.ts'
import type { Endpoint } from '../merchant/merchant.ts'
import type { InvoiceStore } from './store-invoices.ts'

/** What the mobile API works with: what the gateway API does, and the way to merchants' servers. */
export interface MobileWorld extends World {
  outgoing: Outgoing
  invoices: InvoiceStore
  /** Whether this process may send. */
  holding: () => boolean
  policyOf: (endpoint: Endpoint) => TargetPolicy
}
