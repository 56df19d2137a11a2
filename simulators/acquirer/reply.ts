import { currencyOfNumeric } from '../../src/base/money.ts'
import { replyType } from './behaviour.ts'
import { cardFacts, loyaltyOf, maskCard } from './cards.ts'
import type { Entry } from './entry.ts'
import { readTags, writeTags, type Message } from './wire.ts'

/**
 * The replies of the simulated acquirer: pure, and built only from the request and its ledger
 * entry, so that a repeat gets the same reply.
 */

const echoed = [3, 4, 7, 11, 12, 32, 37, 41, 42, 49]

// oxfmt-ignore
const texts: Record<string, string> = {
  '100': 'Do not honour',
  '101': 'Expired card',
  '116': 'Not sufficient funds',
  '119': 'Not permitted to the cardholder',
  '121': 'Exceeds limit',
  '165': 'Cardholder authentication required',
  '208': 'Lost card',
  '209': 'Stolen card',
  '904': 'Format error',
  '909': 'System malfunction',
  '911': 'Issuer timed out',
  '914': 'Original not found',
}

/** The answer with this action code; `text` replaces the default text of the code. */
export function replyWith(request: Message, actionCode: string, text?: string): Message {
  const fields: Message['fields'] = []
  for (const number of echoed) {
    const value = request.fields[number]
    if (value !== undefined) fields[number] = value
  }
  fields[39] = actionCode
  const words = text ?? texts[actionCode]
  if (words !== undefined) fields[44] = words
  return { type: replyType(request.type)!, fields }
}

/** The answer for this entry, with all data that only an acquirer has. */
export function replyFor(request: Message, entry: Entry): Message {
  const reply = replyWith(request, entry.actionCode)
  reply.fields[7] = transmissionTime(entry.receivedAt)
  if (entry.approvalCode !== undefined) reply.fields[38] = entry.approvalCode
  const additional = additionalData(entry)
  if (additional !== '') reply.fields[62] = additional
  return reply
}

/** The last second that was written, and its text: many messages share one. */
const written = { second: Number.NaN, text: '' }

/** UTC, `MMDDhhmmss`. */
function transmissionTime(at: number): string {
  const second = Math.floor(at / 1000)
  if (written.second !== second) {
    written.second = second
    written.text = new Date(at)
      .toISOString()
      .replaceAll(/[^0-9]/g, '')
      .slice(4, 14)
  }
  return written.text
}

/**
 * Field 62. TX is `SIM-` and the order id; NR, for approvals of a card, the day of the message and
 * the last nine of its RRN; MM comes with 116 for a card alone; loyalty with approved sales,
 * preauthorisations and debits of the loyalty BIN.
 */
function additionalData(entry: Entry): string {
  const approved = entry.actionCode === '000'
  const facts = entry.card === '' ? undefined : cardFacts(entry.card)
  const pays = approved && (entry.kind === 'sale' || entry.kind === 'preauth' || entry.kind === 'debit')
  const unit = 10n ** BigInt(currencyOfNumeric(entry.currency)?.exponent ?? 0)
  return writeTags({
    TX: entry.orderId === '' ? undefined : `SIM-${entry.orderId}`,
    NR: approved && facts ? entry.time12.slice(0, 6) + entry.rrn.slice(-9) : undefined,
    PC: facts?.productCode,
    PN: facts?.productName,
    TC: facts?.typeCode,
    TN: facts?.typeName,
    IC: facts?.issuerCountry,
    IB: facts?.issuerName,
    ...(pays ? loyaltyOf(entry.card, entry.amountMinor / unit) : undefined),
    MM:
      entry.actionCode === '116' && entry.original === undefined
        ? 'The amount is above what is available on this card'
        : undefined,
  })
}

const hexOf = (mac: string): string => Buffer.from(mac, 'latin1').toString('hex')

const shownAs = new Map([
  [2, maskCard],
  [14, () => '****'],
  [48, maskTags],
  [64, hexOf],
  [128, hexOf],
])

/** The fields of a message for people: the card number by its ends, expiry and CVV2 not at all. */
export function masked({ fields }: Message): Record<string, string> {
  const shown: Record<string, string> = {}
  for (const [number, value] of fields.entries()) if (value !== undefined) shown[number] = shownAs.get(number)?.(value) ?? value
  return shown
}

function maskTags(text: string): string {
  const tags = readTags(text)
  if (!tags) return '***'
  return [...tags].map(([tag, value]) => `${tag}=${tag === '92' || tag === 'AV' ? '***' : value}`).join(' ')
}
