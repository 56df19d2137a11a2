import { statusOf, type Order } from '../../src/order/decide/order.ts'
import { finalStatuses } from '../../src/spec/words.ts'
import { mappingFault } from './card-mappings.ts'
import type { Checks } from './invariant.ts'
import type { InvoiceRow } from '../model/invoices.ts'
import type { Initiated } from '../parties/merchant-server-messages.ts'
import type { MerchantServers } from '../parties/merchant-servers.ts'
import type { Installation } from '../world/installation.ts'

/** An invoice of the mobile API and its order, as the gateway and the merchant's server see it. */
interface InvoiceView {
  installation: Installation
  servers: MerchantServers
  row: InvoiceRow | undefined
  order: Order | undefined
}
interface Written extends InvoiceView {
  row: InvoiceRow
  before: InvoiceRow | undefined
}
interface Ordered extends InvoiceView {
  order: Order
  invoiceId: string
}
interface Settled extends InvoiceView {
  row: InvoiceRow
  /** The final state that a status reply showed to its app. */
  shownAs: string | undefined
  wall: number
}

const isEnded = ({ invoice }: InvoiceRow) => invoice.state === 'ordered' || invoice.state === 'declined'

/** An order that only exists so that a refusal can be reported: nothing was sent to an acquirer. */
export const isRefused = (order: Order): boolean =>
  order.request.mobile?.refusal !== undefined && statusOf(order) === 'declined' && order.attempts.length === 0

/** Invoices of this merchant that were made with this nonce. */
export const withNonce = (installation: Installation, merchantId: bigint, nonce: string): InvoiceRow[] =>
  installation.invoices.values().filter(({ invoice }) => invoice.nonce === nonce && invoice.merchantId === merchantId)

/** How the order differs from what the merchant initiated and its server confirmed. */
function differenceFrom(initiated: Initiated, { installation, servers, row, order }: Ordered): string | undefined {
  const { invoiceId, endpointId, amountCentis = 0, clientCardId, toClientCardId } = initiated
  const { merchantId } = order
  const confirmed = servers.confirmed.get(invoiceId)
  if (!confirmed) return 'its merchant did not confirm it'
  if (confirmed.token !== row?.invoice.sessionToken) return 'what its merchant confirmed has another token'
  if (order.endpointId !== endpointId || order.amountMinor !== BigInt(amountCentis)) return `it is for ${order.amountMinor}`
  if ((clientCardId === undefined) === (order.request.recurrent !== undefined)) return 'it pays with another kind of card'
  if (clientCardId !== undefined && !installation.references.find(merchantId, BigInt(confirmed.source ?? 0)))
    return 'it pays with a card that is not of this merchant'
  if (toClientCardId !== undefined && !installation.references.findDestination(merchantId, BigInt(confirmed.destination ?? 0)))
    return 'it credits a card that is not of this merchant'
  return undefined
}

export const whenWritten: Checks<Written> = {
  'an invoice ends once': ({ row: { invoice }, before, order }) =>
    (before && isEnded(before) && `${invoice.invoiceId} was ${before.invoice.state} and is written again as ${invoice.state}`) ||
    (invoice.state === 'ordered' && !order && `invoice ${invoice.invoiceId} is ordered, and there is no order for it`),

  'a nonce makes one invoice'({ installation, row: { invoice }, before }) {
    const made = before ? 1 : withNonce(installation, invoice.merchantId, invoice.nonce).length
    return made > 1 && `the nonce of ${invoice.invoiceId} made ${made} invoices`
  },

  'a CVV2 is gone when it is not needed': ({ row }) =>
    isEnded(row) && row.secrets.cvv2 && `invoice ${row.invoice.invoiceId} is ${row.invoice.state} and still has its CVV2`,

  'what is declined is not charged': ({ row: { invoice }, order }) =>
    invoice.state === 'declined' &&
    order &&
    !isRefused(order) &&
    `invoice ${invoice.invoiceId} is declined, and there is an order for it`,
}

/** The rules for an order that is made for an invoice. */
export const whenOrdered: Checks<Ordered> = {
  'what is declined is not charged': ({ row, order, invoiceId }) =>
    row?.invoice.state === 'declined' && `order ${order.orderId} is for invoice ${invoiceId}, which is declined`,

  'nothing is ordered that the merchant did not confirm'(view) {
    const { servers, order, invoiceId } = view
    const initiated = servers.initiated.get(invoiceId)
    const fault = initiated ? differenceFrom(initiated, view) : 'no server initiated it'
    return fault && `order ${order.orderId} is for invoice ${invoiceId}: ${fault}`
  },
}

/** The rules at the end of a world. */
export const whenSettled: Checks<Settled> = {
  'every order ends'({ row, row: { invoice, alarm } }) {
    const failed = `after ${invoice.tries} failures${alarm === undefined ? '' : ', and parked'}`
    return !isEnded(row) && `invoice ${invoice.invoiceId} is ${invoice.state} ${failed}`
  },

  'nothing is leased forever': ({ installation, row: { invoice, lease } }) =>
    lease !== undefined &&
    installation.isDead(lease, invoice.merchantId) &&
    `invoice ${invoice.invoiceId} is in the hand of ${lease}`,

  'a final status stays'({ row: { invoice }, order, shownAs }) {
    const status = order && statusOf(order)
    const isOtherwise = shownAs !== undefined && (shownAs === 'APPROVED') !== (status === 'approved')
    return isOtherwise && `invoice ${invoice.invoiceId} was reported as ${shownAs}; its order is ${status}`
  },

  'a card is sent where it is due': ({ installation, servers, row, order, wall }) =>
    order && finalStatuses.has(statusOf(order)) && mappingFault({ installation, servers, wall }, row.invoice.invoiceId, order),
}
