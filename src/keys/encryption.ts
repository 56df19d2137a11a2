import { hmacSha256 } from '../base/digest.ts'
import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'

/** A data key as it is stored. */
export interface WrappedKey {
  wrapped: Buffer
  /** Which key-encryption key wraps it. */
  kek: string
}

/**
 * Wraps and unwraps the data keys. The key-encryption key itself stays behind this interface, so
 * that a key service can hold it. `context` names the data key; it cannot be unwrapped as another.
 */
export interface KeyEncryption {
  /** The id of the key that wraps from now on. */
  id(): Promise<string>
  wrap(key: Buffer, context: string): Promise<WrappedKey>
  /** Throws a `WrongKek` if it does not have the key that wraps it. */
  unwrap(key: WrappedKey, context: string): Promise<Buffer>
}

/** Nothing here opens a data key: the database was sealed with another key-encryption key. */
export class WrongKek extends Error {
  constructor() {
    super('the key-encryption key does not open this database')
  }
}

/** Tells key-encryption keys apart without revealing anything of them. */
export const kekId = (kek: Secret<Buffer>): string => hmacSha256(kek, 'tollgate kek id').subarray(0, 8).toString('hex')

/**
 * Key-encryption keys held by this process. The first one wraps; all of them unwrap, so that the
 * first can be replaced while payments run. `read` is called each time: it may read a file that an
 * operator has changed.
 */
export const localKeks = (read: () => readonly Secret<Buffer>[], random: Random): KeyEncryption => ({
  id: () => Promise.resolve(kekId(read()[0]!)),
  wrap(key, context) {
    const [kek] = read()
    return Promise.resolve({ wrapped: seal(kek!, key, context, random), kek: kekId(kek!) })
  },
  async unwrap({ wrapped, kek: id }, context) {
    const kek = read().find((one) => kekId(one) === id)
    if (!kek) throw new WrongKek()
    try {
      return unseal(kek, wrapped, context)
    } catch {
      throw new WrongKek()
    }
  },
})

/** One key-encryption key that does not change. */
export const fixedKek = (kek: Secret<Buffer>, random: Random): KeyEncryption => localKeks(() => [kek], random)

/**
 * The keys of a text, one a line; empty lines and lines that begin with # are skipped. Throws with
 * a reason that begins with the name of the setting.
 */
export function readKeks(name: string, text: string): Secret<Buffer>[] {
  const lines = text.split('\n').map((line) => line.trim())
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (keys.length === 0)
    throw new Error(
      `${name} is missing: 32 random bytes in base64, for example from \`openssl rand -base64 32\`, best in a file that ` +
        'TOLLGATE_KEY_FILE names. Keep a copy apart from the database: without this key no stored card can be read',
    )
  return keys.map((key) => kekOf(name, key))
}

function kekOf(name: string, text: string): Secret<Buffer> {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== 32 || bytes.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, ''))
    throw new Error(`${name} is not 32 bytes in base64`)
  if (new Set(bytes).size < 16) throw new Error(`${name} is weak: its bytes are almost all equal`)
  return secret(bytes)
}
