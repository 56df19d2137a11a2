import { isoTime } from '../../base/moments.ts'
import type { ParkedInvoice } from './invoice-rows.ts'

export const invoiceJson = (i: ParkedInvoice) => ({
  invoice_id: i.invoiceId,
  merchant: i.login,
  kind: i.kind,
  state: i.state,
  tries: i.tries,
  alarm: i.alarm,
  created_at: isoTime(i.createdAt),
})
