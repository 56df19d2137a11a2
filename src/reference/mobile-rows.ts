/** The rows of the mobile API for readers, and the worked example of each operation. */
import { secret } from '../base/secret.ts'
import { sessionSignature } from '../merchant/session.ts'
import type { Choice, ChosenNeed } from '../spec/mobile/field.ts'
import { exampleAnswerValues, exampleRequestValues, mobileExampleOf, type ExampleValues } from '../spec/mobile/examples.ts'
import { mobileRow, type MobileOperation, type MobileTable } from '../spec/mobile/operations.ts'
import type { SignedText } from '../spec/mobile/signatures.ts'
import { exampleBaseUrl, exampleKey, exampleMerchantUrl } from './example.ts'

interface MobileRow {
  path: string
  must: string
  need: string
  means: string
}

const needWords: Record<ChosenNeed, string> = {
  'sourceOfFunds.card': 'when a card pays',
  'sourceOfFunds.reference': 'when a reference pays',
  'destinationOfFunds.card': 'when a card is credited',
  'destinationOfFunds.reference': 'when a reference is credited',
}

export const mobileRows = (table: MobileTable): MobileRow[] =>
  Object.entries(table).map(([path, { is, need, means }]) => ({
    path,
    must: is.must,
    need: needWords[need as keyof typeof needWords] ?? need,
    means,
  }))

/** Which of several members are required, in words. */
export function choiceText({ at, has, of }: Choice, code: (path: string) => string): string {
  const ways = of.map((names) => names.map((name) => code(`${at}.${name}`)).join(' and '))
  return has === 'exactly one' ? `Send exactly one of ${ways.join(' and ')}.` : `Send at least ${ways.join(', or ')}.`
}

export interface SignedExample {
  at: SignedText['at']
  parts: readonly { path: string; optional: boolean; value: string }[]
  text: string
  signature: string
}

export interface MobileExample {
  url: string
  request: object
  answer: object
  carries?: SignedExample
  answers?: SignedExample
}

export function mobileExample(operation: MobileOperation): MobileExample {
  const { side, path, carries, answers } = mobileRow(operation)
  const made = { carries: carries && signed(carries), answers: answers && signed(answers) }
  const within = (one: SignedExample | undefined): ExampleValues => new Map(one && [[one.at, one.signature]])
  const named = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(mobileExampleOf(name)))
  return {
    url: `${side === 'service' ? exampleBaseUrl : exampleMerchantUrl}${named}`,
    request: nested([...exampleRequestValues(operation), ...within(made.carries)]),
    answer: nested([...exampleAnswerValues(operation), ...within(made.answers)]),
    ...(made.carries ? { carries: made.carries } : {}),
    ...(made.answers ? { answers: made.answers } : {}),
  }
}

function signed({ at, parts }: SignedText): SignedExample {
  const valued = parts.map(({ path, optional = false }) => ({ path, optional, value: String(mobileExampleOf(path)) }))
  const values = valued.map(({ value }) => value)
  return { at, parts: valued, text: values.join(''), signature: sessionSignature(values, secret(exampleKey))! }
}

type Branch = { [name: string]: unknown }

/** Values by path as a nested object. */
export function nested(values: Iterable<readonly [path: string, value: unknown]>): object {
  const whole: Branch = {}
  for (const [path, value] of values) {
    const names = path.split('.')
    const last = names.pop()!
    const within = names.reduce<Branch>((branch, name) => (branch[name] ??= {}) as Branch, whole)
    within[last] = value
  }
  return whole
}
