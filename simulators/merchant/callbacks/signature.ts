import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Secret } from '../../../src/base/secret.ts'

/** The headers of Standard Webhooks, as they came. */
export interface SignatureHeaders {
  id: string | undefined
  timestamp: string | undefined
  signature: string | undefined
}

export type SignatureVerdict = 'valid' | 'wrong' | 'too old or too new' | 'absent' | 'not checked'

export const signatureHeaders = (headers: IncomingHttpHeaders): SignatureHeaders => ({
  id: oneOf(headers['webhook-id']),
  timestamp: oneOf(headers['webhook-timestamp']),
  signature: oneOf(headers['webhook-signature']),
})

const oneOf = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value.join(', ') : value)

/** A message that somebody recorded must not be believed days later. */
const toleranceSeconds = 300

/**
 * Signed is `id.timestamp.payload`; the payload is the raw query, or the raw body of a form. The
 * header may list several signatures, separated by spaces, while a secret is being replaced.
 */
export function signatureVerdict(
  { id, timestamp, signature }: SignatureHeaders,
  payload: string,
  signingSecret: Secret<string> | undefined,
  nowMs: number,
): SignatureVerdict {
  if (signingSecret === undefined) return 'not checked'
  if (id === undefined || timestamp === undefined || signature === undefined) return 'absent'
  const key = Buffer.from(signingSecret.reveal().replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${payload}`).digest()
  const holds = signature.split(' ').some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ''), 'base64')
    return one.startsWith('v1,') && given.length === expected.length && timingSafeEqual(given, expected)
  })
  if (!holds || !/^\d{1,12}$/.test(timestamp)) return 'wrong'
  return Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds ? 'too old or too new' : 'valid'
}
