import { invoiceAnswer, type BeginParts } from '../perform.ts'
import { refuseMobile, type MobileRefusal } from '../refusal.ts'
import type { AppRequest, WithInvoice } from '../stages.ts'
import type { Invoices } from './invoices.ts'

type Request = Pick<AppRequest, 'now'> & WithInvoice & { readonly assignedId: string }
export type CompleteParts = BeginParts & { invoices: Pick<Invoices, 'find' | 'change'> }

/**
 * The consumer chose a fee: the transfer continues at its gate. The first choice counts; repeating
 * it gets the same answer.
 */
export async function completeTransfer(
  { invoice, secrets, assignedId, now }: Request,
  { invoices, processId, begin }: CompleteParts,
): Promise<object | MobileRefusal> {
  const { fees = [], restsUntil = 0 } = invoice
  const fee = fees.find((one) => one.assignedId === assignedId)
  const refused = (why: string) => refuseMobile('fee not chosen', why)
  if (invoice.state === 'choosing' && restsUntil > now) {
    if (!fee) return refused('assignedId is not in the list')
    const chosen = await invoices.change({ invoice, secrets }, { state: 'ordering', lease: processId, fee }, now)
    if (chosen) {
      begin(chosen.invoice, chosen.secrets)
      return invoiceAnswer(invoice)
    }
  }
  const current = await invoices.find(invoice.merchantId, invoice.invoiceId)
  const chosen = current?.invoice.fees && current.invoice.fee
  if (!chosen) return refused('no fee is waited for')
  return chosen.assignedId === assignedId ? invoiceAnswer(invoice) : refused('another fee was chosen')
}
