import { statusOf, type Order } from '../../src/order/decide/order.ts'
import type { Fault } from './invariant.ts'
import type { Initiated } from '../parties/merchant-server-messages.ts'
import type { CardNotification, MerchantServers } from '../parties/merchant-servers.ts'
import type { Installation } from '../world/installation.ts'

/** How long a due notification may wait; the same limit as for callbacks. */
const slackMs = 150_000
const maxTries = 15

/** A merchant's server is notified of a card unless it named the card itself. */
const cardsDueOf = ({ kind, clientCardId, toClientCardId }: Initiated) => ({
  source: clientCardId === undefined,
  destination: kind === 'transfer' && toClientCardId === undefined,
})

/** The fault of a notification that reached a merchant's server. */
export function notificationFault(
  installation: Installation,
  { invoice, source, destination }: CardNotification,
  order: Order | undefined,
): string | undefined {
  const { invoiceId, merchantId } = invoice
  if (!order || statusOf(order) !== 'approved') return `a card of ${invoiceId} was reported, which is ${order && statusOf(order)}`
  const due = cardsDueOf(invoice)
  const paid = due.source ? String(installation.references.ofOrder(merchantId, order.orderId)?.ids.cardRefId) : undefined
  const credited = due.destination
    ? String(installation.references.ofDestination(merchantId, order.orderId)?.ids.dstCardRefId)
    : undefined
  if (paid === source && credited === destination) return undefined
  return `${invoiceId} was reported with ${source} and ${destination}, not ${[paid, credited].join(' and ')}`
}

/** The fault, at the end of a world, of the notification about an invoice's cards. */
export function mappingFault(
  { installation, servers, wall }: { installation: Installation; servers: MerchantServers; wall: number },
  invoiceId: string,
  order: Order,
): Fault {
  const { source, destination } = cardsDueOf(servers.initiated.get(invoiceId)!)
  const isDue = statusOf(order) === 'approved' && (source || destination)
  const mappings = installation.deliveries.ofOrder(order).filter((r) => r.kind === 'card mapping')
  const heard = new Set(servers.notifications.filter((n) => n.invoice.invoiceId === invoiceId).map((n) => n.answer))
  const about = `the card of ${invoiceId}`
  if (mappings.length !== (isDue ? 1 : 0)) return `${about} has ${mappings.length} messages; it is ${isDue ? '' : 'not '}due`
  const { state, tries, dueAt } = mappings[0] ?? {}
  if (state === 'delivered' && !heard.has('accepted')) return `${about} is delivered, and no server accepted it`
  if (state === 'given up' && !heard.has('refused') && tries! < maxTries) return `${about} was given up after ${tries} tries`
  return state === 'due' && dueAt! < wall - slackMs && `${about} is due since ${wall - dueAt!} ms`
}
