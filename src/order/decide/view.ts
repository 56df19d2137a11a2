import countries from 'i18n-iso-countries/index.js'
import type { StatusReply } from '../../spec/gateway/status.ts'
import { finalStatuses, kindWords, type Status } from '../../spec/words.ts'
import { head, statusOfState, type Order, type Transaction } from './order.ts'

/** States whose stage has a different name. */
export const stages = {
  new: 'filtering',
  filtering: 'filtering',
  'awaiting method': '3d_validating',
  authenticating: '3d_validating',
  'awaiting challenge': '3d_validating',
  enrolling: 'filtering',
  'awaiting pares': '3d_validating',
  ready: 'processing',
  authorising: 'processing',
  crediting: 'processing',
  returning: 'processing',
  owed: 'processing',
  reversing: 'processing',
} as const

/** Stage of a transaction: the prefix of its kind and its state. */
function stageOf(transaction: Transaction): string {
  const { state } = transaction
  return kindWords[transaction.kind].stagePrefix + (state in stages ? stages[state as keyof typeof stages] : state)
}

/** `YYYY-MM-DD HH:MM:SS UTC`. */
const wireTime = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`

const fullName = (order: Order): string | undefined =>
  [order.request.firstName, order.request.lastName].filter((part) => part !== undefined).join(' ') || undefined

/**
 * The amount as it was sent. With a list of amounts: the approved one, or before approval the
 * amount of the request.
 */
export const amountOfPayment = (order: Order): string =>
  order.request.recurrent?.amounts && head(order).state === 'approved' ? head(order).amountText : order.amountText

/** The fields of the request, and what there is to do for the cardholder, come from elsewhere. */
type OrderView = Required<
  Omit<StatusReply, 'type' | 'serial-number' | 'by-request-sn' | 'html' | 'redirect-to' | `tds-${string}`>
>

/**
 * Everything that a status reply can show of a transaction, by wire name. Fields without a value
 * are left out of the reply.
 */
export function statusView(order: Order, transaction: Transaction): OrderView {
  const status = statusOfState(transaction.state)
  const { result } = transaction
  // A follow-up shows how its payment was authenticated.
  const paying = transaction.parentNo === undefined ? transaction : head(order)
  const { verified, eci } = paying.result
  const { processor = {} } = result
  const { request, card } = order
  return {
    'merchant-order-id': order.clientOrderid,
    'gateway-order-id': String(order.orderId),
    'end-point-id': String(order.endpointId),
    status,
    'order-stage': stageOf(transaction),
    'transaction-type': kindWords[transaction.kind].transactionType,
    amount: amountOfPayment(order),
    'initial-amount': order.amountText,
    currency: order.currency,
    'first-name': request.firstName,
    'last-name': request.lastName,
    name: fullName(order),
    'cardholder-name': card.printedName,
    email: request.email || undefined,
    phone: request.phone,
    country: request.country,
    state: request.state,
    city: request.city,
    zip_code: request.zipCode,
    address1: request.address1,
    bin: card.bin,
    'last-four-digits': card.lastFour,
    'card-type': card.network ?? 'UNKNOWN',
    'card-exp-month': String(card.expiryMonth || ''),
    'card-exp-year': String(card.expiryYear || ''),
    'card-hash-id': card.hashId,
    'bank-name': processor.issuerName ?? card.bank,
    'card-country-alpha-three-code': alphaThree(processor.issuerCountry ?? card.country),
    'destination-card-country-alpha-three-code': alphaThree(request.transfer?.destination.country),
    'gate-partial-reversal': enabled(result.partialReversal),
    'gate-partial-capture': enabled(result.partialCapture),
    'processor-tx-id': processor.processorTxId,
    'processor-rrn': processor.rrn,
    'approval-code': processor.approvalCode,
    'terminal-id': processor.terminalId,
    'receipt-id': result.receiptId,
    'gateway-processing-date': wireTime(result.processedAt),
    'transaction-date': wireTime(transaction.finalAt),
    // Like the gate's descriptor, this one is shown once the acquirer has answered.
    descriptor: result.descriptor && (request.descriptor ?? result.descriptor),
    'original-gate-descriptor': result.descriptor,
    'error-code': reasoned(status) ? result.errorCode : undefined,
    'error-message': reasoned(status) ? result.errorMessage : undefined,
    'motivational-message': processor.motivationalMessage,
    'ips-src-payment-product-code': processor.productCode,
    'ips-src-payment-product-name': processor.productName,
    'ips-src-payment-type-code': processor.typeCode,
    'ips-src-payment-type-name': processor.typeName,
    merchantdata: request.merchantData,
    'loyalty-balance': processor.loyaltyBalance,
    'loyalty-message': processor.loyaltyMessage,
    'loyalty-bonus': processor.loyaltyBonus,
    'loyalty-program': processor.loyaltyProgram,
    'verified-3d-status': finalStatuses.has(status) ? (verified ?? 'UNKNOWN') : undefined,
    eci,
    'cardholder-info': paying.authentication?.cardholderInfo,
    'seller-commission': result.sellerCommission,
    'acquirer-commission': result.acquirerCommission,
  }
}

const reasoned = (status: Status) => status === 'declined' || status === 'error' || status === 'filtered'

const enabled = (on: boolean | undefined) => (on === undefined ? undefined : on ? 'enabled' : 'disabled')

const alphaThree = (code: string | undefined) => (code?.length === 2 ? countries.alpha2ToAlpha3(code) : code)
