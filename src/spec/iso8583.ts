import type { Secret } from '../base/secret.ts'

/**
 * The messages of the acquirer line as rows: ISO 8583:1993 in the dialect of docs/iso8583.md.
 * Packing, reading, the types of a message and its masked description are all derived from these
 * tables; a field or tag without a row can be neither sent nor read.
 */

/**
 * `n` digits; `an` letters and digits; `ans` printable ASCII. Without `prefix` the length is fixed,
 * otherwise that many digits before the value are its decimal length.
 */
export interface Format {
  kind: 'n' | 'an' | 'ans'
  length: number
  prefix: 0 | 2 | 3
}

/**
 * `open` may be printed. `card` prints its first six and last four digits. `secret` prints stars:
 * one per digit if the length is fixed, else three, to hide the length. The last two are passed as
 * `Secret`.
 */
export type IsoGuard = 'open' | 'card' | 'secret'

export interface IsoRow {
  is: Format
  guard: IsoGuard
  means: string
  /**
   * A sequence of elements, each with a tag (two characters), a length (three digits) and a value.
   */
  tags?: Record<string, TagRow>
  /**
   * It decides nothing, so it is never a reason to refuse a message that is read: it may be of
   * ISO 8859-1, what cannot be shown is left out, and tags end where they cannot be read.
   */
  patient?: boolean
}

export interface TagRow {
  guard: IsoGuard
  means: string
}

const fixed = (kind: Format['kind'], length: number): Format => ({ kind, length, prefix: 0 })
const upTo = (kind: Format['kind'], length: number): Format => ({ kind, length, prefix: length > 99 ? 3 : 2 })

/** Elements of field 48, in requests. */
// oxfmt-ignore
const requestTags = {
  OI: { guard: 'open',   means: 'order id of the gateway' },
  92: { guard: 'secret', means: 'CVV2' },
  EC: { guard: 'open',   means: 'ECI' },
  AV: { guard: 'open',   means: 'authentication value of 3-D Secure, base64' },
  DT: { guard: 'open',   means: 'transaction id of the directory server' },
  TV: { guard: 'open',   means: '3-D Secure version' },
  AM: { guard: 'open',   means: 'how authenticated: challenge, frictionless or attempt' },
  RI: { guard: 'open',   means: 'recurrent initiator: CARDHOLDER or MERCHANT' },
  RS: { guard: 'open',   means: 'recurrent scenario: REGULAR or IRREGULAR' },
  NR: { guard: 'open',   means: 'network reference of the first payment of a series' },
} as const satisfies Record<string, TagRow>

/** Elements of field 62, in replies. */
// oxfmt-ignore
const replyTags = {
  TX: { guard: 'open',   means: "processor's transaction id" },
  NR: { guard: 'open',   means: 'network reference of this payment' },
  PC: { guard: 'open',   means: 'card product code' },
  PN: { guard: 'open',   means: 'card product name' },
  TC: { guard: 'open',   means: 'card type code' },
  TN: { guard: 'open',   means: 'card type name' },
  IC: { guard: 'open',   means: 'country of the issuer, ISO 3166 alpha-3' },
  IB: { guard: 'open',   means: 'name of the issuer' },
  LB: { guard: 'open',   means: 'loyalty balance' },
  LM: { guard: 'open',   means: 'loyalty message' },
  LO: { guard: 'open',   means: 'loyalty bonus' },
  LP: { guard: 'open',   means: 'loyalty program' },
  MM: { guard: 'open',   means: 'extended reason of a decline' },
} as const satisfies Record<string, TagRow>

/**
 * No row is above 64, so a packed message never has a secondary bitmap. The MAC in field 64 or 128
 * has no row: it belongs to the line (acquirer/iso8583/mac.ts).
 */
// oxfmt-ignore
export const isoFields = {
  2:  { is: upTo('n', 19),    guard: 'card',   means: 'primary account number' },
  3:  { is: fixed('n', 6),    guard: 'open',   means: 'processing code' },
  4:  { is: fixed('n', 12),   guard: 'open',   means: 'amount, minor units' },
  7:  { is: fixed('n', 10),   guard: 'open',   means: 'transmission date and time, UTC, MMDDhhmmss' },
  11: { is: fixed('n', 6),    guard: 'open',   means: 'systems trace audit number (STAN)' },
  12: { is: fixed('n', 12),   guard: 'open',   means: 'local date and time, UTC, YYMMDDhhmmss' },
  14: { is: fixed('n', 4),    guard: 'secret', means: 'expiry, YYMM' },
  22: { is: fixed('an', 12),  guard: 'open',   means: 'point of service data code' },
  24: { is: fixed('n', 3),    guard: 'open',   means: 'function code' },
  25: { is: fixed('n', 4),    guard: 'open',   means: 'message reason code' },
  26: { is: fixed('n', 4),    guard: 'open',   means: 'card acceptor business code (MCC)' },
  30: { is: fixed('n', 12),   guard: 'open',   means: 'original amount, minor units' },
  32: { is: upTo('n', 11),    guard: 'open',   means: 'acquiring institution' },
  37: { is: fixed('an', 12),  guard: 'open',   means: 'retrieval reference number (RRN)' },
  38: { is: fixed('an', 6),   guard: 'open',   means: 'approval code', patient: true },
  39: { is: fixed('n', 3),    guard: 'open',   means: 'action code' },
  41: { is: fixed('ans', 8),  guard: 'open',   means: 'terminal' },
  42: { is: fixed('ans', 15), guard: 'open',   means: 'card acceptor: the merchant at the acquirer' },
  43: { is: upTo('ans', 99),  guard: 'open',   means: 'card acceptor name and place', patient: true },
  44: { is: upTo('ans', 99),  guard: 'open',   means: 'text for the cardholder or merchant', patient: true },
  48: { is: upTo('ans', 999), guard: 'open',   means: 'additional data of a request', tags: requestTags, patient: true },
  49: { is: fixed('n', 3),    guard: 'open',   means: 'currency, ISO 4217 numeric' },
  56: { is: upTo('n', 35),    guard: 'open',   means: 'original data: type, STAN, local date and time, acquiring institution' },
  62: { is: upTo('ans', 999), guard: 'open',   means: 'additional data of a reply', tags: replyTags, patient: true },
} as const satisfies Record<number, IsoRow>

type Guarded<R extends { guard: IsoGuard }> = R['guard'] extends 'open' ? string : Secret<string>
type Tagged<T extends Record<string, TagRow>> = { [K in keyof T]?: Guarded<T[K]> | undefined }
type Value<R extends IsoRow> = R extends { tags: infer T extends Record<string, TagRow> } ? Tagged<T> : Guarded<R>

export type FieldNumber = keyof typeof isoFields
/** Values by field number, as on the wire without prefixes and padding. `undefined`: absent. */
export type IsoFields = { [N in FieldNumber]?: Value<(typeof isoFields)[N]> | undefined }

export interface IsoMessage {
  /** Four digits, the first of them 1: the version of 1993. */
  type: string
  fields: IsoFields
}

/**
 * The four digits of a type are version, class, function and origin. A reply has the next function,
 * and the origin without the repeat mark: 1200 and 1201 are answered by 1210.
 */
export const replyTypeOf = (type: string): string => `${type.slice(0, 2)}${Number(type[2]) + 1}${Number(type[3]) & ~1}`

/** The type of a request that is sent again under the same names: 1201 for 1200. */
export const repeatTypeOf = (type: string): string => `${type.slice(0, 3)}${Number(type[3]) | 1}`
