import { maskCardNumbers, reasonOf } from '../../src/base/log.ts'
import type { Call } from './call.ts'
import type { Merchant } from './merchant.ts'
import { stringToSign, type Parts } from './signatures.ts'
import { listCalls, saveCall } from './store-calls.ts'

/**
 * Members of requests of the mobile API that no merchant's server should ever see; an app that
 * mixes the two up must not leave them here.
 */
const cardData = new Set(['number', 'securityCode', 'expiry', 'holder'])
/** Numbers that are not card numbers, but may look like one. */
const references = new Set(['serverCardId', 'uniqueReferenceCardId', 'clientCardId'])

/**
 * Records a call and its answer, with the signed values. If the journal cannot be written, the call
 * is still answered.
 */
export async function note(merchant: Merchant, path: string, call: Call, status: number, reply: object): Promise<void> {
  if (!merchant.keepsJournal) return
  const { pool, clock, log } = merchant
  const signed = call.signed.map(({ name, parts, signature }) => {
    const shown = parts.map(([part, value]) => [part, masked(lastOf(part), value)] as [string, string])
    return { name, string: stringToSign(shown), parts: Object.fromEntries(shown satisfies Parts), signature }
  })
  const row = {
    path: maskCardNumbers(path),
    invoiceId: call.invoiceId,
    request: JSON.stringify(call.body, masked),
    status,
    reply: JSON.stringify(reply, masked),
    signed: JSON.stringify(signed),
  }
  await saveCall(pool, row, clock.now()).catch((error: unknown) =>
    log.warn({ reason: reasonOf(error) }, 'a call could not be noted'),
  )
}

export async function journal({ pool }: Merchant, { body }: Call): Promise<object> {
  const { invoiceId } = body
  const calls = await listCalls(pool, typeof invoiceId === 'string' ? invoiceId : '')
  return {
    calls: calls.map((call) => ({
      number: Number(call.call_no),
      at: new Date(call.called_at).toISOString(),
      path: call.path,
      invoiceId: call.invoice_id,
      request: call.request,
      status: call.status,
      reply: call.reply,
      signed: call.signed,
    })),
  }
}

const lastOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)

/** An access token is shown by its ends only, because its holder can act as the consumer. */
function masked(name: string, value: unknown): unknown {
  if (cardData.has(name)) return '***'
  if (name === 'accessToken' && typeof value === 'string') return `${value.slice(0, 4)}…${value.slice(-4)}`
  if (references.has(name)) return value
  if (typeof value === 'string') return maskCardNumbers(value)
  return typeof value === 'number' && maskCardNumbers(String(value)) !== String(value) ? maskCardNumbers(String(value)) : value
}
