import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Secret } from '../base/secret.ts'
import { readKeks } from '../storage/key-encryption.ts'
import { prepareKeyDirectory, usualKeyDirectory } from '../storage/store-hour-keys.ts'

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

/** Where the keys of CVV2 values are. */
export interface KeyDirectory {
  directory: string
  /** Whether its file system is known to be one of memory, which a reboot empties. */
  isMemory: boolean
}

/**
 * CVV2_KEY_DIRECTORY, or one below /dev/shm. It must not be on a disk: what is deleted there can be
 * restored, and backups may have it. Only Linux can say what a directory is on; elsewhere the
 * operator has to name one. Undefined, with a complaint, if there is none that can be used.
 */
export function cvv2KeyDirectory(env: Environment, complaints: string[]): KeyDirectory | undefined {
  const name = 'CVV2_KEY_DIRECTORY'
  const directory = env[name] || usualKeyDirectory()
  if (directory === undefined) {
    complaints.push(`${name} is missing: a directory on a memory file system, for the hourly keys of CVV2 values`)
    return undefined
  }
  try {
    const { isMemory } = prepareKeyDirectory(directory)
    if (isMemory || process.platform !== 'linux') return { directory, isMemory }
    complaints.push(`${name}: ${directory} is on a disk, where keys can be restored. It has to be on a tmpfs, as /dev/shm is`)
  } catch (error) {
    complaints.push(`${name} cannot be used: ${(error as Error).message}`)
  }
  return undefined
}

/** That of `serve`, or where it cannot be used, one in the directory of the sandbox. */
export function sandboxKeyDirectory(env: Environment, sandbox: string): string {
  const found = cvv2KeyDirectory(env, [])
  if (found) return found.directory
  const directory = env['CVV2_KEY_DIRECTORY'] || join(sandbox, 'keys', 'cvv2')
  prepareKeyDirectory(directory)
  return directory
}
