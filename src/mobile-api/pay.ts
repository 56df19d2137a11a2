import type { Clock } from '../base/clock.ts'
import { spellMinor } from '../base/money.ts'
import { uuid, type Random } from '../base/random.ts'
import type { DestinationCard } from '../card/reference.ts'
import { acceptOrder, type Accepting, type NewOrder } from '../order/accept.ts'
import type { MobileFacts, OrderRequest, TransferFacts } from '../order/decide/order.ts'
import { mobileKind } from '../spec/mobile/kinds.ts'
import { totalMinor } from './fees.ts'
import type { Funds } from './funds.ts'
import { declines, type Confirmed, type Decline, type Invoice } from './invoice/invoice.ts'
import type { MerchantEndpoint } from './merchant/endpoint.ts'
import { mappingUrl } from './merchant/wire.ts'
import { storedDigest } from '../keys/digest.ts'

export interface PayParts extends Accepting {
  random: Random
  clock: Clock
}

/**
 * Creates the order of an invoice, whether confirmed or declined, so that its outcome is reported
 * like any order's. Undefined once the order exists.
 */
export async function orderInvoice(
  parts: PayParts,
  at: MerchantEndpoint,
  invoice: Invoice,
  confirmed: Confirmed,
  funds: Funds,
  decline?: Decline,
): Promise<Decline | undefined> {
  const { request, kind, invoiceId, orderId } = invoice
  const { order, debits, description } = mobileKind(kind)
  const { destination, ...source } = funds
  const amountMinor = BigInt(request.amountMinor ?? 0)
  const { callbackUrl } = at.endpoint.settings
  const total = totalMinor(invoice)
  const isMade = await makeOrder(parts, at, invoice, {
    kind: order,
    orderId,
    clientOrderid: invoiceId,
    currency: request.currency,
    amountMinor,
    amountText: debits ? spellMinor(amountMinor, request.currency) : '0',
    ...(destination && { first: { minor: total, text: spellMinor(total, request.currency) } }),
    ...source,
    card: { ...source.card, ...(destination && { destination: destination.pan }) },
    request: {
      ...payerRequest(invoice, confirmed, funds),
      orderDesc: request.description ?? description,
      ...(destination && { transfer: transferFacts(invoice, destination.card) }),
      ...(callbackUrl === undefined ? {} : { endpointCallbackUrl: callbackUrl }),
      mobile: mobileFacts(at, invoice, decline),
    },
  })
  return isMade ? undefined : declines.name
}

function mobileFacts({ endpoint }: MerchantEndpoint, invoice: Invoice, decline?: Decline): MobileFacts {
  const { request, kind, invoiceId, sumStatus } = invoice
  const { merchantServerUrl } = endpoint.settings
  const maps = request.card !== undefined || (mobileKind(kind).credits && request.toClientCardId === undefined)
  return {
    invoiceId,
    ...(request.email === undefined ? {} : { email: request.email }),
    ...(maps && merchantServerUrl !== undefined ? { mappingUrl: mappingUrl(merchantServerUrl, kind) } : {}),
    ...(sumStatus === 'AUTHENTICATED' ? { randomSum: 'named' } : {}),
    ...(decline && { refusal: { code: String(decline.errorCode), message: decline.errorMessage } }),
  }
}

const transferFacts = ({ fee }: Invoice, destination: DestinationCard): TransferFacts => ({
  commissionMinor: fee?.commissionMinor ?? '0',
  ...(fee === undefined ? {} : { gateId: fee.gateId }),
  destination,
})

/**
 * Creates an order under its own number; the caller has checked that it does not exist. False if
 * another order has its name.
 */
export async function makeOrder(
  parts: PayParts,
  { endpoint }: MerchantEndpoint,
  { digest }: Invoice,
  made: NewOrder,
): Promise<boolean> {
  const { random, clock } = parts
  const serialNumber = uuid(random)
  const by = { endpoint, pathId: endpoint.endpointId, serialNumber, at: clock.now(), digest: () => storedDigest(digest) }
  return (await acceptOrder(parts, made, by)).is === 'accepted'
}

/**
 * The payer's data: from the merchant's server, else from the app, else from the registration of
 * the card.
 */
export function payerRequest({ request }: Invoice, confirmed: Confirmed, funds: Funds): OrderRequest {
  const birthday = confirmed.birthDay ?? request.birthDay
  const { siteUrl, purpose } = request
  return {
    ...funds.request,
    ...request.billing,
    ...confirmed.billing,
    orderDesc: '',
    ipAddress: confirmed.ipAddress ?? request.ipAddress,
    email: confirmed.email ?? request.email ?? funds.request.email ?? '',
    ...(birthday === undefined ? {} : { birthday: birthday.replace(/^(..)(..)(....)$/, '$3$2$1') }),
    ...(siteUrl === undefined ? {} : { siteUrl }),
    ...(purpose === undefined ? {} : { purpose }),
  }
}
