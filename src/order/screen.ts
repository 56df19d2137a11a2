import type { Event } from './event.ts'
import type { Order, Transaction } from './order.ts'

/** What the gateway itself has to say before anybody outside is asked. A card is good through the last day of its month of expiry, in UTC. */
export function screen(order: Order, transaction: Transaction, now: number): Event {
  const { expiryYear, expiryMonth } = order.card
  const expired = now >= Date.UTC(expiryYear, expiryMonth, 1)
  return { is: expired ? 'card expired' : 'screened clean', transactionNo: transaction.no }
}
