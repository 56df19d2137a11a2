/** The settings of a gate, their valid values, and the display of a gate. */
import countries from 'i18n-iso-countries/index.js'
import type { GateRow, MacAlgorithm } from '../../merchant/merchant.ts'
import { transferCommission } from '../../acquirer/commission.ts'
import { commissionJson, commissionText } from './commission.ts'
import { jsonOf, onOff, type Fact } from '../facts.ts'
import { certificateFacts, dayOf, lineMisfit } from './gate-tls.ts'
import { isoTime, spanText } from '../moments.ts'
import { unfit, type Misfit } from '../refused.ts'
import type { GateEntry } from './rows.ts'

/** The defaults of a new gate; only its acquirer knows the rest. */
export const usualGate = {
  answerTimeoutMs: 30_000,
  partialCapture: true,
  partialReversal: true,
  recognisesRepeats: false,
  maxOpen: 2_000,
  countryNumeric: '840',
}

/** The numeric code of a country of ISO 3166-1 from its two letters; undefined is a refusal. */
export const readCountry = (text: string): string | undefined => countries.alpha2ToNumeric(text.toUpperCase())

const countryText = ({ countryNumeric }: GateRow): string =>
  `${countries.numericToAlpha2(countryNumeric) ?? 'unknown'} (${countryNumeric})`

/** The patterns of texts; the lengths are those of docs/iso8583.md. */
// oxfmt-ignore
const texts = [
  ['host',             /^[A-Za-z0-9.:_-]{1,253}$/, 'a host name or an address'],
  ['terminalId',       /^[\x21-\x7e]{1,8}$/,       'one to eight characters without spaces'],
  ['cardAcceptorId',   /^[\x20-\x7e]{1,15}$/,      'one to fifteen printable characters'],
  ['cardAcceptorName', /^.{1,99}$/u,               'one to 99 characters'],
  ['acquirerId',       /^[0-9]{1,11}$/,            'one to eleven digits'],
  ['mcc',              /^[0-9]{4}$/,               'four digits'],
  ['descriptor',       /^.{1,64}$/u,               'one to 64 characters'],
] as const

/** The ranges of whole numbers, and their wording. */
// oxfmt-ignore
const numbers = [
  ['port',                  1,     65_535,        'from 1 to 65535'],
  ['answerTimeoutMs',       1_000, 120_000,       'from 1s to 2min'],
  ['commissionFixedMinor',  0,     1_000_000_000, 'a whole number from 0 to 1000000000'],
  ['commissionBasisPoints', 0,     10_000,        'a whole number from 0 to 10000'],
  ['maxOpen',               1,     100_000,       'from 1 to 100000'],
] as const

/** The first value that is invalid or does not fit the gate's messages. */
export function gateMisfit(gate: GateRow): Misfit | undefined {
  const text = texts.find(([field, form]) => !form.test(gate[field]))
  if (text) return unfit(text[0], text[2])
  const number = numbers.find(([field, least, most]) => !isWhole(gate[field] ?? 0, least, most))
  return number ? unfit(number[0], number[3]) : lineMisfit(gate)
}

const isWhole = (value: number, least: number, most: number) => Number.isInteger(value) && value >= least && value <= most

export const gateFacts = ({ name, enabled, settings: s }: Pick<GateEntry, 'name' | 'enabled' | 'settings'>): Fact[] => [
  ['Name', name],
  ['State', onOff(enabled), 'status'],
  ['Address', `${s.host}:${s.port}`],
  ...lineFacts(s),
  ['MAC', s.mac === undefined ? 'none' : macNames[s.mac]],
  ['Terminal', s.terminalId],
  ['Card acceptor', `${s.cardAcceptorId} (${s.cardAcceptorName})`],
  ['Acquirer', s.acquirerId],
  ['MCC', s.mcc],
  ['Country', countryText(s)],
  ['Descriptor', s.descriptor],
  ['Answer timeout', spanText(s.answerTimeoutMs)],
  ['Parts captured', onOff(s.partialCapture)],
  ['Parts returned', onOff(s.partialReversal)],
  ['Recognises repeats', onOff(s.recognisesRepeats)],
  ['Most open at once', String(s.maxOpen)],
  ['Commission of a transfer', commissionText(transferCommission(s))],
  ["Seller's commission", s.sellerCommission && commissionText(s.sellerCommission)],
  ["Acquirer's commission", s.acquirerCommission && commissionText(s.acquirerCommission)],
  [
    'Recurrent payments',
    `${s.recurrentInitiator ?? 'MERCHANT'}, ${s.recurrentScenario ?? 'REGULAR'} unless a request says otherwise`,
  ],
]

const macNames: Record<MacAlgorithm, string> = {
  'aes-cmac': 'AES-CMAC',
  'retail-mac': 'ISO 9797-1 algorithm 3 (retail MAC)',
}

/** The private key is not shown; that there is one follows from the certificate. */
function lineFacts({ host, tls, plainLine }: GateRow): Fact[] {
  if (!tls) return [['Line', plainLine ? 'in clear, to any address' : 'in clear, to private addresses only']]
  return [
    ['Line', `TLS, to ${tls.name ?? host}`],
    ['Acquirer authority', certificatesText(tls.ca)],
    ['Our certificate', tls.certificate === undefined ? 'none' : certificatesText(tls.certificate)],
  ]
}

const certificatesText = (pem: string): string =>
  certificateFacts(pem)
    .map(({ subject, until }) => `${subject}, until ${dayOf(until)}`)
    .join('; ')

const certificatesJson = (pem: string) =>
  certificateFacts(pem).map(({ subject, until }) => ({ subject, valid_until: isoTime(until) }))

const tlsJson = ({ host, tls }: GateRow) =>
  tls === undefined
    ? null
    : {
        name: tls.name ?? host,
        authorities: certificatesJson(tls.ca),
        certificates: certificatesJson(tls.certificate ?? ''),
      }

/** What a setting counts as where a gate has none. */
const unset = {
  plainLine: false,
  mac: undefined,
  commissionFixedMinor: 0,
  commissionBasisPoints: 0,
  recurrentInitiator: 'MERCHANT',
  recurrentScenario: 'REGULAR',
}

export const gateJson = (g: Omit<GateEntry, 'createdAt'> & { createdAt?: number }) => ({
  gate_id: g.gateId,
  name: g.name,
  enabled: g.enabled,
  ...jsonOf({
    ...unset,
    ...g.settings,
    tls: tlsJson(g.settings),
    sellerCommission: commissionJson(g.settings.sellerCommission),
    acquirerCommission: commissionJson(g.settings.acquirerCommission),
  }),
  created_at: isoTime(g.createdAt),
})
