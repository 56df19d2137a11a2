import type { World } from '../gateway-api/asked.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Outgoing } from '../http/outgoing.ts'
import type { Endpoint } from '../merchant/merchant.ts'
import type { AuthenticationPlanner } from '../order/authenticate.ts'
import type { InvoiceStore } from './store-invoices.ts'
import type { WrongSums } from './store-sums.ts'

/** What the mobile API works with: what the gateway API does, and the way to merchants' servers. */
export interface MobileWorld extends World {
  outgoing: Outgoing
  invoices: InvoiceStore
  wrongSums: WrongSums
  /** What 3-D Secure would say of a card. */
  planner: AuthenticationPlanner
  /** Where the cardholder names a random sum. */
  sumPage: (pageToken: string) => string
  /** Whether this process may send. */
  holding: () => boolean
  policyOf: (endpoint: Endpoint) => TargetPolicy
}
