import { orderKeyText, type Change } from '../../src/order/decide/change.ts'
import type { EventName } from '../../src/order/decide/event.ts'
import type { Order } from '../../src/order/decide/order.ts'
import type { Checks } from '../watch/invariant.ts'
import type { Installation } from '../world/installation.ts'

/** A committed change, and the store that holds it. */
interface Commit extends Change {
  installation: Installation
}

/** Events that take the lease of a transaction's step. After any other event it has no owner. */
const takesLease: ReadonlySet<EventName> = new Set<EventName>([
  'attempt recorded',
  'answer awaited',
  'taken up',
  'method uploaded',
  'enrolment unknown',
  'authentication demanded',
])

/**
 * The CVV2 is needed while another attempt may follow. After the first attempt the acquirer may
 * demand a challenge once, if there was none before.
 */
function mayNeedCvv2({ attempts, finalAt, transactions: [payment] }: Order): boolean {
  if (finalAt !== undefined || payment!.state === 'unknown') return false
  const { authentication } = payment!
  if (authentication?.round === 2) return attempts.length === 1
  return attempts.length === 0 || (authentication !== undefined && authentication.acsUrl === undefined)
}

/** The rules that each commit must keep on its own. */
export const commitChecks: Checks<Commit> = {
  'a CVV2 is gone when it is not needed': ({ after, installation }) =>
    !mayNeedCvv2(after) &&
    installation.cards.get(orderKeyText(after))?.cvv2Sealed &&
    `order ${after.orderId} is ${after.transactions[0]!.state} and still has its CVV2`,

  'a lease is taken by an event or a claim'({ before, after, rows }) {
    const taken = after.transactions.find(
      ({ no, lease }) =>
        lease !== undefined &&
        lease !== before?.transactions[no - 1]?.lease &&
        !rows.some((r) => r.transactionNo === no && takesLease.has(r.event)),
    )
    return taken && `transaction ${taken.no} of order ${after.orderId} is in the hand of ${taken.lease}`
  },

  'an outcome is sent once to each'({ after, deliveries, installation }) {
    const stored = installation.deliveries.ofOrder(after)
    const alike = deliveries.map((d) => stored.filter((o) => o.url === d.url && o.transactionNo === d.transactionNo))
    const twice = alike.find(({ length }) => length > 1)
    return twice && `order ${after.orderId} has ${twice.length} messages for ${twice[0]!.url}`
  },
}
