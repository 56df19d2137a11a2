import type { LegacyAuthentication } from '../order/authentication/legacy.ts'
import { authenticationView } from '../order/authentication/view.ts'
import type { Reader } from '../order/read.ts'
import { head, statusOf, type Order } from '../order/decide/order.ts'
import { mobileKind } from '../spec/mobile/kinds.ts'
import type { HostedUrls } from '../three-d-secure/forms.ts'
import { centisOfMinor } from './sum/centis.ts'
import type { Fee, Invoice } from './invoice/invoice.ts'
import { invoiceAnswer } from './perform.ts'
import { unknown, type MobileRefusal } from './refusal.ts'
import type { WithInvoice } from './stages.ts'

export interface Showing {
  orders: Pick<Reader, 'shown'>
  /** The gateway's own pages of an authentication. */
  pages: (token: string) => HostedUrls
  legacy: Pick<LegacyAuthentication, 'form'>
  /** The page on which the cardholder enters a random sum. */
  sumPage: (pageToken: string) => string
}

/** Shows an app where its transaction stands. */
export async function statusOfMobile({ invoice }: Pick<WithInvoice, 'invoice'>, parts: Showing): Promise<object | MobileRefusal> {
  const { merchantId, orderId, state } = invoice
  const shown = state === 'ordered' ? await parts.orders.shown({ merchantId, orderId }) : undefined
  // The order was made, so its partition was detached since.
  if (state === 'ordered' && !shown) return unknown
  return { ...invoiceAnswer(invoice), ...stateOf(parts, invoice, shown?.order) }
}

function stateOf(parts: Showing, invoice: Invoice, order: Order | undefined): object {
  const { state, errorCode, errorMessage, sumStatus, hold, fees = [] } = invoice
  const sum = sumStatus === undefined ? {} : { randomSumAuthStatus: sumStatus }
  if (state === 'declined' || state === 'releasing')
    return { state: 'DECLINED', errorCode, errorMessage, ...sum, ...finalFacts(invoice, undefined) }
  if (state === 'choosing') return { state: 'TRANSFER_FEE_REQUEST', transferFeeList: fees.map(feeItem(invoice)) }
  if (state === 'answering' && hold) return { state: 'REDIRECT_REQUEST', redirectUrl: parts.sumPage(hold.pageToken) }
  if (!order) return { state: 'PROCESSING', ...sum }
  return { ...stateOfOrder(parts, invoice, order), ...sum }
}

function stateOfOrder(parts: Showing, invoice: Invoice, order: Order): object {
  const status = statusOf(order)
  if (status === 'processing' || status === 'unknown') {
    const asks = authenticationView(order, head(order), parts.pages, parts.legacy)
    const redirectUrl = asks?.['redirect-to']
    return redirectUrl === undefined ? { state: 'PROCESSING' } : { state: 'REDIRECT_REQUEST', redirectUrl }
  }
  const { verified, errorCode, errorMessage } = head(order).result
  const authentication = verified === undefined || verified === 'UNKNOWN' ? {} : { secure3DAuthStatus: verified }
  if (status === 'approved') return { state: 'APPROVED', ...authentication, ...finalFacts(invoice, order) }
  return {
    state: 'DECLINED',
    ...(errorCode === undefined ? {} : { errorCode: Number(errorCode) }),
    ...(errorMessage === undefined ? {} : { errorMessage: errorMessage.slice(0, 128) }),
    ...authentication,
    ...finalFacts(invoice, order),
  }
}

const feeItem =
  ({ request: { currency } }: Invoice) =>
  ({ assignedId, commissionMinor }: Fee) => ({
    assignedId,
    commissionCentis: centisOfMinor(BigInt(commissionMinor), currency),
    currency,
  })

/** The members of every final answer: apps read them without checking that they exist. */
function finalFacts({ kind, orderId, request, fee, createdAt }: Invoice, order: Order | undefined): object {
  const bankOrderId = (order && head(order).result.processor?.processorTxId) ?? String(orderId)
  if (!mobileKind(kind).debits) return { bankOrderId }
  const commission = BigInt(order?.request.transfer?.commissionMinor ?? fee?.commissionMinor ?? 0)
  return {
    bankOrderId,
    orderId: String(orderId),
    transaction: {
      amountCentis: request.amountCentis,
      commissionCentis: centisOfMinor(commission, request.currency),
      currency: request.currency,
      orderCreatedDate: dateText(order?.createdAt ?? createdAt),
      transactionCreatedDate: dateText(order ? head(order).createdAt : createdAt),
    },
  }
}

/** `yyyy-MM-dd HH:mm:ss.SSSZ`, in UTC. */
const dateText = (at: number): string => `${new Date(at).toISOString().slice(0, 23).replace('T', ' ')}+0000`
