/**
 * Messages of 3-D Secure 1.0.2. The name of a row is the path of the element below the message, in
 * the order of the document type. Elements without a row are ignored, except extensions.
 */

export interface LegacyRow {
  fits: (text: string) => boolean
  need: 'required' | 'optional'
  /**
   * In messages that are read: whether the outcome depends on the element, perhaps by another one;
   * true if absent.
   */
  decides?: boolean | ((value: (path: string) => string) => boolean)
  /** May occur several times; read as a list. */
  many?: true
  means: string
}

export type LegacyTable = Readonly<Record<string, LegacyRow>>

const R = 'required'
const O = 'optional'
const yes = true
const no = false

const matching =
  (pattern: RegExp) =>
  (t: string): boolean =>
    pattern.test(t)
const codes =
  (...known: string[]) =>
  (t: string): boolean =>
    known.includes(t)
const digits = (min: number, max = min) => matching(new RegExp(`^[0-9]{${min},${max}}$`))
/** Printable ASCII: issuers of that time are known to read nothing else. */
const ascii = (max: number) => matching(new RegExp(`^[\\x20-\\x7e]{1,${max}}$`))
const text = (max: number) => matching(new RegExp(`^\\P{Cc}{1,${max}}$`, 'u'))
/** 20 bytes in base64. */
const bytes20 = matching(/^[A-Za-z0-9+/]{27}=$/)
/**
 * Strict, because `new URL` repairs much and the URL is inserted into pages. The caller decides
 * whether plain http may be used.
 */
const url = (max: number) => (t: string) =>
  t.length <= max && /^https?:\/\/(?![/?#])[!#-;=?-[\]_a-z~]+$/i.test(t) && URL.canParse(t)

/** Milliseconds of `YYYYMMDD HH:MM:SS`, GMT; NaN for anything else, such as 31 February. */
export function readLegacyMoment(t: string): number {
  const [, year, month, day, time] = /^([0-9]{4})([0-9]{2})([0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2})$/.exec(t) ?? []
  const ms = Date.parse(`${year}-${month}-${day}T${time}Z`)
  return Number.isNaN(ms) || legacyMoment(ms) !== t ? Number.NaN : ms
}

export const legacyMoment = (ms: number): string =>
  new Date(ms).toISOString().replace(/^(....)-(..)-(..)T(........).*$/, '$1$2$3 $4')

/** Only for a card that is enrolled, and only for a proof. */
const enrolled = (value: (path: string) => string): boolean => value('CH/enrolled') === 'Y'
const proving = (value: (path: string) => string): boolean => ['Y', 'A'].includes(value('TX/status'))

const moment = (t: string): boolean => !Number.isNaN(readLegacyMoment(t))
const version = codes('1.0.2')

// oxfmt-ignore
export const vereq = {
  version:                  { fits: version,         need: R, means: 'of the protocol' },
  pan:                      { fits: digits(13, 19),  need: R, means: 'card number' },
  'Merchant/acqBIN':        { fits: digits(1, 11),   need: R, means: 'the acquirer, by its number in the network' },
  'Merchant/merID':         { fits: ascii(24),       need: R, means: "the acquirer's name for the merchant" },
  'Merchant/password':      { fits: ascii(8),        need: O, means: 'where the acquirer gave the merchant one' },
  'Browser/deviceCategory': { fits: digits(1),       need: O, means: '0 a computer, 1 a telephone' },
  'Browser/accept':         { fits: ascii(2048),     need: O, means: "the browser's Accept" },
  'Browser/userAgent':      { fits: ascii(2048),     need: O, means: "the browser's User-Agent" },
} as const satisfies LegacyTable

// oxfmt-ignore
export const veres = {
  version:             { fits: version,               need: R,             decides: yes,      means: 'of the protocol' },
  'CH/enrolled':       { fits: codes('Y', 'N', 'U'),  need: R,             decides: yes,      means: 'whether the issuer can authenticate: yes, no, not known' },
  'CH/acctID':         { fits: ascii(28),             need: O,             decides: enrolled, means: 'stands for the card number in PAReq' },
  url:                 { fits: url(2048),             need: O,             decides: enrolled, means: "the issuer's page" },
  protocol:            { fits: text(25),              need: O, many: true, decides: enrolled, means: 'what the issuer can speak' },
  'IReq/iReqCode':     { fits: ascii(4),              need: O,             decides: no,       means: 'what was wrong with VEReq' },
} as const satisfies LegacyTable

// oxfmt-ignore
export const pareq = {
  version:                 { fits: version,                                         need: R, means: 'of the protocol' },
  'Merchant/acqBIN':       { fits: digits(1, 11),                                   need: R, means: 'as in VEReq' },
  'Merchant/merID':        { fits: ascii(24),                                       need: R, means: 'as in VEReq' },
  'Merchant/name':         { fits: ascii(25),                                       need: R, means: 'shown to the cardholder' },
  'Merchant/country':      { fits: digits(3),                                       need: R, means: 'of the merchant, ISO 3166-1 numeric' },
  'Merchant/url':          { fits: url(2048),                                       need: R, means: "the merchant's site" },
  'Purchase/xid':          { fits: bytes20,                                         need: R, means: 'names the purchase; 20 bytes in base64' },
  'Purchase/date':         { fits: moment,                                          need: R, means: 'YYYYMMDD HH:MM:SS, GMT' },
  'Purchase/amount':       { fits: ascii(20),                                       need: R, means: 'shown to the cardholder' },
  'Purchase/purchAmount':  { fits: digits(1, 12),                                   need: R, means: 'in minor units' },
  'Purchase/currency':     { fits: digits(3),                                       need: R, means: 'ISO 4217 numeric' },
  'Purchase/exponent':     { fits: digits(1),                                       need: R, means: 'minor units of the currency' },
  'Purchase/desc':         { fits: ascii(125),                                      need: O, means: 'what is bought' },
  'Purchase/install':      { fits: matching(/^(?:[2-9]|[1-9][0-9]{1,2})$/),         need: O, means: 'number of instalments' },
  'CH/acctID':             { fits: ascii(28),                                       need: R, means: 'of VERes; never the card number' },
  'CH/expiry':             { fits: matching(/^[0-9]{2}(?:0[1-9]|1[0-2])$/),         need: R, means: 'of the card, YYMM' },
} as const satisfies LegacyTable

// oxfmt-ignore
export const pares = {
  version:                 { fits: version,                         need: R, decides: yes,     means: 'of the protocol' },
  'Merchant/acqBIN':       { fits: digits(1, 11),                   need: R, decides: yes,     means: 'as in PAReq' },
  'Merchant/merID':        { fits: ascii(24),                       need: R, decides: yes,     means: 'as in PAReq' },
  'Purchase/xid':          { fits: bytes20,                         need: R, decides: yes,     means: 'as in PAReq' },
  'Purchase/date':         { fits: moment,                          need: R, decides: yes,     means: 'as in PAReq' },
  'Purchase/purchAmount':  { fits: digits(1, 12),                   need: R, decides: yes,     means: 'as in PAReq' },
  'Purchase/currency':     { fits: digits(3),                       need: R, decides: yes,     means: 'as in PAReq' },
  'Purchase/exponent':     { fits: digits(1),                       need: R, decides: yes,     means: 'as in PAReq' },
  pan:                     { fits: digits(13, 19),                  need: R, decides: yes,     means: 'zeros, and the last four digits of the card' },
  'TX/time':               { fits: moment,                          need: R, decides: yes,     means: 'when the issuer answered' },
  'TX/status':             { fits: codes('Y', 'A', 'N', 'U'),       need: R, decides: yes,     means: 'authenticated, attempted, not authenticated, could not tell' },
  'TX/cavv':               { fits: bytes20,                         need: O, decides: proving, means: 'proof for the acquirer; with Y and A' },
  'TX/eci':                { fits: matching(/^[0-9]{2}$/),          need: O, decides: no,      means: 'with Y and A' },
  'TX/cavvAlgorithm':      { fits: digits(1),                       need: O, decides: no,      means: '0 HMAC, 1 CVV, 2 CVV with ATN, 3 SPA of Mastercard' },
  'IReq/iReqCode':         { fits: ascii(4),                        need: O, decides: no,      means: 'what was wrong with PAReq' },
} as const satisfies LegacyTable

// oxfmt-ignore
export const legacyError = {
  version:      { fits: text(10),     need: R, decides: no, means: 'of the protocol' },
  errorCode:    { fits: digits(1, 3), need: R, decides: no, means: '1 root, 2 message, 3 element missing, 4 critical element, 5 format, 6 version, 98 and 99 failures' },
  errorMessage: { fits: text(2048),   need: O, decides: no, means: 'in words' },
  errorDetail:  { fits: text(2048),   need: O, decides: no, means: 'which element, mostly' },
  vendorCode:   { fits: text(256),    need: O, decides: no, means: "the sender's own code" },
} as const satisfies LegacyTable
