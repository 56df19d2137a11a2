import { invoiceKey } from '../../src/mobile-api/invoice/invoice.ts'
import { isRandomSum, type Order } from '../../src/order/decide/order.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import type { Performed } from '../parties/app-requests.ts'
import type { AppReply } from '../parties/apps.ts'
import { notificationFault } from './card-mappings.ts'
import { check, type Breaks } from './invariant.ts'
import { isRefused, whenOrdered, whenSettled, whenWritten, withNonce } from './invoice-checks.ts'
import type { InvoiceRow } from '../model/invoices.ts'
import type { Initiated } from '../parties/merchant-server-messages.ts'
import type { CardNotification, MerchantServers } from '../parties/merchant-servers.ts'
import type { Installation } from '../world/installation.ts'
import type { SumInvariants } from './sum-invariants.ts'
import type { TransferInvariants } from './transfer-invariants.ts'

/**
 * Watches the invoices of the mobile API, from the app's first request to the notification of its
 * merchant's server.
 */
export interface MobileInvariants {
  sums: SumInvariants
  performed(performed: Performed, reply: AppReply): void
  status(invoice: Initiated, reply: AppReply, isOwner: boolean): void
  choosing(invoice: Initiated, assignedId: string): void
  chosen(invoice: Initiated, assignedId: string, reply: AppReply): void
  /** The gateway asks a merchant's server about an invoice, with this session token. */
  checked(invoice: Initiated, token: string): void
  notified(notification: CardNotification): void
  written(after: InvoiceRow, before: InvoiceRow | undefined): void
  committed(order: Order, before: Order | undefined): void
  settled(wall: number): void
}

interface MobileParts {
  installation: Installation
  servers: MerchantServers
  transfers: TransferInvariants
  sums: SumInvariants
  breaks: Breaks
}

export function watchMobile({ installation, servers, transfers, sums, breaks }: MobileParts): MobileInvariants {
  const tokens = new Map<string, string>()
  const orderOf = (row: InvoiceRow): Order | undefined => installation.orders.get(orderKeyText(row.invoice))
  const rowOf = (place: { merchantId: bigint; invoiceId: string }) => installation.invoices.get(place)
  const shown = watchShown(transfers, breaks)

  function sameToken(invoice: Initiated, token: string, where: string) {
    const key = invoiceKey(invoice)
    if ((tokens.get(key) ?? token) !== token)
      breaks('the same request has the same answer', `invoice ${invoice.invoiceId} has two tokens, the second in ${where}`)
    tokens.set(key, token)
  }

  function acknowledged({ invoice, isWrong }: Performed, token: string): void {
    const { invoiceId } = invoice
    if (isWrong === 'altered')
      breaks('nothing is ordered that the merchant did not confirm', `${invoiceId} was altered, and is taken`)
    if (!rowOf(invoice)) breaks('an acknowledged order exists', `invoice ${invoiceId} was acknowledged, and is not there`)
    sameToken(invoice, token, 'an answer')
  }

  /** An invoice may be refused only if another one already used its nonce. */
  function refused({ invoiceId, merchantId, nonce }: Initiated, { error }: AppReply['body']): void {
    const taken = withNonce(installation, merchantId, nonce)[0]
    if (!taken || taken.invoice.invoiceId === invoiceId)
      breaks('the same request has the same answer', `invoice ${invoiceId} was refused: ${error?.message}`)
  }

  return {
    sums,
    performed(performed, { status, body }) {
      if (status === 200) acknowledged(performed, String(body.session?.token))
      if (status === 400 && performed.isWrong !== 'altered') refused(performed.invoice, body)
    },
    choosing: transfers.choosing,
    chosen: transfers.chosen,
    status: shown.status,
    checked: (invoice, token) => sameToken(invoice, token, 'a question'),
    notified(notification) {
      const row = rowOf(notification.invoice)
      const why = notificationFault(installation, notification, row && orderOf(row))
      if (why !== undefined) breaks('a card is sent where it is due', why)
    },
    written(row, before) {
      sums.written(row, before)
      check(whenWritten, { installation, servers, row, order: orderOf(row), before }, breaks)
    },
    committed(order, before) {
      const { invoiceId } = order.request.mobile ?? {}
      if (before || invoiceId === undefined || isRandomSum(order)) return
      const { merchantId, orderId } = order
      const row = rowOf({ merchantId, invoiceId })
      if (row?.invoice.orderId !== orderId)
        breaks('one order an invoice', `order ${orderId} is for invoice ${invoiceId}, which has order ${row?.invoice.orderId}`)
      if (isRefused(order)) return
      sums.ordered(row)
      check(whenOrdered, { installation, servers, row, order, invoiceId }, breaks)
    },
    settled(wall) {
      for (const row of installation.invoices.values()) {
        check(whenSettled, { installation, servers, row, order: orderOf(row), shownAs: shown.as(row.invoice), wall }, breaks)
        sums.settled(row)
      }
    },
  }
}

const finalStates: ReadonlySet<string> = new Set(['APPROVED', 'DECLINED'])

/** Checks the states that apps see: only those of their own invoices, and a final one stays. */
function watchShown(transfers: TransferInvariants, breaks: Breaks) {
  const finals = new Map<string, string>()

  function checkSame(invoice: Initiated, state: string | undefined): void {
    const key = invoiceKey(invoice)
    const before = finals.get(key)
    if (before !== undefined && before !== state)
      breaks('a final status stays', `invoice ${invoice.invoiceId} was shown as ${before}, and is shown as ${state}`)
    if (finalStates.has(state!)) finals.set(key, state!)
  }

  return {
    /** The final state that the app of an invoice has seen. */
    as: (place: { merchantId: bigint; invoiceId: string }) => finals.get(invoiceKey(place)),
    status(invoice: Initiated, reply: AppReply, isOwner: boolean): void {
      const { invoiceId } = invoice
      const { status, body } = reply
      if (status >= 500) return
      if (!isOwner) {
        if (status === 200 || body.error?.cause !== 'ORDER_NOT_FOUND')
          breaks('a stranger learns nothing', `a stranger was shown ${body.state ?? body.error?.cause} of ${invoiceId}`)
      } else if (status !== 200) {
        const what = `invoice ${invoiceId} was acknowledged, and is reported as ${body.error?.message}`
        breaks('an acknowledged order exists', what)
      } else {
        checkSame(invoice, body.state)
        if (body.state === 'TRANSFER_FEE_REQUEST') transfers.listed(invoice, reply)
      }
    },
  }
}
