import type { Invoice, InvoiceSecrets } from './invoice.ts'
import { locateInvoice } from './locate.ts'
import type { MobileWorld } from './mobile-world.ts'
import type { MobileAsked } from './perform.ts'
import { refuseMobile, type MobileRefusal } from './refusal.ts'

/** The consumer chose a fee: the transfer goes on at its gate. The first choice counts; the same again is answered alike. */
export async function completeTransfer(
  world: MobileWorld,
  asked: MobileAsked,
  assignedId: string,
  begin: (invoice: Invoice, secrets: InvoiceSecrets) => void,
): Promise<object | MobileRefusal> {
  const found = await locateInvoice(world, asked)
  if (typeof found === 'string') return refuseMobile('INVALID_REQUEST', found)
  if (!found) return refuseMobile('INVALID_REQUEST', 'invoiceId is not known')
  const { invoice } = found
  const { fees = [], restsUntil = 0 } = invoice
  const fee = fees.find((one) => one.assignedId === assignedId)
  if (invoice.state === 'choosing' && restsUntil > asked.now) {
    if (!fee) return refuseMobile('INVALID_REQUEST', 'assignedId is not in the list')
    const chosen = await world.invoices.move(
      invoice,
      { state: 'ordering', lease: world.processId, fee },
      world.processId,
      asked.now,
    )
    if (chosen) {
      begin(chosen.invoice, chosen.secrets)
      return answerOf(invoice)
    }
  }
  const now = await world.invoices.find(invoice.merchantId, invoice.invoiceId)
  const held = now?.invoice.fees && now.invoice.fee
  if (!held) return refuseMobile('INVALID_REQUEST', 'no fee is waited for')
  return held.assignedId === assignedId ? answerOf(invoice) : refuseMobile('INVALID_REQUEST', 'another fee was chosen')
}

const answerOf = ({ invoiceId, sessionToken }: Invoice) => ({ invoiceId, session: { token: sessionToken } })
