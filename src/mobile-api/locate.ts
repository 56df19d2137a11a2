import { readJson } from '../spec/mobile/field.ts'
import { isInvoiceId, statusRequest } from '../spec/mobile/requests.ts'
import { readBody } from './body.ts'
import type { MobileWorld } from './mobile-world.ts'
import { tokensHold, type MobileAsked } from './perform.ts'
import type { OpenInvoice } from './store-invoices.ts'

/**
 * The invoice that an app asks about by its tokens. What is not there, and what belongs to somebody
 * else, is the same to it. A text says what is wrong with the body, which nobody reads for an
 * endpoint that is not there.
 */
export async function locateInvoice(
  world: Pick<MobileWorld, 'registry' | 'invoices' | 'turns'>,
  asked: MobileAsked,
): Promise<OpenInvoice | string | undefined> {
  const { kind, endpointId, invoiceId } = asked
  const endpoint = /^[1-9][0-9]{0,17}$/.test(endpointId) ? world.registry().endpoint(BigInt(endpointId)) : undefined
  if (!endpoint) return undefined
  const body = await readBody(world, asked.body)
  const values = typeof body === 'string' ? body : readJson(statusRequest, body)
  if (typeof values === 'string') return values
  const found = isInvoiceId(invoiceId) ? await world.invoices.find(endpoint.merchantId, invoiceId) : undefined
  const isTheirs =
    found?.invoice.kind === kind &&
    found.invoice.endpointId === endpoint.endpointId &&
    tokensHold(values, found.invoice, found.secrets)
  return isTheirs ? found : undefined
}
