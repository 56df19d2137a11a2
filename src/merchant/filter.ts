import ipaddr from 'ipaddr.js'

/**
 * What a list may be of. Cards by their card-hash-id; a country is that of the address, a card
 * country that of the issuer by the BIN table.
 */
export type Listed = 'card' | 'bin' | 'email' | 'ip' | 'phone' | 'country' | 'card-country' | 'purpose'

/** What a velocity limit counts by. */
export type Counted = 'card' | 'email' | 'ip'

/**
 * What a rule looks at. `black`, `white` and `loyalty` fire on what is listed; a white one takes
 * the payment through whatever else fires. Amounts are minor units of `currency`; in another
 * currency such a rule is silent.
 */
export type RuleFacts =
  | { is: 'black' | 'white' | 'loyalty'; of: Listed }
  | { is: 'velocity'; per: Counted; limit: number; windowMs: number; counts: Counting }
  | { is: 'volume'; per: Counted; limitMinor: string; currency: string; windowMs: number; counts: Exclude<Counting, 'refused'> }
  | { is: 'amount'; leastMinor?: string; mostMinor?: string; currency: string }
  | { is: 'country mismatch' }
  /** Minutes of the day in a time zone of IANA; over midnight where `from` is the later one. */
  | { is: 'time of day'; from: number; to: number; zone: string }

/**
 * Which payments use a limit up: each attempt, whatever became of it; those that were not refused;
 * those that were.
 */
export type Counting = 'all' | 'unrefused' | 'refused'

export interface FilterRule {
  filterNo: number
  /** Absent: of all endpoints of the merchant. */
  endpointId?: bigint
  name: string
  /** error-code of an order that it refuses, 3000 to 3999. */
  code: string
  score: number
  facts: RuleFacts
  /** What is listed, as it is compared; empty for rules without a list. */
  entries: ReadonlySet<string>
}

/** A score from here on refuses. */
export const refusingScore = 100

/**
 * How a value is compared; undefined when it cannot be one. Card numbers do not come here: they are
 * listed by their hash.
 */
export function comparable(of: Listed, text: string): string | undefined {
  const value = text.trim()
  switch (of) {
    case 'card':
      return /^[0-9a-f]{32}$/.test(value) ? value : undefined
    case 'bin':
      return /^[0-9]{4,11}$/.test(value) ? value : undefined
    case 'email':
      return /^(?=.{1,128}$)[^\s@]*@[^\s@]+$/u.test(value) ? value.toLowerCase() : undefined
    case 'ip':
      return networkText(value)
    case 'phone':
      return phoneDigits(value)
    case 'country':
    case 'card-country':
      return /^[a-zA-Z]{2}$/.test(value) ? value.toUpperCase() : undefined
    case 'purpose':
      return /^[^\p{Cc}]{1,128}$/u.test(value) ? value.toLowerCase() : undefined
  }
}

/** `10.0.0.0/8`, `2001:db8::/32`; an address is a network of its own. */
function networkText(value: string): string | undefined {
  const [address = '', bits, ...more] = value.split('/')
  if (!ipaddr.isValid(address) || more.length > 0) return undefined
  const parsed = ipaddr.process(address)
  const most = parsed.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? most : /^[0-9]{1,3}$/.test(bits) ? Number(bits) : -1
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

/** Digits alone, so that spaces, brackets and a plus make no other number. */
function phoneDigits(value: string): string | undefined {
  const digits = value.replace(/[^0-9]/g, '').replace(/^00/, '')
  return digits.length >= 5 ? digits : undefined
}

/** What of a payment is looked up in a list of this kind: any of them fires the rule. */
export function lookedUp(of: Listed, facts: PaymentFacts): string[] {
  const { pan, email, ip, phones, country, cardHash, cardCountry, purpose } = facts
  switch (of) {
    case 'card':
      return [cardHash]
    case 'bin':
      return pan === undefined ? [] : Array.from({ length: 8 }, (_, i) => pan.slice(0, 4 + i))
    case 'ip':
      return networksOf(ip)
    case 'phone':
      return phones.map(phoneDigits).filter((digits) => digits !== undefined)
    case 'email':
      return [email.toLowerCase(), email.slice(email.lastIndexOf('@')).toLowerCase()]
    case 'country':
      return country === undefined ? [] : [country]
    case 'card-country':
      return cardCountry === undefined ? [] : [cardCountry]
    case 'purpose':
      return purpose === undefined ? [] : [purpose.trim().toLowerCase()]
  }
}

/** What filters know of a payment. */
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
  /** What is paid for, as the merchant says: an account, a wallet, a phone number. */
  purpose?: string
  /** The most that may be charged. */
  amountMinor: bigint
  currency: string
  at: number
}
