import { sameText, sha1Hex } from '../base/digest.ts'
import type { Secret } from '../base/secret.ts'

/** A way to spell the values of a control string; most calls accept them as sent and trimmed. */
export type Parts = readonly string[]

/** docs/choices.md, "Checksums": lower-case hexadecimal SHA-1 over the parts in order, the control key last, nothing between. */
export const controlOf = (parts: Parts, key: Secret<string>): string => sha1Hex(parts.join('') + key.reveal())

/**
 * Whether `control` is the checksum of any of the spellings under any of the keys, without regard to case. Every combination is computed and compared
 * in constant time, so that the time says nothing. Without a key (unknown login, foreign endpoint) the same work is done and the answer is no.
 */
export function controlHolds(
  control: string,
  spellings: readonly Parts[],
  keys: readonly Secret<string>[],
  decoy: Secret<string>,
): boolean {
  const sent = control.toLowerCase()
  let holds = false
  // Always as many keys as a merchant in rotation has.
  for (let i = 0; i < Math.max(2, keys.length); i++)
    for (const parts of spellings) holds = (sameText(sent, controlOf(parts, keys[i] ?? decoy)) && i < keys.length) || holds
  return holds
}
