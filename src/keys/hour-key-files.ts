import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../base/error-code.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import { hourAt, hourOf, keptHours, numbered, type HourKeys, type NumberedKey } from './hour-keys.ts'

const keyBytes = 32
const ownerOnly = 0o600
/** The file of an hour, or one that was being written for it. */
const named = /^cvv2-(?<hour>\d+)\.(?:key|[0-9a-f]+\.new)$/

/**
 * The keys of the hours in a directory, one file an hour, shared by the processes of a machine.
 * Every key that is used is in memory: a sale reads no file. A version that this process has not
 * seen is looked up once more, because another process may have made it a moment ago.
 */
export function openHourKeys(directory: string, clock: Pick<Clock, 'now'>, random: Random): HourKeys {
  /** All keys by version; a key stays here if its file was removed or replaced. */
  const held = new Map<bigint, Secret<Buffer>>()
  /** The keys that this process seals with, by hour. */
  const own = new Map<number, NumberedKey>()
  const pathOf = (hour: number) => join(directory, `cvv2-${hour}.key`)

  function read(hour: number): NumberedKey | undefined {
    const bytes = unlessMissing(() => readFileSync(pathOf(hour)))
    if (!bytes) return undefined
    if (bytes.length !== keyBytes) throw new Error(`${pathOf(hour)} is not a key of ${keyBytes} bytes`)
    const found = numbered(hour, secret(bytes))
    held.set(found.version, found.key)
    return found
  }

  /**
   * Links a finished file to its name. If another process was first, its key is that of the hour.
   * A key of this process whose file was removed is stored again, so that others can open with it.
   */
  function store(hour: number): NumberedKey {
    const key = own.get(hour)?.key.reveal() ?? random.bytes(keyBytes)
    const fresh = join(directory, `cvv2-${hour}.${random.bytes(8).toString('hex')}.new`)
    write(fresh, 'wx', key)
    try {
      linkSync(fresh, pathOf(hour))
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    } finally {
      rmSync(fresh, { force: true })
    }
    const stored = read(hour)
    if (!stored) throw new Error(`${pathOf(hour)} was removed while it was being made`)
    return stored
  }

  function take(hour: number): NumberedKey {
    const key = read(hour) ?? store(hour)
    own.set(hour, key)
    return key
  }

  function destroyBefore(hour: number): void {
    for (const name of readdirSync(directory)) {
      const of = named.exec(name)?.groups?.['hour']
      if (of !== undefined && Number(of) < hour) destroy(join(directory, name))
    }
    for (const one of own.keys()) if (one < hour) own.delete(one)
    for (const one of held.keys()) if (hourOf(one) < hour) held.delete(one)
  }

  return {
    current() {
      const hour = hourAt(clock.now())
      return own.get(hour) ?? take(hour)
    },
    version(version) {
      if (!held.has(version)) read(hourOf(version))
      return held.get(version)
    },
    turn() {
      const hour = hourAt(clock.now())
      take(hour)
      take(hour + 1)
      destroyBefore(hour - keptHours)
      return Promise.resolve()
    },
  }
}

/** Overwritten in place first: the pages of a memory file system are those that held the key. */
function destroy(path: string): void {
  // Another process may be destroying it too.
  unlessMissing(() => write(path, 'r+', Buffer.alloc(keyBytes)))
  rmSync(path, { force: true })
}

function write(path: string, flags: 'wx' | 'r+', bytes: Buffer): void {
  const file = openSync(path, flags, ownerOnly)
  try {
    writeSync(file, bytes)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Types of statfs(2): tmpfs and ramfs. */
const memoryFileSystems: ReadonlySet<number> = new Set([0x01021994, 0x858458f6])

/** That of this user on a Linux machine; undefined where there is no such file system. */
export function usualKeyDirectory(): string | undefined {
  const shared = '/dev/shm'
  const self = process.getuid?.()
  return process.platform === 'linux' && self !== undefined && existsSync(shared) ? join(shared, `tollgate-${self}`) : undefined
}

/** Whether a file or directory is known to be on a memory file system; only Linux can say. */
export const isInMemory = (path: string): boolean => process.platform === 'linux' && memoryFileSystems.has(statfsSync(path).type)

export interface PreparedDirectory {
  isMemory: boolean
}

/**
 * Creates the directory if it is missing. Throws with a reason if it cannot hold keys: it is
 * another user's, or others can read it.
 */
export function prepareKeyDirectory(directory: string): PreparedDirectory {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  // Not followed: in a directory that everybody may write to, a link may be a stranger's.
  const found = lstatSync(directory)
  if (!found.isDirectory()) throw new Error(`${directory} is not a directory`)
  const self = process.getuid?.()
  if (self !== undefined && found.uid !== self) throw new Error(`${directory} belongs to another user`)
  if (self !== undefined && (found.mode & 0o077) !== 0)
    throw new Error(`${directory} is open to other users: chmod 700 ${directory}`)
  return { isMemory: isInMemory(directory) }
}
