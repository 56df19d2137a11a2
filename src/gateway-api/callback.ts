import type { Rendered } from '../delivery/try.ts'
import type { TargetPolicy } from '../http/address.ts'
import { callbackControl } from '../merchant/control.ts'
import type { Endpoint, Merchant } from '../merchant/merchant.ts'
import type { Order, Transaction } from '../order/decide/order.ts'
import { statusOfState } from '../order/decide/order.ts'
import { amountOfPayment, statusView } from '../order/decide/view.ts'
import { formWriter } from '../spec/form.ts'
import { callbackParams, type CallbackParam } from '../spec/gateway/callback.ts'
import { kindWords } from '../spec/words.ts'

/** A longer URL is sent as a POST form: common servers truncate or refuse it. */
const longestUrlBytes = 8_000

// Object.keys types the names of any object as text.
const names = Object.keys(callbackParams) as CallbackParam[]
const formOf = formWriter(names)

/** The values of a callback (docs/choices.md, "Callbacks"): those without a value are left out. */
function valuesOf(
  order: Order,
  transaction: Transaction,
  merchant: Merchant | undefined,
  endpoint?: Endpoint,
): Record<CallbackParam, string | undefined> {
  const view = statusView(order, transaction)
  const authenticated = endpoint?.settings.authenticationInCallback ? view : undefined
  const ids = { status: statusOfState(transaction.state), orderid: String(order.orderId), client_orderid: order.clientOrderid }
  return {
    status: ids.status,
    merchant_order: order.clientOrderid,
    client_orderid: order.clientOrderid,
    orderid: ids.orderid,
    type: kindWords[transaction.kind].callbackType,
    amount: transaction.no === 1 ? amountOfPayment(order) : transaction.amountText,
    currency: order.currency,
    descriptor: view.descriptor,
    error_code: view['error-code'],
    error_message: view['error-message'],
    name: view.name,
    'card-holder-name': view['cardholder-name'],
    email: view.email,
    phone: view.phone,
    'approval-code': view['approval-code'],
    'last-four-digits': view['last-four-digits'],
    bin: view.bin,
    'card-type': view['card-type'],
    'cardholder-info': view['cardholder-info'],
    'seller-commission': view['seller-commission'],
    'acquirer-commission': view['acquirer-commission'],
    eci: authenticated?.eci,
    'verified-3d-status': authenticated?.['verified-3d-status'],
    'gate-partial-reversal': view['gate-partial-reversal'],
    'gate-partial-capture': view['gate-partial-capture'],
    'processor-rrn': view['processor-rrn'],
    'processor-tx-id': view['processor-tx-id'],
    comment: transaction.asked ? transaction.asked.comment : order.request.comment,
    merchantdata: order.request.merchantData,
    // Only to be sent: it would fit another amount as well.
    control: merchant ? callbackControl(ids, merchant.controlKeys[0]!) : '*'.repeat(40),
  }
}

/** Not for the cardholder to read. */
const betweenMerchantAndBank: ReadonlySet<CallbackParam> = new Set(['seller-commission', 'acquirer-commission'])

/** The pairs that go back with the cardholder's browser. */
export function returnPairs(order: Order, transaction: Transaction, merchant: Merchant): [string, string][] {
  const values = valuesOf(order, transaction, merchant)
  return names.flatMap((name): [string, string][] =>
    values[name] && !betweenMerchantAndBank.has(name) ? [[name, values[name]]] : [],
  )
}

export const callbackForm = (...about: Parameters<typeof valuesOf>): string => formOf(valuesOf(...about))

/**
 * A GET with the form appended to the URL's own query, or a POST if that would be too long.
 */
export function renderCallback(url: string, form: string, policy: TargetPolicy): Rendered {
  const target = new URL(url)
  target.hash = ''
  const { href } = target
  const whole = `${href}${target.search === '' ? (href.endsWith('?') ? '' : '?') : '&'}${form}`
  // A URL and a form that are written have ASCII characters only.
  if (whole.length <= longestUrlBytes) return { method: 'GET', url: whole, policy }
  return {
    method: 'POST',
    url: href,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form,
    policy,
  }
}
