import { authenticationView } from '../order/authentication/view.ts'
import { head, statusOf, type Order } from '../order/order.ts'
import { centisOfMinor } from './centis.ts'
import type { Fee, Invoice } from './invoice.ts'
import { locateInvoice } from './locate.ts'
import type { MobileWorld } from './mobile-world.ts'
import type { MobileAsked } from './perform.ts'
import { refuseMobile, type MobileRefusal } from './refusal.ts'

/** Where a transaction of the app stands. What is not there, and what belongs to somebody else, are told alike. */
export async function statusOfMobile(world: MobileWorld, asked: MobileAsked): Promise<object | MobileRefusal> {
  const found = await locateInvoice(world, asked)
  if (typeof found === 'string') return refuseMobile('INVALID_REQUEST', found)
  if (!found) return refuseMobile('ORDER_NOT_FOUND', 'invoiceId is not known')
  const { invoice } = found
  const { merchantId, orderId } = invoice
  const shown = invoice.state === 'ordered' ? await world.orders.shown({ merchantId, orderId }) : undefined
  return { invoiceId: invoice.invoiceId, session: { token: invoice.sessionToken }, ...stateOf(world, invoice, shown?.order) }
}

function stateOf(world: MobileWorld, invoice: Invoice, order: Order | undefined): object {
  const { state, errorCode, errorMessage, sumStatus, hold } = invoice
  const sum = sumStatus === undefined ? {} : { randomSumAuthStatus: sumStatus }
  if (state === 'declined' || state === 'releasing')
    return { state: 'DECLINED', errorCode, errorMessage, ...sum, ...finalFacts(invoice, undefined) }
  if (state === 'choosing') return { state: 'TRANSFER_FEE_REQUEST', transferFeeList: invoice.fees!.map(feeItem(invoice)) }
  if (state === 'answering') return { state: 'REDIRECT_REQUEST', redirectUrl: world.sumPage(hold!.pageToken) }
  if (!order) return { state: 'PROCESSING', ...sum }
  return { ...stateOfOrder(world, invoice, order), ...sum }
}

function stateOfOrder(world: MobileWorld, invoice: Invoice, order: Order): object {
  const status = statusOf(order)
  if (status === 'processing' || status === 'unknown') {
    const asks = authenticationView(order, head(order), world.pages, () => world.pareqParts(order))
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

/** What a final answer always has: apps read it unguarded. */
function finalFacts({ kind, orderId, request, fee, createdAt }: Invoice, order: Order | undefined): object {
  const bankOrderId = (order && head(order).result.processor?.processorTxId) ?? String(orderId)
  if (kind === 'verification') return { bankOrderId }
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
