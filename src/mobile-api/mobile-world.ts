import type { World } from '../gateway-api/asked.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Outgoing } from '../http/outgoing.ts'
import type { Endpoint } from '../merchant/merchant.ts'
import type { AuthenticationPlanner } from '../order/authentication/plan.ts'
import type { Judge } from '../storage/store-silence.ts'
import type { Invoice, InvoiceSecrets } from './invoice.ts'
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
  judge: Judge
  policyOf: (endpoint: Endpoint) => TargetPolicy
}

/** The loop of invoices. */
export interface InvoiceWork {
  /** In a state that asks for a step, written down by this process, under its lease. */
  begin(invoice: Invoice, secrets: InvoiceSecrets): void
  /** Invoices of a merchant whose server is being asked. */
  waitingOf(merchantId: bigint): number
  /** How many this process has parked for an operator. */
  parked(): number
  sweep(): void
  stop(withinMs: number): Promise<void>
}
