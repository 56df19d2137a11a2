import { domainToASCII } from 'node:url'
import ipaddr from 'ipaddr.js'
import { parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/min'
import { country, ipAddress } from '../spec/kinds.ts'

/**
 * The kinds of lists. Cards are listed by their card-hash-id; `country` is that of the address,
 * `card-country` that of the issuer by the BIN table.
 */
export type Listed = 'card' | 'bin' | 'email' | 'ip' | 'phone' | 'country' | 'card-country' | 'purpose'

/** The value by which a velocity limit counts. */
export type Counted = 'card' | 'email' | 'ip'

/**
 * The condition of a rule. `black`, `white` and `loyalty` fire on listed values; a white rule
 * accepts the payment whatever else fires. Amounts are minor units of `currency`; a payment in
 * another currency does not trigger such a rule.
 */
export type RuleFacts =
  | { is: 'black' | 'white' | 'loyalty'; of: Listed }
  | { is: 'velocity'; per: Counted; limit: number; windowMs: number; counts: CountedOrders }
  | {
      is: 'volume'
      per: Counted
      limitMinor: string
      currency: string
      windowMs: number
      counts: Exclude<CountedOrders, 'refused'>
    }
  | { is: 'amount'; leastMinor?: string; mostMinor?: string; currency: string }
  | { is: 'country mismatch' }
  /**
   * Minutes of the day in an IANA time zone; the span crosses midnight if `from` is later than
   * `to`.
   */
  | { is: 'time of day'; from: number; to: number; zone: string }

/**
 * Which payments use a limit up: every attempt, whatever its outcome; those that were not refused;
 * or those that were.
 */
export type CountedOrders = 'all' | 'unrefused' | 'refused'

export interface FilterRule {
  filterNo: number
  /** Absent: for all endpoints of the merchant. */
  endpointId?: bigint
  name: string
  /** error-code of an order that it refuses, 3000 to 3999. */
  code: string
  score: number
  facts: RuleFacts
  /** The listed values, in comparable form; empty for rules without a list. */
  entries: ReadonlySet<string>
}

/** A score of this or more is refused. */
export const refusingScore = 100

/**
 * The comparable form of a value; undefined if it is not valid. Card numbers are not handled here:
 * they are listed by their hash.
 */
export function comparable(of: Listed, text: string): string | undefined {
  const value = text.trim()
  switch (of) {
    case 'card':
      return /^[0-9a-f]{32}$/.test(value) ? value : undefined
    case 'bin':
      return /^[0-9]{4,11}$/.test(value) ? value : undefined
    case 'email':
      return emailEntry(value)
    case 'ip':
      return networkText(value)
    case 'phone':
      return (/^(?:\+|00)/.test(value) ? e164Digits(value) : undefined) ?? phoneDigits(value)
    case 'country':
    case 'card-country':
      return typeof country.read(value.toUpperCase(), () => undefined) === 'string' ? value.toUpperCase() : undefined
    case 'purpose':
      return /^[^\p{Cc}]{1,128}$/u.test(value) ? value.toLowerCase() : undefined
  }
}

/**
 * `eve@example.com`, `@example.com` for all of a domain, `*.example.com` for those of the domains
 * below it too. Others with a `*`, and what stands around an address, are in no payment.
 */
function emailEntry(value: string): string | undefined {
  const [, local, below, domain] = /^(?=.{1,128}$)([^\s@*:<>]*)(@?\*\.|@)([^\s@*:<>]+)$/u.exec(value) ?? []
  if (domain === undefined || /(?:^|\.)(?:-|\.|$)|-(?:\.|$)/.test(domain)) return undefined
  if (below === '@') return emailForm(value)
  return local === '' ? `@*.${domainForm(domain)}` : undefined
}

/** One form for all spellings: small letters, composed, and the domain in ASCII. */
export function emailForm(text: string): string {
  const at = text.lastIndexOf('@')
  return text === '' ? '' : `${text.slice(0, at).normalize('NFC').toLowerCase()}@${domainForm(text.slice(at + 1))}`
}

/** Mail servers ignore a dot at the end. */
const domainForm = (text: string): string => (domainToASCII(text) || text.normalize('NFC').toLowerCase()).replace(/\.$/, '')

/** The values that lists may contain of it, also as entries of earlier versions spell them. */
function emailsToLookUp(text: string): string[] {
  const forms = [text.toLowerCase(), emailForm(text)]
  const labels = forms[1]!.slice(forms[1]!.lastIndexOf('@') + 1).split('.')
  const below = labels.map((_, i) => `@*.${labels.slice(i).join('.')}`)
  return [...new Set([...forms, ...forms.map((form) => form.slice(form.lastIndexOf('@')))]), ...below]
}

/** `10.0.0.0/8`, `2001:db8::/32`; a single address is a network too. */
function networkText(value: string): string | undefined {
  const [address = '', bits, ...more] = value.split('/')
  // Short and octal spellings are another address to other programs.
  if (typeof ipAddress.read(address, () => undefined) !== 'string' || more.length > 0) return undefined
  const parsed = ipaddr.process(address)
  const most = parsed.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? most : /^(?:0|[1-9][0-9]{0,2})$/.test(bits) ? Number(bits) : -1
  return length < 0 || length > most ? undefined : maskedTo(parsed, length)
}

function maskedTo(address: ipaddr.IPv4 | ipaddr.IPv6, length: number): string {
  const bytes = address.toByteArray().map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, length - 8 * i))) & 0xff)
  return `${ipaddr.fromByteArray(bytes).toString()}/${length}`
}

/** Every network that an address is in, smallest first. */
function networksOf(text: string): string[] {
  if (!ipaddr.isValid(text)) return []
  const address = ipaddr.process(text)
  const most = address.kind() === 'ipv4' ? 32 : 128
  return Array.from({ length: most + 1 }, (_, i) => maskedTo(address, most - i))
}

/** A number in the form of E.164. */
const mostPhoneDigits = 15

/** Only the digits, so that spaces, brackets and a plus do not make a different number. */
function phoneDigits(value: string): string | undefined {
  const digits = value.replace(/[^0-9]/g, '').replace(/^00/, '')
  return digits.length >= 5 && digits.length <= mostPhoneDigits ? digits : undefined
}

/** The digits of E.164, where the number or `home` says its country and it is valid there. */
function e164Digits(text: string, home?: string): string | undefined {
  const number = parsePhoneNumberFromString(text.replace(/^\s*00/, '+'), home as CountryCode | undefined)
  return number?.isValid() ? number.number.slice(1) : undefined
}

/** The values of a payment to look up in a list of this kind: any of them fires the rule. */
export function lookedUp(of: Listed, facts: PaymentFacts): string[] {
  const { pan, email, ip, phones, country: home, cardHash, cardCountry, purpose } = facts
  switch (of) {
    case 'card':
      return [cardHash]
    case 'bin':
      return pan === undefined ? [] : Array.from({ length: 8 }, (_, i) => pan.slice(0, 4 + i))
    case 'ip':
      return networksOf(ip)
    case 'phone':
      return phones.flatMap((text) => [phoneDigits(text) ?? [], e164Digits(text, home) ?? []].flat())
    case 'email':
      return emailsToLookUp(email)
    case 'country':
      return home === undefined ? [] : [home]
    case 'card-country':
      return cardCountry === undefined ? [] : [cardCountry]
    case 'purpose':
      return purpose === undefined ? [] : [purpose.trim().toLowerCase()]
  }
}

/** The facts of a payment for filters. */
export interface PaymentFacts {
  /** In memory only, for lists of BINs. */
  pan?: string
  cardHash: string
  email: string
  ip: string
  phones: readonly string[]
  /** ISO 3166-1 alpha-2: of the address, and of the issuer. */
  country?: string
  cardCountry?: string
  /** The purpose of the payment as the merchant states it: an account, a wallet, a phone number. */
  purpose?: string
  /** The most that may be charged. */
  amountMinor: bigint
  currency: string
  at: number
}
