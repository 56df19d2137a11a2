import type { Answer } from '../http/server.ts'
import { formWriter } from '../spec/form.ts'
import type { refusalFields, ReplyTable } from '../spec/gateway/reply.ts'
import { refusals, type Refusal } from '../spec/refusals.ts'

/** A reply before it is written, in any order; names without a value are left out. */
export type Reply = Readonly<Record<string, string | undefined>>

/** A reply of this table; the writer leaves out every name that the table has not. */
export type ReplyOf<T extends ReplyTable> = { readonly [Name in keyof T]?: string | undefined }

const jsonType = 'application/vnd.pay+json'

export const wantsJson = (accept: string | string[] | undefined): boolean => String(accept ?? '').includes(jsonType)

/** Writes a reply as an answer; `status` is the HTTP status of a refusal. */
export type WriteReply = (reply: Reply, json: boolean, status?: number) => Answer

/**
 * Writes the replies of a table in its order: as pairs, always with HTTP 200; or, if the client
 * requested it, as a JSON object of strings with the HTTP status of the refusal.
 */
export function replyWriter(table: ReplyTable): WriteReply {
  const names = Object.keys(table)
  const formOf = formWriter(names)
  const jsonOf = (reply: Reply): string => {
    const pairs = names.map((name) => [name, reply[name]]).filter(([, value]) => value !== undefined && value !== '')
    return JSON.stringify(Object.fromEntries(pairs))
  }
  return (reply, json, status = 200) =>
    json
      ? { status, type: `${jsonType};charset=utf-8`, body: jsonOf(reply) }
      : { status: 200, type: 'text/html;charset=utf-8', body: formOf(reply) }
}

export function refusalReply(
  refusal: Refusal,
  serialNumber: string,
  merchantOrderId: string | undefined,
): { reply: ReplyOf<typeof refusalFields>; http: number } {
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
