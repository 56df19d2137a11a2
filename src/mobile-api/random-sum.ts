/** The amount of a random sum, and how answers are judged (docs/choices.md, "Mobile API"). */
import { sameText } from '../base/digest.ts'
import { decimalToMinor, knownCurrency } from '../base/money.ts'
import { below, type Random } from '../base/random.ts'
import { minorOfCentis } from './centis.ts'
import type { Invoice } from './invoice.ts'

const leastCentis = 100
const mostCentis = 999
/** How many answers the cardholder has, and how much time. */
const mostAnswers = 3
export const answerMs = 30 * 60_000
/** Wrong answers for one card, over all invoices of all merchants. */
export const mostWrong = 9
export const wrongForMs = 24 * 3_600_000

/**
 * Every sum that may be held, in minor units, ascending. A currency without hundredths has only a
 * few.
 */
function sumsOf(currency: string): bigint[] {
  const sums: bigint[] = []
  for (let centis = leastCentis; centis <= mostCentis; centis++) {
    const minor = minorOfCentis(centis, currency)
    if (minor !== undefined) sums.push(minor)
  }
  return sums
}

/** The smallest and the largest of them. Throws for a currency that can express none. */
export function boundsOf(currency: string): { least: bigint; most: bigint } {
  const sums = sumsOf(currency)
  const [least, most] = [sums[0], sums.at(-1)]
  if (least === undefined || most === undefined) throw new Error(`no sum from 1.00 to 9.99 can be held in ${currency}`)
  return { least, most }
}

export function drawSumMinor(random: Random, currency: string): bigint {
  const sums = sumsOf(currency)
  // `below` returns an index less than the number of sums.
  return sums[below(random, sums.length)]!
}

const longestAnswer = 12

/**
 * A sum as a person types it, in minor units: `3.45`, `3,45`, or with more zeros; undefined if it
 * is not a sum.
 */
export function readSum(typed: string, currency: string): bigint | undefined {
  const text = typed.trim().replace(',', '.')
  return text.length > longestAnswer ? undefined : decimalToMinor(text, knownCurrency(currency).exponent)
}

export type AnswerJudged =
  | { is: 'right' }
  /** `over`: no answer is left. */
  | { is: 'wrong'; over: boolean }
  /** This card has had so many wrong answers that no answer counts. */
  | { is: 'blocked' }

/**
 * `wrongOfCard`: wrong answers of the last day, before this one. The comparison takes the same time
 * for every answer.
 */
export function judgeAnswer(given: bigint, sumMinor: bigint, wrongAnswers: number, wrongOfCard: number): AnswerJudged {
  const isRight = sameText(padded(given), padded(sumMinor))
  if (wrongOfCard >= mostWrong) return { is: 'blocked' }
  if (isRight) return { is: 'right' }
  return { is: 'wrong', over: wrongAnswers + 1 >= mostAnswers || wrongOfCard + 1 >= mostWrong }
}

const padded = (minor: bigint): string => String(minor).padStart(longestAnswer + 3, '0')

export const answersLeft = ({ wrongAnswers }: Pick<Invoice, 'wrongAnswers'>, wrongOfCard: number): number =>
  Math.max(0, Math.min(mostAnswers - wrongAnswers, mostWrong - wrongOfCard))
