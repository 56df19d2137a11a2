import { statement, timestamp, type Pool } from '../storage/pool.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import { transaction } from '../storage/transaction.ts'
import { declines, holdOf, type Invoice } from './invoice.ts'
import { judgeAnswer, wrongForMs } from './random-sum.ts'
import type { OpenInvoice } from './store-invoice-rows.ts'
import { lockInvoice, moveInvoice, type Move } from './store-invoices.ts'

const count = statement<{ wrong: bigint }>(`
  select (select count(*) from unnest(w.wrong_at) t (at) where t.at > $2::timestamptz) as wrong
  from wrong_sum w where w.card_hash = $1`)
/** Locks the row, or creates it: answers for one card are judged one after the other. */
const lock = statement<{ wrong: bigint }>(`
  insert into wrong_sum as w (card_hash, wrong_at, last_at) values ($1, '{}', $3)
  on conflict (card_hash) do update set last_at = w.last_at
  returning (select count(*) from unnest(w.wrong_at) t (at) where t.at > $2::timestamptz) as wrong`)
const note = statement<object>(`
  update wrong_sum w set last_at = $3,
    wrong_at = array(select t.at from unnest(w.wrong_at) t (at) where t.at > $2::timestamptz) || $3::timestamptz
  where w.card_hash = $1`)
const forget = statement<object>(`
  delete from wrong_sum w using (
    select card_hash from wrong_sum where last_at < $1 order by last_at limit $2 for update skip locked) old
  where w.card_hash = old.card_hash returning w.card_hash`)
const atOnce = 1_000

export interface Answer {
  /**
   * The number of the answer that the page was made for, from 1: the same form sent twice is one
   * answer.
   */
  answerNo: number
  sumMinor: bigint
  /** The same at every merchant. */
  cardHash: string
}

export interface WrongSums {
  /** Wrong answers for a card within a day, at all merchants. */
  count(cardHash: string, now: number): Promise<number>
  /** Judges an answer and stores the next state, once; undefined if no answer is awaited. */
  answer(invoice: Invoice, answer: Answer, processId: bigint, now: number): Promise<OpenInvoice | undefined>
}

export function openWrongSums(pool: Pool, keys: KeyRing): WrongSums {
  return {
    async count(cardHash, now) {
      const [row] = await pool.run(count, [cardHash, timestamp(now - wrongForMs)])
      return Number(row?.wrong ?? 0n)
    },
    answer: ({ merchantId, invoiceId }, { answerNo, sumMinor, cardHash }, processId, now) =>
      transaction(pool, async (runner) => {
        const open = await lockInvoice(runner, keys, merchantId, invoiceId)
        if (!open || !isAsked(open.invoice, answerNo, now)) return undefined
        const { invoice } = open
        const about = [cardHash, timestamp(now - wrongForMs), timestamp(now)]
        const [card] = await runner.run(lock, about)
        if (!card) throw new Error('the row of wrong sums was neither found nor made')
        const { move, isWrong } = afterAnswer(invoice, sumMinor, Number(card.wrong), processId)
        if (isWrong) await runner.run(note, about)
        return moveInvoice(runner, keys, invoice, move, processId, now)
      }),
  }
}

/** Whether this answer is awaited. */
export const isAsked = ({ state, restsUntil, wrongAnswers }: Invoice, answerNo: number, now: number): boolean =>
  state === 'answering' && restsUntil! > now && wrongAnswers + 1 === answerNo

/** The result of an awaited answer; `isWrong`: it counts against the card. */
export function afterAnswer(
  invoice: Invoice,
  sumMinor: bigint,
  wrongOfCard: number,
  processId: bigint,
): { move: Move; isWrong: boolean } {
  const judged = judgeAnswer(sumMinor, holdOf(invoice).sumMinor, invoice.wrongAnswers, wrongOfCard)
  if (judged.is === 'right') return { move: { state: 'ordering', lease: processId, sumStatus: 'AUTHENTICATED' }, isWrong: false }
  const isWrong = judged.is === 'wrong'
  const wrongAnswers = invoice.wrongAnswers + (isWrong ? 1 : 0)
  if (isWrong && !judged.over) return { move: { state: 'answering', restsUntil: invoice.restsUntil!, wrongAnswers }, isWrong }
  return {
    move: { state: 'releasing', lease: processId, wrongAnswers, sumStatus: 'NOT_AUTHENTICATED', ...declines.sum },
    isWrong,
  }
}

/** Removes expired counts. Safe to run twice, and in several processes. */
export async function forgetWrongSums(pool: Pool, now: number): Promise<void> {
  let forgotten: object[]
  do forgotten = await pool.run(forget, [timestamp(now - wrongForMs), atOnce])
  while (forgotten.length === atOnce)
}
