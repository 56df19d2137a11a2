/** The rest of an invoice once the consumer's data is erased. */
import { defined } from '../../base/defined.ts'
import type { Confirmed, MobileRequest } from './invoice.ts'

export function erasedInvoiceRequest(request: MobileRequest): MobileRequest {
  const { currency, amountCentis, amountMinor, clientCardId, toClientCardId } = request
  return {
    serialNumber: '',
    ipAddress: '',
    billing: {},
    currency,
    ...defined({ amountCentis, amountMinor, clientCardId, toClientCardId }),
  }
}

export const erasedConfirmed = ({ serverCardId, toServerCardId, randomSumCentis }: Confirmed): Confirmed => ({
  billing: {},
  ...defined({ serverCardId, toServerCardId, randomSumCentis }),
})
