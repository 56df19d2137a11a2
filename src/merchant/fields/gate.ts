/**
 * What can be set at a gate besides the protection of its line; the type of its settings follows.
 */
import countries from 'i18n-iso-countries/index.js'
import { fields, type Settings } from '../../entity/fields.ts'
import { choice, kind, onOff, span, text, Unreadable, whole } from '../../entity/kinds.ts'
import { commission } from './commission.ts'

/** TLS of a gate's line. All texts are PEM. */
export interface GateTls {
  /** The authorities one of which must have signed the acquirer's certificate. */
  ca: string
  /** The name that the acquirer's certificate must have; the host if not set. */
  name?: string
  /** Our certificate as a client, and those that lead to its authority. */
  certificate?: string
}

/** AES-CMAC, or algorithm 3 of ISO/IEC 9797-1 with DES. */
export const macAlgorithms = ['aes-cmac', 'retail-mac'] as const
export type MacAlgorithm = (typeof macAlgorithms)[number]

export type GateRow = Settings<typeof gateFields.table> & {
  /** The line is in clear if not set. */
  tls?: GateTls
  /** Messages have no MAC if not set. */
  mac?: MacAlgorithm
}

/**
 * A name, or an address in its usual form: resolvers read others too, such as the number 134744072
 * for 8.8.8.8.
 */
export const hostName = text(
  'host',
  /^(?![-.])(?!(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+))*$)[A-Za-z0-9.:_-]{1,253}$|^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$/i,
  'a host name or an address',
)

/** A country of ISO 3166-1: people write its two letters, messages have its three digits. */
const country = kind<string>({
  hint: 'code',
  read: (letters) =>
    (/^[a-z]{2}$/i.test(letters) ? countries.alpha2ToNumeric(letters.toUpperCase()) : undefined) ??
    new Unreadable('a country by two letters of ISO 3166-1, such as US or DE'),
  written: (numeric) => countries.numericToAlpha2(numeric) ?? '',
  shown: (numeric) => `${countries.numericToAlpha2(numeric) ?? 'unknown'} (${numeric})`,
  fromJson: (json) =>
    typeof json === 'string' && countries.numericToAlpha2(json)
      ? json
      : new Unreadable('a country by three digits of ISO 3166-1'),
})

/** In minor units of the currency of the payment. */
const minorUnits = { ...whole(0, 1_000_000_000), shown: (minor: number) => `${minor} minor units` }
const basisPoints = { ...whole(0, 10_000), shown: (points: number) => `${points / 100} %` }

const initiators = ['MERCHANT', 'CARDHOLDER'] as const
const scenarios = ['REGULAR', 'IRREGULAR'] as const
export type RecurrentInitiator = (typeof initiators)[number]
export type RecurrentScenario = (typeof scenarios)[number]

/** The lengths are those of docs/iso8583.md. */
// oxfmt-ignore
export const gateFields = fields({
  host:                  { is: hostName, needed: true, label: 'Host', means: 'host name or address of the acquirer' },
  port:                  { is: whole(1, 65_535),        needed: true,     label: 'Port',                     means: 'port of the acquirer' },
  plainLine:             { is: onOff,                   usual: false,     label: 'Plain line',               means: 'whether an unencrypted line may lead to a public host' },
  terminalId:            { is: text('id', /^[\x21-\x7e]{1,8}$/, 'one to eight characters without spaces'), needed: true, label: 'Terminal', means: 'field 41: the terminal, at most 8 characters' },
  cardAcceptorId:        { is: text('id', /^[\x20-\x7e]{1,15}$/, 'one to fifteen printable characters'), needed: true, label: 'Card acceptor', means: 'field 42: the merchant at the acquirer, at most 15 characters' },
  cardAcceptorName:      { is: text('name', /^[^\p{Cc}]{1,99}$/u, 'one to 99 characters on one line'), needed: true, label: 'Name of the card acceptor', means: 'field 43: name and place, at most 99 characters' },
  acquirerId:            { is: text('digits', /^[0-9]{1,11}$/, 'one to eleven digits'), needed: true, label: 'Acquirer', means: 'field 32: the acquirer, at most 11 digits' },
  mcc:                   { is: text('digits', /^[0-9]{4}$/, 'four digits'), needed: true, label: 'MCC',        means: 'field 26: the merchant category code, four digits' },
  countryNumeric:        { is: country,                 usual: '840',     label: 'Country',                  means: 'country of the merchant, two letters of ISO 3166-1; sent to issuers in 3-D Secure', option: 'country' },
  descriptor:            { is: text('text', /^[^\p{Cc}]{1,64}$/u, 'one to 64 characters on one line'), needed: true, label: 'Descriptor', means: "what the cardholder's statement says" },
  answerTimeoutMs:       { is: span('1s', '2min'),      usual: 30_000,    label: 'Answer timeout',           means: 'how long to wait for an answer' },
  partialCapture:        { is: onOff,                   usual: true,      label: 'Parts captured',           means: 'whether partial captures are allowed' },
  partialReversal:       { is: onOff,                   usual: true,      label: 'Parts returned',           means: 'whether partial returns are allowed' },
  recognisesRepeats:     { is: onOff,                   usual: false,     label: 'Recognises repeats',       means: 'whether the acquirer recognises a repeat by STAN and RRN, so that a message whose answer was lost may be sent again' },
  maxOpen:               { is: whole(1, 100_000),       usual: 2_000,     label: 'Most open',        means: 'how many authorisations may be open at the same time; more are refused with code 20. The second half is shared equally among the merchants' },
  commissionFixedMinor:  { is: minorUnits,              usual: 0,         label: 'Transfer, fixed part', means: 'the fixed fee of a transfer, in minor units of its currency', option: 'commission-fixed' },
  commissionBasisPoints: { is: basisPoints,             usual: 0,         label: 'Transfer, share of it',        means: 'the proportional fee of a transfer, in hundredths of a per cent of its amount' },
  sellerCommission:      { is: commission,                                label: "Seller's commission",      means: 'the fee a merchant pays for a payment, for endpoints that show it: minor units + hundredths of a per cent, such as 30+150' },
  acquirerCommission:    { is: commission,                                label: "Acquirer's commission",    means: "the acquirer's part of that fee, in the same form" },
  recurrentInitiator:    { is: choice(initiators, 'who'), usual: 'MERCHANT', label: 'Recurrent payments',    means: 'who starts a recurrent payment, if its request does not say: MERCHANT or CARDHOLDER' },
  recurrentScenario:     { is: choice(scenarios, 'how'), usual: 'REGULAR', label: 'Recurrence',              means: 'whether recurrent payments are regular, if the request does not say: REGULAR or IRREGULAR' },
})
