import { createHmac, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Secret } from '../../../src/base/secret.ts'

/** The headers of Standard Webhooks, as they came. */
export interface SignatureHeaders {
  id: string | undefined
  timestamp: string | undefined
  signature: string | undefined
}

/** The keys that verify signatures: a secret for `v1`, a public key for `v1a`, or only one. */
export interface VerifyingKeys {
  /** `whsec_` and base64. */
  signingSecret?: Secret<string> | undefined
  /** The public key for Ed25519. */
  signingPublicKey?: KeyObject | undefined
}

/** `unknown key`: this kind of signature came, and there is nothing here to verify it with. */
export type SignatureVerdict = 'valid' | 'wrong' | 'too old or too new' | 'absent' | 'unknown key'

export interface Signatures {
  /** The verdict on the whole message; `not checked` without any key. */
  verdict: SignatureVerdict | 'not checked'
  /** By kind: each that came, and each for which there is a key. */
  kinds: ReadonlyMap<string, SignatureVerdict>
}

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
 * header lists signatures, separated by spaces: one of each kind, and two of a kind while its key
 * is being replaced, so one of them has to hold.
 */
export function judgeSignatures(
  { id, timestamp, signature }: SignatureHeaders,
  payload: string,
  keys: VerifyingKeys,
  nowMs: number,
): Signatures {
  const verifiers = verifiersOf(keys, `${id}.${timestamp}.${payload}`)
  const given = id === undefined || timestamp === undefined ? [] : (signature ?? '').split(' ').filter((one) => one !== '')
  const kinds = new Map<string, SignatureVerdict>()
  for (const kind of new Set([...verifiers.keys(), ...given.map(kindOf)])) {
    const ofKind = given.filter((one) => kindOf(one) === kind)
    const holds = verifiers.get(kind)
    if (ofKind.length === 0) kinds.set(kind, 'absent')
    else if (!holds) kinds.set(kind, 'unknown key')
    else if (!ofKind.some((one) => holds(Buffer.from(one.slice(kind.length + 1), 'base64')))) kinds.set(kind, 'wrong')
    else kinds.set(kind, isFresh(timestamp ?? '', nowMs) ? 'valid' : 'too old or too new')
  }
  return { verdict: verifiers.size === 0 ? 'not checked' : worstOf([...kinds.values()]), kinds }
}

/** One valid signature proves the message; a wrong one beside it is a mistake of somebody's. */
const worstOf = (verdicts: readonly SignatureVerdict[]): SignatureVerdict =>
  (['wrong', 'too old or too new', 'valid'] as const).find((one) => verdicts.includes(one)) ?? 'absent'

const kindOf = (signature: string): string => signature.split(',', 1)[0]!

function verifiersOf({ signingSecret, signingPublicKey }: VerifyingKeys, text: string) {
  const verifiers = new Map<string, (signature: Buffer) => boolean>()
  if (signingSecret) {
    const key = Buffer.from(signingSecret.reveal().replace(/^whsec_/, ''), 'base64')
    const expected = createHmac('sha256', key).update(text).digest()
    verifiers.set('v1', (one) => one.length === expected.length && timingSafeEqual(one, expected))
  }
  if (signingPublicKey) verifiers.set('v1a', (one) => verify(null, Buffer.from(text), signingPublicKey, one))
  return verifiers
}

const isFresh = (timestamp: string, nowMs: number): boolean =>
  /^\d{1,12}$/.test(timestamp) && Math.abs(nowMs / 1000 - Number(timestamp)) <= toleranceSeconds
