import type { Event } from './event.ts'
import type { Order, Transaction } from './order.ts'

/** What the gateway itself has to say before anybody outside is asked: the filters first, so that what they count is every attempt. A card is good through the last day of its month of expiry, in UTC. */
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
