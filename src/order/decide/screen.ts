import type { Event } from './event.ts'
import type { Order, Transaction } from './order.ts'

/**
 * What the gateway decides itself before it contacts anybody outside. The filters come first, so
 * that they count every attempt. A card is valid through the last day of its month of expiry, in
 * UTC.
 */
export function screen(order: Order, transaction: Transaction, now: number): Event {
  const { screening } = order
  if (screening?.refusal) {
    const { score, fired, refusal } = screening
    return { is: 'filtered', transactionNo: transaction.no, ...refusal, score, rules: fired.map(({ filterNo }) => filterNo) }
  }
  const { expiryYear, expiryMonth } = order.card
  const expired = now >= Date.UTC(expiryYear, expiryMonth, 1)
  return { is: expired ? 'card expired' : 'screened clean', transactionNo: transaction.no }
}
