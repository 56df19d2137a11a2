import { sameText, sha1Hex } from '../base/digest.ts'
import { decimalToMinor } from '../base/money.ts'
import type { Secret } from '../base/secret.ts'
import { amountInMinorUnits, callbackFormula, pathId, type Way } from '../spec/gateway/control.ts'
import type { EndpointSettings } from './fields/endpoint.ts'

/** One way to spell the values of a control string; most calls accept them as sent and trimmed. */
export type Parts = readonly string[]

/** An amount as spelled in a control string. */
export interface SignedSum {
  minor: string
  currency: string
}

/**
 * Minor units by the exponent of the currency; or, if the endpoint is configured so, a hundred to
 * the unit for every currency.
 */
export const signedMinor = (text: string, minor: bigint, units: EndpointSettings['controlMinorUnits'] | undefined): string =>
  String(units === 'hundredths' ? (decimalToMinor(text, 2) ?? minor) : minor)

/** The values of one way of signing, in order. */
export const partsOf = ({ parts }: Way, id: string, sum: SignedSum | undefined, take: (name: string) => string): Parts =>
  parts.map((part) => {
    if (part === pathId) return id
    if (part === amountInMinorUnits) return sum?.minor ?? ''
    return part === 'currency' && sum ? sum.currency : take(part)
  })

/**
 * docs/choices.md, "Checksums": lower-case hexadecimal SHA-1 over the parts in order, followed by
 * the control key, without separators.
 */
export const controlOf = (parts: Parts, key: Secret<string>): string => sha1Hex(parts.join('') + key.reveal())

/** The control of a callback, and of the cardholder's return. */
export const callbackControl = (
  fields: Readonly<Record<(typeof callbackFormula)[number], string>>,
  key: Secret<string>,
): string =>
  controlOf(
    callbackFormula.map((name) => fields[name]),
    key,
  )

/**
 * Whether `control` is the checksum of any of the spellings with any of the keys, ignoring case.
 * Nothing may be learned from the time that a refusal takes: every combination is computed, and
 * each compared in constant time. Without a key (unknown login, foreign endpoint) the same work is
 * done, and the result is false. The one that holds ends the work, because its sender sees that.
 */
export function controlHolds(
  control: string,
  spellings: readonly Parts[],
  keys: readonly Secret<string>[],
  decoy: Secret<string>,
): boolean {
  const sent = control.toLowerCase()
  // Always as many keys as a merchant has during a rotation.
  for (let i = 0; i < Math.max(2, keys.length); i++)
    for (const parts of spellings) if (sameText(sent, controlOf(parts, keys[i] ?? decoy)) && i < keys.length) return true
  return false
}
