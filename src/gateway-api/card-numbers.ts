/** The check that no card number is sent where it would be stored in clear. */
import type { Issuer } from '../card/bins.ts'
import { hasAnyNumber, hasThisNumber, textWithDigits } from '../card/number-in-text.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Follow, Known, Payment, Rebill } from './stages.ts'

/**
 * Only here can a number with a valid check digit be taken for a card: one in ten long references
 * has one.
 */
const freeTexts: ReadonlySet<string> = new Set(['order_desc', 'comment', 'merchant_data'])

/**
 * The card of the payment in any field, or any card in a free text. The number is in no refusal,
 * and a name of the order that has it is not returned. Checked after the checksum: searching a long
 * text takes time, and the BIN table is nothing to show to strangers.
 */
export function textsHaveNoCardNumber(
  { values, entry, idempotencyKey }: Known<Payment | Rebill | Follow>,
  { issuerOf }: { issuerOf: (pan: string) => Issuer | undefined },
): Refusal | undefined {
  const own = 'credit_card_number' in values ? values.credit_card_number.reveal() : undefined
  const each: Readonly<Record<string, unknown>> = values
  for (const name in each) {
    const value = typeof each[name] === 'string' ? textWithDigits(each[name]) : undefined
    if (value === undefined) continue
    if (own !== undefined && hasThisNumber(value, own))
      return { ...refused(name, 'it has the number of the card'), ...(name === 'client_orderid' ? { hidesName: true } : {}) }
    const isJudged = freeTexts.has(name) && !entry.endpoints.every(({ settings }) => settings.cardNumbersInText)
    if (isJudged && hasAnyNumber(value, (pan) => issuerOf(pan) !== undefined)) return refused(name, 'it has a card number')
  }
  return own !== undefined && idempotencyKey !== undefined && hasThisNumber(idempotencyKey, own)
    ? refused('Idempotency-Key', 'it has the number of the card')
    : undefined
}

const refused = (name: string, why: string): Refusal => refuse('field is invalid', `${name} is invalid: ${why}`)
