import { timingSafeEqual } from 'node:crypto'
import { readPairs, type Fields } from './form.ts'
import { controlOf } from './operations.ts'
import { isFinal, type FinalStatus } from './replies.ts'
import type { OrderName } from './requests.ts'

/** What the gateway told the merchant's server. The checksum covers status and order alone; the rest is as trustworthy as the way it came. */
export interface Callback {
  is: 'callback'
  status: FinalStatus
  order: OrderName
  /** What it is about: sale, preauth, account-verification, capture, reversal, cancel, void … */
  type: string
  amount: string
  fields: Fields
}

/** What the browser of a returning cardholder brought. Anybody may change the fields that the checksum does not cover: of amounts, ask `status`. */
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

/** `text` is the URL of the callback or its query, or the body of its form. */
export function readCallback(text: string, controlKey: string): Callback | NotGenuine {
  const read = readSigned(text, controlKey)
  if ('is' in read) return read
  const { status, order, fields } = read
  if (!isFinal(status)) return notGenuine(`its status is "${status}"`)
  return { is: 'callback', status, order, type: fields.type ?? '', amount: fields.amount ?? '', fields }
}

/** `text` is the body of the form. */
export function readReturn(text: string, controlKey: string): CustomerReturn | NotGenuine {
  const read = readSigned(text, controlKey)
  if ('is' in read) return read
  const { status, order, fields } = read
  if (!isFinal(status) && status !== 'processing') return notGenuine(`its status is "${status}"`)
  return { is: 'return', status, order, fields }
}

const notGenuine = (why: string): NotGenuine => ({ is: 'not genuine', why })

function readSigned(text: string, controlKey: string): { status: string; order: OrderName; fields: Fields } | NotGenuine {
  const pairs = readPairs(text.slice(text.indexOf('?') + 1))
  if (pairs === undefined) return notGenuine('it cannot be decoded')
  // The URL of a callback may have pairs of its own; the gateway's come after them.
  const fields: Fields = Object.fromEntries(pairs)
  const { status = '', orderid = '', client_orderid: clientOrderid = '', control } = fields
  if (control === undefined || control === '') return notGenuine('it has no control')
  if (!sameText(control.toLowerCase(), controlOf([status, orderid, clientOrderid], controlKey)))
    return notGenuine('its control does not match')
  return { status, order: { client_orderid: clientOrderid, orderid }, fields }
}

/** In constant time for texts of one length. */
export function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
