import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import { localKeks, readKeks, type KeyEncryption } from '../keys/encryption.ts'
import type { HourKeys } from '../keys/hour-keys.ts'
import { openHourKeys, prepareKeyDirectory, usualKeyDirectory } from '../keys/hour-key-files.ts'
import { keyServiceHours } from '../keys/service-hours.ts'
import { keyServiceKek, tokenIn, type KeyService } from '../keys/service.ts'
import { refuseOpen } from './secrets.ts'
import { complaining, type Environment } from './variables.ts'

/** Where the key-encryption keys of an installation come from. */
export interface KekSource {
  from: 'file' | 'descriptor' | 'environment' | 'key service'
  /** A key service, which wraps then. The keys of `read` may only unwrap. */
  service?: KeyService
  /**
   * The key that wraps, then those that may only unwrap. A file is read again each time, so that
   * its key can be replaced without a restart. Throws with a reason if it is unreadable then.
   */
  read: () => readonly Secret<Buffer>[]
}

/** Answers take some milliseconds; nothing waits for them but starts and rotations. */
const keyServiceTimeoutMs = 5_000

/** Wraps and unwraps by the keys of a source. */
export function encryptionBy({ read, service }: KekSource, random: Random): KeyEncryption {
  const local = localKeks(read, random)
  return service ? keyServiceKek(service, local) : local
}

/**
 * The key service of TOLLGATE_KMS_URL, and TOLLGATE_KEY_FILE, else TOLLGATE_KEY_FD, else
 * TOLLGATE_KEY. Undefined, with a complaint, if there is none or it cannot be used.
 */
export function kekSource(env: Environment, complaints: string[]): KekSource | undefined {
  const before = complaints.length
  const service = env['TOLLGATE_KMS_URL'] ? keyServiceOf(env, complaints) : undefined
  if (complaints.length > before) return undefined
  if (service && !localKeys.some((name) => env[name])) return { from: 'key service', service, read: () => [] }
  const local = localSource(env, complaints)
  if (complaints.length > before) return undefined
  return local && service ? { ...local, from: 'key service', service } : local
}

function keyServiceOf(env: Environment, complaints: string[]): KeyService | undefined {
  const { TOLLGATE_KMS_URL: text = '', TOLLGATE_KMS_KEY: key = 'tollgate', TOLLGATE_KMS_TOKEN_FILE: file } = env
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (!url || !isSafe || url.pathname !== '/' || url.search !== '' || url.username !== '')
    complaints.push(
      `TOLLGATE_KMS_URL is ${JSON.stringify(text)}, not an https origin such as https://vault.example:8200 ` +
        '(http for this machine alone)',
    )
  if (!/^[\w-]{1,64}$/.test(key)) complaints.push(`TOLLGATE_KMS_KEY is ${JSON.stringify(key)}, not the name of a transit key`)
  if (!file) complaints.push('TOLLGATE_KMS_TOKEN_FILE is missing: the file with the token for TOLLGATE_KMS_URL')
  else if (existsSync(file)) refuseOpen('TOLLGATE_KMS_TOKEN_FILE', file, complaints)
  return url && file ? { url: url.origin, key, token: tokenIn(file), timeoutMs: keyServiceTimeoutMs } : undefined
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '[::1]' || /^127(?:\.\d+){3}$/.test(host)

const localKeys = ['TOLLGATE_KEY_FILE', 'TOLLGATE_KEY_FD', 'TOLLGATE_KEY']

function localSource(env: Environment, complaints: string[]): KekSource | undefined {
  const { TOLLGATE_KEY_FILE: path, TOLLGATE_KEY_FD: descriptor, TOLLGATE_KEY: text } = env
  const given = localKeys.filter((name) => env[name])
  if (given.length > 1) {
    complaints.push(`${given.join(' and ')} are both set; keep one, best TOLLGATE_KEY_FILE`)
    return undefined
  }
  return complaining(complaints, (): KekSource => {
    if (path) {
      const read = () => readKeks('TOLLGATE_KEY_FILE', fileText('TOLLGATE_KEY_FILE', path))
      read()
      refuseOpen('TOLLGATE_KEY_FILE', path, complaints)
      return { from: 'file', read }
    }
    const keks = descriptor
      ? readKeks('TOLLGATE_KEY_FD', fileText('TOLLGATE_KEY_FD', descriptorNo(descriptor)))
      : readKeks('TOLLGATE_KEY', text ?? '')
    return { from: descriptor ? 'descriptor' : 'environment', read: () => keks }
  })
}

export function descriptorNo(text: string): number {
  if (/^[0-9]{1,4}$/.test(text)) return Number(text)
  throw new Error(`TOLLGATE_KEY_FD is ${JSON.stringify(text)}, not the number of an open descriptor`)
}

/** The text of a file that a setting names. Throws with the name of the setting. */
export function fileText(name: string, from: string | number): string {
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
  const prepared = complaining(complaints, () => prepareKeyDirectory(directory), `${name} cannot be used: `)
  if (!prepared) return undefined
  const { isMemory } = prepared
  if (isMemory || process.platform !== 'linux') return { directory, isMemory }
  complaints.push(`${name}: ${directory} is on a disk, where keys can be restored. It has to be on a tmpfs, as /dev/shm is`)
  return undefined
}

/** Where the hourly keys of CVV2 values are: on this machine, or in the key service. */
export type Cvv2Keys = KeyDirectory | { service: KeyService }

/**
 * The key service if CVV2_KEY_SERVICE is on, else a directory. Undefined, with a complaint, if it
 * cannot be used.
 */
export function cvv2Keys(env: Environment, kek: KekSource | undefined, complaints: string[]): Cvv2Keys | undefined {
  const { CVV2_KEY_SERVICE: wish = 'off', CVV2_KEY_DIRECTORY: directory } = env
  if (wish === 'off' || wish === '') return cvv2KeyDirectory(env, complaints)
  if (wish !== 'on') complaints.push(`CVV2_KEY_SERVICE is ${JSON.stringify(wish)}, not on or off`)
  else if (directory) complaints.push('CVV2_KEY_SERVICE and CVV2_KEY_DIRECTORY are both set; keep one')
  else if (kek && !kek.service) complaints.push('CVV2_KEY_SERVICE is on, and TOLLGATE_KMS_URL names no key service')
  else return kek?.service && { service: kek.service }
  return undefined
}

export const hourKeysBy = (keys: Cvv2Keys, clock: Clock, random: Random): HourKeys =>
  'service' in keys ? keyServiceHours(keys.service, clock) : openHourKeys(keys.directory, clock, random)

/** That of `serve`, or where it cannot be used, one in the directory of the sandbox. */
export function sandboxKeyDirectory(env: Environment, sandbox: string): string {
  const found = cvv2KeyDirectory(env, [])
  if (found) return found.directory
  const directory = env['CVV2_KEY_DIRECTORY'] || join(sandbox, 'keys', 'cvv2')
  prepareKeyDirectory(directory)
  return directory
}
