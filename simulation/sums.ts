import { wrongForMs } from '../src/mobile-api/random-sum.ts'
import { afterAnswer, isAsked, type Answer, type WrongSums } from '../src/mobile-api/store-sums.ts'
import { invoiceKey, type Invoice } from '../src/mobile-api/invoice.ts'
import type { OpenInvoice } from '../src/mobile-api/store-invoice-rows.ts'
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

  count(cardHash: string, now: number): number {
    return (this.#wrongAt.get(cardHash) ?? []).filter((at) => at > now - wrongForMs).length
  }

  answer(of: Invoice, { answerNo, sumMinor, cardHash }: Answer, processId: bigint, now: number): OpenInvoice | undefined {
    const row = this.#invoices.rows.get(invoiceKey(of))
    if (!row || !isAsked(row.invoice, answerNo, now)) return undefined
    const { move, isWrong } = afterAnswer(row.invoice, sumMinor, this.count(cardHash, now), processId)
    if (isWrong) this.#wrongAt.set(cardHash, [...(this.#wrongAt.get(cardHash) ?? []), now])
    return this.#invoices.move(row.invoice, move, processId, now)
  }
}

/** The store of one process; each statement goes through `run`. */
export const openSums = (table: Sums, run: <T>(body: () => T) => Promise<T>): WrongSums => ({
  count: (cardHash, now) => run(() => table.count(cardHash, now)),
  answer: (invoice, answer, processId, now) => run(() => table.answer(invoice, answer, processId, now)),
})
