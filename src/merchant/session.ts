import { createHmac } from 'node:crypto'
import { sameText } from '../base/digest.ts'
import type { Secret } from '../base/secret.ts'
import type { SignedPath, SignedText } from '../spec/mobile/signatures.ts'

/** Signatures of the mobile API: HMAC-SHA1 over the joined parts, under the control key as hex. */

/** Undefined if the control key is not 32 hexadecimal digits: the mobile API cannot use it. */
export function sessionSignature(parts: readonly string[], controlKey: Secret<string>): string | undefined {
  const digits = controlKey.reveal().replaceAll('-', '')
  if (!/^[0-9a-fA-F]{32}$/.test(digits)) return undefined
  return createHmac('sha1', Buffer.from(digits, 'hex')).update(parts.join(''), 'utf8').digest('hex').toUpperCase()
}

/**
 * Whether a signature covers these parts, by any of the keys; ignores case, and takes the same time
 * whatever the result.
 */
export const signatureHolds = (given: string, parts: readonly string[], controlKeys: readonly Secret<string>[]): boolean =>
  // Non-ASCII letters whose upper case is a hexadecimal digit are not allowed in a signature.
  /^[0-9a-fA-F]{40}$/.test(given) &&
  controlKeys
    .map((key) => sessionSignature(parts, key))
    .map((made) => made !== undefined && sameText(given.toUpperCase(), made))
    .includes(true)

/** The values of what is signed, in the order of its row. */
export const signedParts = ({ parts }: SignedText, values: Readonly<Partial<Record<SignedPath, string | undefined>>>): string[] =>
  parts.flatMap(({ path, optional }) => {
    const value = values[path]
    if (value === undefined && !optional) throw new Error(`${path} is signed and has no value`)
    return value === undefined ? [] : [value]
  })
