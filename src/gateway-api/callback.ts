import type { Rendered } from '../delivery/try.ts'
import type { TargetPolicy } from '../http/address.ts'
import { callbackControl } from '../merchant/control.ts'
import type { Merchant } from '../merchant/merchant.ts'
import type { Order, Transaction } from '../order/order.ts'
import { statusOfState } from '../order/order.ts'
import { amountOfPayment, statusView } from '../order/view.ts'
import { writeForm } from '../spec/form.ts'
import { callbackParams, type CallbackParam } from '../spec/gateway/callback.ts'
import { kindWords } from '../spec/words.ts'

/** A longer URL is sent as a POST form: common servers truncate or refuse it. */
const longestUrlBytes = 8_000

/** The pairs of a callback (docs/choices.md, "Callbacks"): those without a value are left out. */
export function callbackPairs(order: Order, transaction: Transaction, merchant: Merchant): [string, string][] {
  const view = statusView(order, transaction)
  const status = statusOfState(transaction.state)
  const ids = { status, orderid: String(order.orderId), client_orderid: order.clientOrderid }
  const values: Record<CallbackParam, string | undefined> = {
    ...ids,
    merchant_order: order.clientOrderid,
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
    'gate-partial-reversal': view['gate-partial-reversal'],
    'gate-partial-capture': view['gate-partial-capture'],
    'processor-rrn': view['processor-rrn'],
    'processor-tx-id': view['processor-tx-id'],
    comment: transaction.asked ? transaction.asked.comment : order.request.comment,
    merchantdata: order.request.merchantData,
    control: callbackControl(ids, merchant.controlKeys[0]!),
  }
  // Object.keys types the names of any object as text.
  return (Object.keys(callbackParams) as CallbackParam[])
    .map((name): [string, string | undefined] => [name, values[name]])
    .filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
}

/**
 * A GET with the pairs appended to the URL's own query, or a POST form if that would be too long.
 */
export function renderCallback(url: string, pairs: [string, string][], policy: TargetPolicy): Rendered {
  const form = writeForm(pairs)
  const target = new URL(url)
  target.hash = ''
  const whole = `${target.href}${target.search === '' ? (target.href.endsWith('?') ? '' : '?') : '&'}${form}`
  if (Buffer.byteLength(whole) <= longestUrlBytes) return { method: 'GET', url: whole, policy }
  return {
    method: 'POST',
    url: target.href,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form,
    policy,
  }
}
