import type { Answer } from '../http/server.ts'
import { writeForm } from '../spec/form.ts'
import { refusals, type Refusal } from '../spec/refusals.ts'

/** A reply before it is written: names in order; names without a value are left out. */
export type Reply = Readonly<Record<string, string | undefined>>

const jsonType = 'application/vnd.pay+json'

export const wantsJson = (accept: string | string[] | undefined): boolean => String(accept ?? '').includes(jsonType)

/**
 * Writes a reply as pairs, always with HTTP 200; or, if the client requested it, as a JSON object
 * of strings with the HTTP status of the refusal.
 */
export function answerOf(reply: Reply, json: boolean, status = 200): Answer {
  const pairs = Object.entries(reply).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
  if (json) return { status, type: `${jsonType};charset=utf-8`, body: JSON.stringify(Object.fromEntries(pairs)) }
  return { status: 200, type: 'text/html;charset=utf-8', body: writeForm(pairs) }
}

export function refusalReply(
  refusal: Refusal,
  serialNumber: string,
  merchantOrderId: string | undefined,
): { reply: Reply; http: number } {
  const { code, type, http, text } = refusals[refusal.refused]
  return {
    reply: {
      type,
      'serial-number': serialNumber,
      'merchant-order-id': merchantOrderId,
      'error-message': text(refusal.detail),
      'error-code': String(code),
    },
    http,
  }
}
