/**
 * 3-D Secure 1.0.2 as the rest of the gateway knows it. What does it lies in `legacy/`, here and in
 * `three-d-secure`.
 */
import type { Authentication } from '../../three-d-secure/authentication.ts'
import type { Event } from '../decide/event.ts'
import type { Order, Transaction } from '../decide/order.ts'
import type { Held } from '../door/hand.ts'

export interface LegacyAuthentication {
  /**
   * Step `enrol`: asks whether the card's issuer takes part in 1.0.2. If so, the browser carries
   * the PAReq to the issuer.
   */
  enrol(held: Held, transaction: Transaction): Promise<Event>
  /** The form fields that the browser carries to the issuer: the same on every call. */
  form(order: Order, transaction: Transaction): { pareq: string; md: string }
  /** Why a form field `PaRes` cannot be read; undefined if it can. It may still prove nothing. */
  unreadable(paRes: string): Promise<string | undefined>
  /**
   * Checks what an issuer sent back through the browser against the request. `refused` gives the
   * reason why it proves nothing.
   */
  judge(
    order: Order,
    transaction: Transaction & { authentication: Authentication },
    answer: { paRes: string; md: string },
  ): Promise<{ event: Event; refused?: string }>
}
