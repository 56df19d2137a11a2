import type { CommonHashes } from '../../src/card/vault.ts'
import { wrongForMs } from '../../src/mobile-api/sum/random-sum.ts'
import { afterAnswer, isAsked, type SumAnswer, type WrongSums } from '../../src/mobile-api/sum/store.ts'
import { invoiceKey, type Invoice } from '../../src/mobile-api/invoice/invoice.ts'
import type { OpenInvoice } from '../../src/mobile-api/invoice/rows.ts'
import type { Invoices } from './invoices.ts'

/**
 * The table of wrong sums. The real statement locks the invoice and then the card until the answer
 * is written, so an answer is a single step here.
 */
export class Sums {
  readonly #invoices: Invoices
  readonly #wrongAt = new Map<string, number[]>()

  constructor(invoices: Invoices) {
    this.#invoices = invoices
  }

  count(cardHashes: CommonHashes, now: number): number {
    return cardHashes.flatMap((hash) => this.#wrongAt.get(hash) ?? []).filter((at) => at > now - wrongForMs).length
  }

  answer(of: Invoice, { answerNo, sumMinor, cardHashes }: SumAnswer, processId: bigint, now: number): OpenInvoice | undefined {
    const row = this.#invoices.rows.get(invoiceKey(of))
    if (!row || !isAsked(row.invoice, answerNo, now)) return undefined
    this.#invoices.demandHere(of)
    const { change, isWrong } = afterAnswer(row.invoice, sumMinor, this.count(cardHashes, now), processId)
    const [current] = cardHashes
    if (isWrong) this.#wrongAt.set(current, [...(this.#wrongAt.get(current) ?? []), now])
    return this.#invoices.move(row.invoice, change, processId, now)
  }
}

/** The store of one process; each statement goes through `run`. */
export const openSums = (table: Sums, run: <T>(body: () => T) => Promise<T>): WrongSums => ({
  count: (cardHashes, now) => run(() => table.count(cardHashes, now)),
  answer: (invoice, answer, processId, now) => run(() => table.answer(invoice, answer, processId, now)),
})
