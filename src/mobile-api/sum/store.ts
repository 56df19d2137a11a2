import type { CommonHashes } from '../../card/vault.ts'
import { statement, timestamp, type Pool } from '../../storage/pool.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { transaction } from '../../storage/transaction.ts'
import { declines, holdOf, type Invoice } from '../invoice/invoice.ts'
import { judgeAnswer, wrongForMs } from './random-sum.ts'
import type { OpenInvoice } from '../invoice/rows.ts'
import { lockInvoice, changeInvoice, type OnwardChange } from '../invoice/store.ts'

const count = statement<{ wrong: bigint }>(`
  select count(*) as wrong from wrong_sum w, unnest(w.wrong_at) t (at)
  where w.card_hash = any ($1::text[]) and t.at > $2::timestamptz`)
/**
 * Locks the rows, or creates them: answers for one card are judged one after the other, also while
 * one process uses a new key already and another does not.
 */
const lock = statement<object>(`
  insert into wrong_sum as w (card_hash, wrong_at, last_at)
  select hash, '{}', $2 from unnest($1::text[]) hash order by hash
  on conflict (card_hash) do update set last_at = w.last_at`)
const note = statement<object>(`
  update wrong_sum w set last_at = $3,
    wrong_at = array(select t.at from unnest(w.wrong_at) t (at) where t.at > $2::timestamptz) || $3::timestamptz
  where w.card_hash = $1`)
const forget = statement<object>(`
  delete from wrong_sum w using (
    select card_hash from wrong_sum where last_at < $1 order by last_at limit $2 for update skip locked) old
  where w.card_hash = old.card_hash returning w.card_hash`)
const atOnce = 1_000

export interface SumAnswer {
  /**
   * The number of the answer that the page was made for, from 1: the same form sent twice is one
   * answer.
   */
  answerNo: number
  sumMinor: bigint
  cardHashes: CommonHashes
}

export interface WrongSums {
  /** Wrong answers for a card within a day, at all merchants. */
  count(cardHashes: CommonHashes, now: number): Promise<number>
  /** Judges an answer and stores the next state, once; undefined if no answer is awaited. */
  answer(invoice: Invoice, answer: SumAnswer, processId: bigint, now: number): Promise<OpenInvoice | undefined>
}

export function openWrongSums(pool: Pool, keys: KeyRing): WrongSums {
  return {
    async count(cardHashes, now) {
      const [row] = await pool.run(count, [[...cardHashes], timestamp(now - wrongForMs)])
      return Number(row!.wrong)
    },
    answer: ({ merchantId, invoiceId }, { answerNo, sumMinor, cardHashes }, processId, now) =>
      transaction(pool, async (runner) => {
        const open = await lockInvoice(runner, keys, merchantId, invoiceId)
        if (!open || !isAsked(open.invoice, answerNo, now)) return undefined
        const { invoice } = open
        const [hashes, times] = [[...cardHashes], [timestamp(now - wrongForMs), timestamp(now)]]
        const locked = runner.run(lock, [hashes, timestamp(now)])
        const [[counted]] = await Promise.all([runner.run(count, [hashes, times[0]]), locked])
        const { change, isWrong } = afterAnswer(invoice, sumMinor, Number(counted!.wrong), processId)
        if (isWrong) await runner.run(note, [cardHashes[0], ...times])
        return changeInvoice(runner, keys, invoice, change, processId, now)
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
): { change: OnwardChange; isWrong: boolean } {
  const judged = judgeAnswer(sumMinor, holdOf(invoice).sumMinor, invoice.wrongAnswers, wrongOfCard)
  if (judged.is === 'right')
    return { change: { state: 'ordering', lease: processId, sumStatus: 'AUTHENTICATED' }, isWrong: false }
  const isWrong = judged.is === 'wrong'
  const wrongAnswers = invoice.wrongAnswers + (isWrong ? 1 : 0)
  if (isWrong && !judged.over) return { change: { state: 'answering', restsUntil: invoice.restsUntil!, wrongAnswers }, isWrong }
  return {
    change: { state: 'releasing', lease: processId, wrongAnswers, sumStatus: 'NOT_AUTHENTICATED', ...declines.sum },
    isWrong,
  }
}

/** Removes expired counts. Safe to run twice, and in several processes. */
export async function forgetWrongSums(pool: Pool, now: number): Promise<void> {
  let forgotten: object[]
  do forgotten = await pool.run(forget, [timestamp(now - wrongForMs), atOnce])
  while (forgotten.length === atOnce)
}
