import { createHmac } from 'node:crypto'
import { isObject, objectIn } from '../base/json.ts'
import type { Secret } from '../base/secret.ts'
import type { Outgoing } from '../http/outgoing.ts'

/** The calls of the merchant check: what is sent and signed, and what is returned. */

export type CheckedKind = 'verification' | 'sale' | 'transfer'

/** An answer of the merchant's server; `json` is absent if the body was not JSON. */
export type ServerAnswer = { is: 'answered'; status: number; json: Json | undefined } | { is: 'failed'; why: string }
export type Json = Readonly<Record<string, unknown>>

export type Caller = (method: 'GET' | 'POST', path: string, body?: string | object) => Promise<ServerAnswer>

/** The same limit as the gateway's for one try. */
const timeoutMs = 10_000

export const callerOf =
  (outgoing: Outgoing, base: string): Caller =>
  async (method, path, body) => {
    const sent = typeof body === 'object' ? JSON.stringify(body) : body
    const reply = await outgoing.send({
      method,
      url: `${base}${path}`,
      headers: { accept: 'application/json', ...(sent !== undefined && { 'content-type': 'application/json' }) },
      ...(sent !== undefined && { body: sent }),
      timeoutMs,
    })
    if (reply.is === 'failed') return { is: 'failed', why: `${reply.kind}: ${reply.why}` }
    return { is: 'answered', status: reply.status, json: objectIn(reply.body.toString('utf8')) }
  }

/** The value at a path such as `session.nonce`. */
export function at(json: Json | undefined, path: string): unknown {
  let value: unknown = json
  for (const name of path.split('.')) value = isObject(value) ? value[name] : undefined
  return value
}

export const textAt = (json: Json | undefined, path: string): string => {
  const value = at(json, path)
  return typeof value === 'string' ? value : ''
}

/** The values joined, signed with the control key as 16 bytes. */
export const signatureOf = (key: Secret<string>, ...values: string[]): string =>
  createHmac('sha1', Buffer.from(key.reveal().replaceAll('-', ''), 'hex'))
    .update(values.join(''), 'utf8')
    .digest('hex')
    .toUpperCase()

/** A signature in which only the last digit is wrong. */
export const spoiled = (signature: string): string => signature.slice(0, -1) + (signature.endsWith('0') ? '1' : '0')
