import { sha1Hex, sameText } from '../../../src/base/digest.ts'
import { mask, maskCardNumbers } from '../../../src/base/log.ts'
import type { Secret } from '../../../src/base/secret.ts'
import type { StoryField, StoryMessage, Signed, StoryTone } from '../../../src/look/story.ts'
import { saleRequest } from '../../../src/spec/gateway/sale.ts'
import { statusReply, statusRequest } from '../../../src/spec/gateway/status.ts'
import { uploadCresRequest, uploadMethodRequest, uploadParesRequest } from '../../../src/spec/gateway/upload.ts'

/** The messages of an order's time line, each an arrow. Card data is masked before it gets here. */

/** A message as recorded; absent fields have their usual values. */
export type Note = Pick<StoryMessage, 'from' | 'to' | 'name' | 'fields'> & Partial<StoryMessage>

type Row = { means: string }
// If request and reply share a name, the request's sentence describes both.
const rows: Readonly<Record<string, Row>> = {
  ...statusReply,
  ...uploadCresRequest,
  ...uploadMethodRequest,
  ...uploadParesRequest,
  ...statusRequest,
  ...saleRequest,
}

const isStars = new Set(['cvv2', 'expire_month', 'expire_year', 'card-exp-month', 'card-exp-year'])
const isNumber = new Set(['credit_card_number', 'cardNumber'])

/** The displayable fields of a form. */
export const shownFields = (pairs: Iterable<readonly [string, string]>): StoryField[] =>
  Array.from(pairs, ([name, value]) => {
    const means = rows[name]?.means
    const shown = isNumber.has(name) ? mask(value) : isStars.has(name) ? '***' : maskCardNumbers(value)
    return { name, value: shown, ...(means === undefined ? {} : { means }) }
  })

/** `control` of these parts with our key; the parts are shown, the key never. */
export function signedBy(key: Secret<string>, parts: StoryField[], control?: string): Signed {
  const expected = sha1Hex(parts.map(({ value }) => value).join('') + key.reveal())
  return { parts, control: control ?? expected, holds: control === undefined || sameText(expected, control.toLowerCase()) }
}

export const toneOf = (status: string | undefined): StoryTone =>
  status === 'approved' ? 'good' : status === 'declined' || status === 'error' || status === 'filtered' ? 'bad' : 'plain'

/** transStatus of 3-D Secure with its meaning. */
export const statusInWords = (status: string): string => `${status}: ${statuses[status] ?? 'unknown'}`

const statuses: Readonly<Record<string, string>> = {
  Y: 'authenticated',
  A: 'attempted',
  N: 'not authenticated',
  R: 'rejected',
  U: 'could not say',
  C: 'challenge required',
  I: 'informational',
  D: 'decoupled',
}

/** Combines a question and its answer with the previous ones if the answer is the same. */
export function foldRepeat(messages: StoryMessage[], asked: StoryMessage, answered: StoryMessage): void {
  const before = messages.findLast((one) => one !== answered && one.name === 'status-response')
  if (before === undefined || textOf(before) !== textOf(answered)) return
  const question = messages[messages.indexOf(before) - 1]
  before.times++
  if (question?.name === 'status') question.times++
  for (const one of [asked, answered]) messages.splice(messages.indexOf(one), 1)
}

/** The serial number differs in each reply. */
const textOf = ({ fields }: StoryMessage): string =>
  fields
    .filter(({ name }) => name !== 'serial-number')
    .map(({ name, value }) => name + value)
    .join('\n')
