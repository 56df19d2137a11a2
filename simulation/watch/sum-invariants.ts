import type { Ledger } from '../../simulators/acquirer/ledger.ts'
import { invoiceKey } from '../../src/mobile-api/invoice/invoice.ts'
import { isRandomSum, type Order } from '../../src/order/decide/order.ts'
import { configuration } from '../model/configuration.ts'
import type { SumAnswer } from '../parties/sum-payers.ts'
import type { Breaks } from './invariant.ts'
import type { InvoiceRow } from '../model/invoices.ts'
import type { Initiated } from '../parties/merchant-server-messages.ts'
import type { Installation } from '../world/installation.ts'

/** Watches random sums: which answers count, how many wrong ones, and the release of the hold. */
export interface SumInvariants {
  answering(invoice: Initiated, answer: SumAnswer): void
  written(after: InvoiceRow, before: InvoiceRow | undefined): void
  /** An order that is not a hold is made for an invoice. */
  ordered(row: InvoiceRow | undefined): void
  settled(row: InvoiceRow): void
}

/** The limits of wrong sums, stated independently of the gateway's own. */
const mostWrong = { ofInvoice: 3, ofCard: 9, withinMs: 86_400_000 }

export function watchSums(installation: Installation, ledger: Ledger, now: () => number, breaks: Breaks): SumInvariants {
  /** The sums sent for each invoice in minor units, by the number of the answer. */
  const sent = new Map<string, Map<number, string[]>>()
  const wrongAt = new Map<string, number[]>()

  const holdOf = ({ invoice }: InvoiceRow): Order | undefined =>
    invoice.hold && installation.orders.get(`${invoice.merchantId}/${invoice.hold.orderId}`)
  /** Each cell counts on its own. */
  const cardOf = (row: InvoiceRow): string =>
    `${holdOf(row)?.card.hashId ?? '?'} in cell ${installation.homeNo(row.invoice.merchantId)}`
  const sentFor = ({ invoice }: InvoiceRow, answerNo: number) => sent.get(invoiceKey(invoice))?.get(answerNo) ?? []

  function countWrong(row: InvoiceRow, answerNo: number): void {
    const { invoiceId } = row.invoice
    if (sentFor(row, answerNo).length === 0)
      breaks('a form is one answer', `no form gave invoice ${invoiceId} a ${answerNo}. answer, and it counts as wrong`)
    const card = cardOf(row)
    const recent = (wrongAt.get(card) ?? []).filter((at) => at > now() - mostWrong.withinMs)
    wrongAt.set(card, [...recent, now()])
    if (recent.length + 1 > mostWrong.ofCard || answerNo > mostWrong.ofInvoice)
      breaks('wrong sums are limited', `invoice ${invoiceId} takes wrong sum ${answerNo}, the ${recent.length + 1}. of its card`)
  }

  return {
    answering(invoice, { answerNo, typed }) {
      const key = invoiceKey(invoice)
      const answers = sent.get(key) ?? new Map<number, string[]>()
      sent.set(key, answers)
      if (/^[0-9]+[.,][0-9]{2}$/.test(typed))
        answers.set(answerNo, [...(answers.get(answerNo) ?? []), String(Number(typed.replace(/[.,]/, '')))])
    },
    written(after, before) {
      const { invoiceId, wrongAnswers, sumStatus, hold } = after.invoice
      if (!before) return
      for (let no = before.invoice.wrongAnswers + 1; no <= wrongAnswers; no++) countWrong(after, no)
      if (sumStatus !== 'AUTHENTICATED' || before.invoice.sumStatus === sumStatus) return
      if (!sentFor(after, wrongAnswers + 1).includes(String(hold?.sumMinor)))
        breaks('only the right sum confirms', `invoice ${invoiceId} is confirmed, and no form named ${hold?.sumMinor}`)
      if ((wrongAt.get(cardOf(after)) ?? []).filter((at) => at > now() - mostWrong.withinMs).length >= mostWrong.ofCard)
        breaks('wrong sums are limited', `invoice ${invoiceId} is confirmed after nine wrong sums of its card`)
    },
    ordered(row) {
      if (!row || configuration.endpoint(row.invoice.endpointId)?.settings.randomSum !== true) return
      const { invoiceId, sumStatus } = row.invoice
      if (sumStatus !== 'AUTHENTICATED')
        breaks('only the right sum confirms', `invoice ${invoiceId} is ordered, and its sum is ${sumStatus ?? 'not confirmed'}`)
    },
    settled(row) {
      const hold = holdOf(row)
      if (!hold) return
      const { invoiceId } = row.invoice
      if (!isRandomSum(hold)) breaks('a random sum is returned', `the hold of invoice ${invoiceId} is another order`)
      const kept = ledger.search({ orderId: String(hold.orderId), state: 'approved', limit: Infinity }).entries
      if (kept.length > 0) breaks('a random sum is returned', `the hold of invoice ${invoiceId} stands in the acquirer's books`)
    },
  }
}
