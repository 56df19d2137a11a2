/** A person whose data is looked for: how they are named, and what was found. */
import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { domainToASCII, domainToUnicode } from 'node:url'
import type { OrderKey } from '../../order/decide/change.ts'
import type { ListedOrder } from '../order-lines.ts'

/** By `card`: the number at each merchant, as its keyed hashes. */
export type Person =
  | { by: 'email'; values: readonly string[] }
  | { by: 'phone'; values: readonly string[] }
  | { by: 'card'; hashIds: readonly string[]; numberIds: readonly Buffer[] }
  | { by: 'order'; orderIds: readonly bigint[] }

/** Payments that ended before these times are erased; in milliseconds since 1970. */
export interface Bounds {
  approvedBefore: number
  /** For payments that were declined, filtered or ended in error. */
  othersBefore: number
}

/**
 * Why data of a person stays.
 *   open       something of it is still under way
 *   callbacks  a message to the merchant still has to be sent
 *   young      a return, a chargeback or a reversal may still need it
 */
export type LeftUnerased = 'open' | 'callbacks' | 'young'

export interface OrderTrace extends Omit<ListedOrder, 'login' | 'parked'> {
  /** When its last transaction ended; absent while one is open. */
  endedAt?: number
  erasedAt?: string
  left?: LeftUnerased
}

/** An invoice or a card reference. Its order may exist, or not. */
export interface OtherTrace extends OrderKey {
  is: 'invoice' | 'reference'
  id: string
  createdAt: number
  left?: LeftUnerased
}

export interface Traces {
  orders: OrderTrace[]
  /** Without an order: it was never made, or its partition was dropped. */
  others: OtherTrace[]
}

/** The findings of several cells. */
export const together = (found: readonly Traces[]): Traces => ({
  orders: found.flatMap(({ orders }) => orders),
  others: found.flatMap(({ others }) => others),
})

/**
 * E-mail addresses are compared without case. All spellings of one: with letters composed and
 * decomposed, and the domain in Unicode and in ASCII. None of a text that is no address.
 */
export function emailSpellings(text: string): string[] {
  const at = text.lastIndexOf('@')
  if (at === -1) return []
  const [local, domain] = [text.slice(0, at).trim(), text.slice(at + 1).trim()]
  const both = (part: string) => [part, part.normalize('NFC'), part.normalize('NFD')].map((one) => one.toLowerCase())
  const domains = [...both(domain), domainToASCII(domain), ...both(domainToUnicode(domain))].filter((one) => one !== '')
  return [...new Set(both(local).flatMap((one) => domains.map((other) => `${one}@${other}`)))]
}

/** Telephone numbers are compared by their digits, without the zeros or the plus before them. */
const comparablePhone = (text: string): string => text.replace(/[^0-9]/g, '').replace(/^0+/, '')

/**
 * The same number in all its spellings. A number that names its country is also found as it is
 * dialled within that country: `GB:2079460000`. None of a text with fewer than three digits.
 */
export function phoneSpellings(text: string): string[] {
  const digits = comparablePhone(text)
  if (digits.length < 3) return []
  const number = parsePhoneNumberFromString(text.replace(/^\s*00/, '+'))
  if (number?.country === undefined || !number.isValid()) return [digits]
  const { countryCallingCode: code, nationalNumber: national, country } = number
  return [...new Set([digits, `${code}${national}`, `${code}0${national}`, `${country}:${comparablePhone(national)}`])]
}
