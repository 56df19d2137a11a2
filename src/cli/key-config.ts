import { readFileSync } from 'node:fs'
import type { Secret } from '../base/secret.ts'
import { readKeks } from '../storage/key-encryption.ts'

/** Where the key-encryption keys of an installation come from. */
export interface KekSource {
  from: 'file' | 'descriptor' | 'environment'
  /**
   * The key that wraps, then those that may only unwrap. A file is read again each time, so that
   * its key can be replaced without a restart. Throws with a reason if it is unreadable then.
   */
  read: () => readonly Secret<Buffer>[]
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * TOLLGATE_KEY_FILE, else TOLLGATE_KEY_FD, else TOLLGATE_KEY. Undefined, with a complaint, if there
 * is none or it cannot be used.
 */
export function kekSource(env: Environment, complaints: string[]): KekSource | undefined {
  const { TOLLGATE_KEY_FILE: path, TOLLGATE_KEY_FD: descriptor, TOLLGATE_KEY: text } = env
  const given = Object.entries({ TOLLGATE_KEY_FILE: path, TOLLGATE_KEY_FD: descriptor, TOLLGATE_KEY: text })
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name]) => name)
  if (given.length > 1) {
    complaints.push(`${given.join(' and ')} are both set; keep one, best TOLLGATE_KEY_FILE`)
    return undefined
  }
  try {
    if (path) {
      const read = () => readKeks('TOLLGATE_KEY_FILE', fileText('TOLLGATE_KEY_FILE', path))
      read()
      return { from: 'file', read }
    }
    const keks = descriptor
      ? readKeks('TOLLGATE_KEY_FD', fileText('TOLLGATE_KEY_FD', descriptorNo(descriptor)))
      : readKeks('TOLLGATE_KEY', text ?? '')
    return { from: descriptor ? 'descriptor' : 'environment', read: () => keks }
  } catch (error) {
    complaints.push((error as Error).message)
    return undefined
  }
}

function descriptorNo(text: string): number {
  if (/^[0-9]{1,4}$/.test(text)) return Number(text)
  throw new Error(`TOLLGATE_KEY_FD is ${JSON.stringify(text)}, not the number of an open descriptor`)
}

function fileText(name: string, from: string | number): string {
  try {
    return readFileSync(from, 'utf8')
  } catch (error) {
    throw new Error(`${name} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}
