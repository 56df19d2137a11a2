import type { JsonValues } from '../spec/mobile/field.ts'
import { isInvoiceId } from '../spec/mobile/requests.ts'
import type { MobileWorld } from './mobile-world.ts'
import { tokensHold, type MobileAsked } from './perform.ts'
import type { OpenInvoice } from './store-invoices.ts'

/** The invoice that an app asks about by its tokens. What is not there, and what belongs to somebody else, is the same to it. */
export async function locateInvoice(
  world: Pick<MobileWorld, 'registry' | 'invoices'>,
  { kind, endpointId, invoiceId }: MobileAsked,
  values: JsonValues,
): Promise<OpenInvoice | undefined> {
  const canBe = /^[1-9][0-9]{0,17}$/.test(endpointId) && isInvoiceId(invoiceId)
  const endpoint = canBe ? world.registry().endpoint(BigInt(endpointId)) : undefined
  const found = endpoint && (await world.invoices.find(endpoint.merchantId, invoiceId))
  const isTheirs =
    found?.invoice.kind === kind &&
    found.invoice.endpointId === endpoint!.endpointId &&
    tokensHold(values, found.invoice, found.secrets)
  return isTheirs ? found : undefined
}
