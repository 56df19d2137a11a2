import { timingSafeEqual } from 'node:crypto'
import { readPairs, type Fields } from './form.ts'
import { controlOf } from './operations.ts'
import { isFinal, type FinalStatus } from './replies.ts'
import type { OrderName } from './requests.ts'
import { tokenComplaint, type TokenKey } from './return-token.ts'
import { signatureComplaint, type Signed } from './webhook.ts'

/**
 * What the gateway reports to the merchant's server. The checksum covers the status and the two ids
 * of the order, and only once both are known to be right, since nothing separates them in what is
 * signed. A signature covers every field; without one, amount, type and everything else is as
 * trustworthy as the way it came. `status` is what to believe.
 */
export interface Callback {
  is: 'callback'
  status: FinalStatus
  order: OrderName
  /** The transaction: sale, preauth, account-verification, capture, reversal, cancel, void … */
  type: string
  amount: string
  fields: Fields
}

/**
 * What the browser of a returning cardholder brought. Without its token, anybody may change the
 * fields that the checksum does not cover; and a browser may bring it late, or never. Ask `status`.
 */
export interface CustomerReturn {
  is: 'return'
  /** `processing` where there is no outcome yet. */
  status: FinalStatus | 'processing'
  order: OrderName
  fields: Fields
}

/** Nothing of it may be believed. */
export interface NotGenuine {
  is: 'not genuine'
  why: string
}

/**
 * The order that a callback or a return says it is about, to look up what the merchant knows of it.
 * Nothing is checked yet: it is what a stranger may have written. Undefined where the text names
 * none.
 */
export function orderNamedIn(text: string): OrderName | undefined {
  const { orderid = '', client_orderid: clientOrderid = '' } = fieldsIn(text) ?? {}
  return orderid === '' || clientOrderid === '' ? undefined : { client_orderid: clientOrderid, orderid }
}

/**
 * `text` is the URL of the callback or its query, or the body of its form. `expected` is the order
 * as the merchant knows it: its own client_orderid, and the orderid that the reply to the payment
 * gave. What is about another order is not genuine. With `signed` its headers must prove it too.
 */
export function readCallback(text: string, controlKey: string, expected: OrderName, signed?: Signed): Callback | NotGenuine {
  const complaint = signed && signatureComplaint(pairsIn(text), signed)
  if (complaint !== undefined) return notGenuine(complaint)
  const read = readSigned(text, controlKey, expected)
  if ('is' in read) return read
  const { status, order, fields } = read
  if (!isFinal(status)) return notGenuine(`its status is "${status}"`)
  return { is: 'callback', status, order, type: fields.type ?? '', amount: fields.amount ?? '', fields }
}

/**
 * `text` is the body of the form, `expected` the order that this customer was sent to pay. With
 * `key` the token of the gateway must prove status, order, type, amount and currency.
 */
export function readReturn(text: string, controlKey: string, expected: OrderName, key?: TokenKey): CustomerReturn | NotGenuine {
  const read = readSigned(text, controlKey, expected)
  if ('is' in read) return read
  const { status, order, fields } = read
  const complaint = key && tokenComplaint(fields, key)
  if (complaint !== undefined) return notGenuine(complaint)
  if (!isFinal(status) && status !== 'processing') return notGenuine(`its status is "${status}"`)
  return { is: 'return', status, order, fields }
}

const notGenuine = (why: string): NotGenuine => ({ is: 'not genuine', why })

/**
 * The URL of a callback may have pairs of its own; the gateway's come after them. Undefined when it
 * cannot be decoded.
 */
function fieldsIn(text: string): Fields | undefined {
  const pairs = readPairs(pairsIn(text))
  return pairs && Object.fromEntries(pairs)
}

/** Reads exactly the text that the signature covers. */
const pairsIn = (text: string): string => text.slice(text.indexOf('?') + 1)

function readSigned(
  text: string,
  controlKey: string,
  expected: OrderName,
): { status: string; order: OrderName; fields: Fields } | NotGenuine {
  const fields = fieldsIn(text)
  if (fields === undefined) return notGenuine('it cannot be decoded')
  const { status = '', orderid = '', client_orderid: clientOrderid = '', control } = fields
  if (control === undefined || control === '') return notGenuine('it has no control')
  if (!sameText(control.toLowerCase(), controlOf([status, orderid, clientOrderid], controlKey)))
    return notGenuine('its control does not match')
  // Digits that move from one id to the other leave the checksum as it was.
  if (orderid !== expected.orderid || clientOrderid !== expected.client_orderid) return notGenuine('it is about another order')
  return { status, order: { client_orderid: clientOrderid, orderid }, fields }
}

/** In constant time for texts of one length. */
export function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
