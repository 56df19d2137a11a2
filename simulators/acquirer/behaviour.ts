import { currencyOfNumeric } from '../../src/base/money.ts'
import { checkDigitHolds } from '../../src/base/luhn.ts'
import { cavvOf, type CavvKey } from '../three-d-secure/cavv.ts'
import { maskCard } from './cards.ts'
import type { Entry, Kind, Names } from './entry.ts'
import { seeded } from './faults.ts'
import { hashOf } from './records.ts'
import { readOriginal, readTags, type Message, type OriginalNames, type Tags } from './wire.ts'

/**
 * What the simulated acquirer makes of a message: pure, and blind to scripts, time of answering and
 * connections. Beyond docs/iso8583.md it holds these rules of its own:
 * - A message that misses a field, or has one that makes no sense, is answered 904 with the reason
 *   in field 44 and not booked.
 * - The same terminal, STAN and time with another kind, amount, currency or card is not a repeat:
 *   904, not booked.
 * - An authentication value is what the simulated issuer made for this very card, amount and
 *   currency, or the answer is 122. It is looked at where the issuers' key is known.
 * - A reversal takes back an entry only if field 56, the processing code, the RRN, the amount and
 *   the currency all fit it.
 * - A capture or a return needs an approved original in the same currency (914), with enough left
 *   (116). It is found by field 56, and by the
 *   RRN when field 56 is not there.
 */

/** The read-only side of the ledger. */
export interface Books {
  find(names: Names): Entry | undefined
  findByRrn(terminal: string, rrn: string): Entry | undefined
  isForestalled(original: Names): boolean
  leftToCapture(preauth: Entry): bigint
  leftToReturn(entry: Entry): bigint
}

export interface Refusal {
  does: 'refuse'
  actionCode: string
  text: string
}

/**
 * `book` carries the entry as it should stand, not yet answered; `again` the entry whose answer is
 * owed once more.
 */
export type Verdict = Refusal | { does: 'book'; entry: Entry } | { does: 'again'; entry: Entry }
export type ReversalVerdict = Refusal | { does: 'reverse'; by: Names; of: Names; entry: Entry | undefined }

interface KindRow {
  kind: Kind
  type: string
  processing: string
  functions: string[]
  needs: number[]
}

const always = [3, 7, 11, 12, 24]
const ofCard = [...always, 2, 4, 14, 22, 26, 32, 37, 41, 42, 43, 48, 49]
const ofOriginal = [...always, 4, 30, 32, 37, 41, 42, 48, 49]

// oxfmt-ignore
const kinds: KindRow[] = [
  { kind: 'sale',                 type: '1200', processing: '000000', functions: ['200'],        needs: ofCard },
  { kind: 'preauth',              type: '1100', processing: '000000', functions: ['101'],        needs: ofCard },
  { kind: 'account-verification', type: '1100', processing: '330000', functions: ['108'],        needs: ofCard },
  { kind: 'capture',              type: '1220', processing: '000000', functions: ['201', '202'], needs: ofOriginal },
  { kind: 'return',               type: '1200', processing: '200000', functions: ['200'],        needs: ofOriginal },
  { kind: 'credit',               type: '1200', processing: '260000', functions: ['200'],        needs: ofCard.filter((n) => n !== 14) },
  { kind: 'debit',                type: '1200', processing: '100000', functions: ['200'],        needs: ofCard },
]
const rowOf = (kind: Kind): KindRow => kinds.find((row) => row.kind === kind)!

const drawsOnOriginal = (kind: Kind): boolean => kind === 'capture' || kind === 'return'

const ofReversal = [...always, 4, 25, 32, 37, 41, 42, 48, 49, 56]

/** The type as first sent: a repeat ends in 1 and is otherwise equal. */
export const firstType = (type: string): string => type.slice(0, 3) + (type[3] === '1' ? '0' : type.slice(3))

export const isRepeat = (type: string): boolean => type[3] === '1'

/** The type of the answer; undefined for a message that is itself an answer. */
export function replyType(type: string): string | undefined {
  const role = Number(type[2])
  return role % 2 === 0 ? type.slice(0, 2) + (role + 1) + firstType(type).slice(3) : undefined
}

export const namesOf = ({ fields }: Message): Names => ({
  terminal: fields[41] ?? '',
  stan: fields[11] ?? '',
  time12: fields[12] ?? '',
})

const refuse = (actionCode: string, text: string): Refusal => ({ does: 'refuse', actionCode, text })

/** Judges everything but reversals and network messages. `now` is in milliseconds since 1970. */
export function judge(request: Message, books: Books, now: number, cavvKey?: CavvKey): Verdict {
  const { fields } = request
  const row = kinds.find(({ type, processing }) => type === firstType(request.type) && processing === fields[3])
  if (!row) return refuse('904', `no message ${request.type} with processing code ${fields[3] ?? '(none)'}`)
  const lacking = missing(row.needs, fields)
  if (lacking !== undefined) return refuse('904', lacking)
  const tags = readTags(fields[48]!)
  const problem = nonsense(row, fields, tags)
  if (!tags || problem !== undefined) return refuse('904', problem!)
  const names = namesOf(request)
  const known = books.find(names)
  if (known)
    return isSame(known, row.kind, fields) ? { does: 'again', entry: known } : refuse('904', 'names used by another message')
  if (books.isForestalled(names)) return refuse('909', 'reversed before it came')
  const decided = drawsOnOriginal(row.kind)
    ? decideByOriginal(row.kind, fields, books)
    : decideByCard(row.kind, fields, tags, now, cavvKey)
  if ('does' in decided) return decided
  return { does: 'book', entry: draft(row.kind, fields, names, tags, now, decided) }
}

export function judgeReversal(request: Message, books: Books): ReversalVerdict {
  const { fields } = request
  const problem = missing(ofReversal, fields) ?? (fields[24] === '400' ? undefined : 'field 24 of a reversal is 400')
  if (problem !== undefined) return refuse('904', problem)
  const original = readOriginal(fields[56]!)
  if (!original) return refuse('904', 'field 56 cannot be read')
  const by = namesOf(request)
  const of = { terminal: by.terminal, stan: original.stan, time12: original.time12 }
  const entry = books.find(of)
  return { does: 'reverse', by, of, entry: entry && isMeant(entry, original, fields) ? entry : undefined }
}

/** The same booking with the code that a script prescribes. */
export const declinedWith = (entry: Entry, actionCode: string): Entry => ({
  ...entry,
  approvalCode: undefined,
  actionCode,
  state: 'declined',
  mute: false,
})

function missing(needs: number[], fields: Message['fields']): string | undefined {
  const lacking = needs.find((number) => !fields[number])
  return lacking === undefined ? undefined : `field ${lacking} is missing`
}

function nonsense({ kind, functions }: KindRow, fields: Message['fields'], tags: Tags | undefined): string | undefined {
  if (!functions.includes(fields[24]!)) return `field 24 of this message is ${functions.join(' or ')}`
  if (!tags) return 'field 48 cannot be read'
  if (!currencyOfNumeric(fields[49]!)) return 'field 49 is not a currency'
  if (fields[14] !== undefined && !/^[0-9]{2}(0[1-9]|1[0-2])$/.test(fields[14])) return 'field 14 is not a month'
  const isZero = Number(fields[4]) === 0
  if (kind === 'account-verification' && !isZero) return 'field 4 of an account verification is zero'
  return kind !== 'account-verification' && isZero ? 'field 4 is zero' : undefined
}

function isSame(entry: Entry, kind: Kind, fields: Message['fields']): boolean {
  const sameCard = drawsOnOriginal(kind) || maskCard(fields[2]!) === entry.card
  return sameCard && entry.kind === kind && entry.amountMinor === BigInt(fields[4]!) && entry.currency === fields[49]
}

function isMeant(entry: Entry, original: OriginalNames, fields: Message['fields']): boolean {
  const { type, processing } = rowOf(entry.kind)
  const sameMessage = type === original.type && processing === fields[3] && entry.rrn === fields[37]
  return sameMessage && entry.amountMinor === BigInt(fields[4]!) && entry.currency === fields[49]
}

interface Decided {
  actionCode: string
  mute?: boolean
  card: string
  original?: Names
}

function decideByCard(kind: Kind, fields: Message['fields'], tags: Tags, now: number, cavvKey: CavvKey | undefined): Decided {
  const pan = fields[2]!
  const card = maskCard(pan)
  if (!checkDigitHolds(pan)) return { actionCode: '100', card }
  if (kind === 'credit') return { actionCode: '000', card }
  if (isExpired(fields[14]!, now)) return { actionCode: '101', card }
  const proof = tags.get('AV')
  if (cavvKey && proof !== undefined && proof !== proofOwed(cavvKey, fields, tags)) return { actionCode: '122', card }
  const challenged = tags.get('AM') === 'challenge' && (proof !== undefined || !cavvKey)
  return { ...decideByCvv2(tags.get('92'), challenged, BigInt(fields[4]!), fields[49]!), card }
}

/** The correct proof of the issuer for this card, amount and currency. */
function proofOwed(key: CavvKey, fields: Message['fields'], tags: Tags): string {
  const proven = {
    acctNumber: fields[2]!,
    dsTransID: tags.get('DT') ?? '',
    purchaseAmount: BigInt(fields[4]!).toString(),
    purchaseCurrency: fields[49]!,
  }
  return cavvOf(key, proven, tags.get('AM') === 'attempt' ? 'A' : 'Y', tags.get('TV') ?? '')
}

/** The sandbox's table. 217 is approved without an answer: money moves unknown to the gateway. */
function decideByCvv2(
  cvv2: string | undefined,
  challenged: boolean,
  amountMinor: bigint,
  currency: string,
): { actionCode: string; mute?: boolean } {
  switch (cvv2) {
    case undefined: {
      const limit = 1000n * 10n ** BigInt(currencyOfNumeric(currency)!.exponent)
      return { actionCode: amountMinor <= limit ? '000' : '116' }
    }
    case '123':
    case '1234':
    case '111':
    case '321':
      return { actionCode: '000' }
    case '217':
      return { actionCode: '000', mute: true }
    case '101':
    case '116':
    case '119':
    case '209':
      return { actionCode: cvv2 }
    case '165':
      return { actionCode: challenged ? '000' : '165' }
    default:
      return { actionCode: '100' }
  }
}

/** A card is valid to the end of its month, UTC. */
function isExpired(expiry: string, now: number): boolean {
  return now >= Date.UTC(2000 + Number(expiry.slice(0, 2)), Number(expiry.slice(2)), 1)
}

function decideByOriginal(kind: Kind, fields: Message['fields'], books: Books): Decided | Refusal {
  const named = fields[56] === undefined ? undefined : readOriginal(fields[56])
  if (fields[56] !== undefined && !named) return refuse('904', 'field 56 cannot be read')
  const terminal = fields[41]!
  const entry = named ? books.find({ terminal, stan: named.stan, time12: named.time12 }) : books.findByRrn(terminal, fields[37]!)
  const accepts: Kind[] = kind === 'capture' ? ['preauth'] : ['sale', 'debit', 'capture', 'preauth']
  const fits = entry?.state === 'approved' && accepts.includes(entry.kind) && entry.currency === fields[49]
  if (!entry || !fits || (named && named.type !== rowOf(entry.kind).type)) return { actionCode: '914', card: '' }
  if (BigInt(fields[30]!) !== entry.amountMinor) return refuse('904', 'field 30 is not the amount of the original')
  const { stan, time12, card } = entry
  const left = kind === 'capture' ? books.leftToCapture(entry) : books.leftToReturn(entry)
  return { actionCode: BigInt(fields[4]!) <= left ? '000' : '116', card, original: { terminal, stan, time12 } }
}

function draft(
  kind: Kind,
  fields: Message['fields'],
  { terminal, stan, time12 }: Names,
  tags: Tags,
  now: number,
  { actionCode, mute, card, original }: Decided,
): Entry {
  const approved = actionCode === '000'
  const rrn = fields[37]!
  return {
    terminal,
    stan,
    time12,
    rrn,
    orderId: tags.get('OI') ?? '',
    kind,
    card,
    amountMinor: BigInt(fields[4]!),
    currency: fields[49]!,
    actionCode,
    approvalCode: approved ? approvalCode(terminal, stan, time12, rrn) : undefined,
    state: approved ? 'approved' : 'declined',
    answered: false,
    mute: mute ?? false,
    receivedAt: now,
    reversedAt: undefined,
    original,
  }
}

/**
 * Six letters and digits derived from the message's names, so that a run with the same messages
 * gives the same codes.
 */
const approvalCode = (...names: string[]): string =>
  Math.floor(seeded(hashOf(...names))() * 36 ** 6)
    .toString(36)
    .toUpperCase()
    .padStart(6, '0')
