import type { ParkedInvoice } from './invoice-rows.ts'
import { jsonOf, pick } from '../../entity/json.ts'

export const invoiceJson = (i: ParkedInvoice) =>
  jsonOf({ ...pick(i, 'invoiceId', 'kind', 'state', 'tries', 'alarm', 'createdAt'), merchant: i.login })
