/** The amount of a random sum, and how answers are judged (docs/choices.md, "Mobile API"). */
import { sameText } from '../../base/digest.ts'
import { decimalToMinor, knownCurrency } from '../../base/money.ts'
import { below, type Random } from '../../base/random.ts'
import { minorOfCentis } from './centis.ts'
import type { Invoice } from '../invoice/invoice.ts'

const least = 100
const most = 999
/** How many answers the cardholder has, and how much time. */
const mostAnswers = 3
export const answerMs = 30 * 60_000
/** Wrong answers for one card, over all invoices of all merchants. */
export const mostWrong = 9
export const wrongForMs = 24 * 3_600_000

/**
 * The sum of such a number, in minor units: hundredths of the unit, and the smallest units of a
 * currency that has none. So every currency has 900 sums; of whole yen below ten there are nine.
 */
export const sumMinorOf = (number: number, currency: string): bigint =>
  knownCurrency(currency).exponent < 2 ? BigInt(number) : minorOfCentis(number, currency)!

/** The smallest and the largest sum that may be held. */
export const boundsOf = (currency: string): { least: bigint; most: bigint } => ({
  least: sumMinorOf(least, currency),
  most: sumMinorOf(most, currency),
})

export const drawSumMinor = (random: Random, currency: string): bigint =>
  sumMinorOf(least + below(random, most - least + 1), currency)

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
