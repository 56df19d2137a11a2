import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isObject, objectIn } from '../base/json.ts'
import { systemRandom } from '../base/random.ts'
import { answersSignal } from '../embedded/process.ts'
import { isDatabaseUrl, lineComplaint } from '../storage/database-line.ts'
import type { Installation } from '../operator/office.ts'
import { sandboxOf, type SandboxFile } from '../sandbox/file.ts'
import { openPool, type Pool, type PoolSettings } from '../storage/pool.ts'
import { WrongKek, type KeyEncryption } from '../keys/encryption.ts'
import { openKeyRing, type KeyRing } from '../keys/ring.ts'
import { databaseUrlOf } from '../settings/database.ts'
import { encryptionBy, kekSource } from '../settings/keys.ts'
import type { Terminal } from './terminal.ts'
import type { Environment } from '../settings/variables.ts'
import { Failure, WrongUsage } from './failure.ts'

/**
 * Finds the installation: the sandbox of TOLLGATE_DIR if that is set, else the database of
 * DATABASE_URL, else the sandbox of ./.tollgate. Explicit settings take precedence over a directory
 * that merely exists; two contradictory settings are refused.
 */
export function findInstallation(env: Environment): Installation {
  const named = env.TOLLGATE_DIR ? readSandbox(resolve(env.TOLLGATE_DIR)) : undefined
  if (env.TOLLGATE_DIR && !named)
    throw new WrongUsage(
      `No sandbox is running in ${resolve(env.TOLLGATE_DIR)}. Start it: TOLLGATE_DIR=${env.TOLLGATE_DIR} npx tollgate sandbox`,
    )
  const databaseUrl = readBy(databaseUrlOf, env)
  if (named && databaseUrl && named.databaseUrl !== databaseUrl)
    throw new WrongUsage('TOLLGATE_DIR names a sandbox with another database than DATABASE_URL. Unset the wrong one.')
  if (named) return named
  if (databaseUrl) {
    if (!isDatabaseUrl(databaseUrl))
      throw new WrongUsage('DATABASE_URL is not a postgres:// URL, such as postgres://user:password@host:5432/database')
    return { databaseUrl, kek: () => kekOf(env), callbackPolicy: { plainHttp: false, loopbackAnyPort: false } }
  }
  const here = readSandbox(resolve('.tollgate'))
  if (here) return here
  throw new WrongUsage(`There is no installation to work on. Start the sandbox here (npm start), or name one:
  TOLLGATE_DIR=…                      a running sandbox elsewhere
  DATABASE_URL=… TOLLGATE_KEY_FILE=…  an installation`)
}

const kekOf = (env: Environment): KeyEncryption => encryptionBy(readBy(kekSource, env)!, systemRandom)

/** A wrong environment counts as wrong usage. */
export function readBy<Value>(read: (env: Environment, complaints: string[]) => Value, env: Environment): Value {
  const complaints: string[] = []
  const value = read(env, complaints)
  if (complaints.length > 0) throw new WrongUsage(complaints.join('\n'))
  return value
}

function readSandbox(directory: string): Installation | undefined {
  const file = join(directory, 'sandbox.json')
  if (!existsSync(file)) return undefined
  const read = objectIn(readFileSync(file, 'utf8'))
  if (!isSandboxFile(read))
    throw new Failure(`${file} was written by another version of Tollgate. Stop that sandbox and start it again.`)
  return {
    databaseUrl: read.database_url,
    kek: () => kekOf({ TOLLGATE_KEY_FILE: join(directory, 'keys', 'master.key') }),
    sandbox: { ...sandboxOf(read, directory), pid: read.pid, isRunning: answersSignal(read.pid) },
    callbackPolicy: { plainHttp: true, loopbackAnyPort: true },
  }
}

type RunningFile = SandboxFile & { pid: number }

const isSandboxFile = (read: unknown): read is RunningFile =>
  isObject(read) &&
  ['database_url', 'pid', 'base_url'].every((name) => name in read) &&
  ['simulators', 'merchant'].every((name) => isObject(read[name]))

/**
 * Opens the database for a command, over a line that `serve` would take. Only the doctor opens
 * another, to say what else is wrong. A sandbox has test data alone.
 */
export function openDatabase(
  { databaseUrl, sandbox }: Pick<Installation, 'databaseUrl' | 'sandbox'>,
  settings: Omit<PoolSettings, 'url'>,
): Pool {
  const complaint = sandbox ? undefined : lineComplaint(databaseUrl)
  if (complaint !== undefined) throw new WrongUsage(`${complaint}.`)
  return openPool({ url: databaseUrl, ...settings })
}

/** Opens the keys of the installation; refuses a key-encryption key that does not match. */
export const openKeys = (pool: Pool, { kek }: Installation, { clock, random }: Terminal): Promise<KeyRing> =>
  openKeyRing(pool, kek(), clock, random).catch((error) => {
    if (!(error instanceof WrongKek)) throw error
    throw new Failure(`TOLLGATE_KEY_FILE does not open the keys of this database: ${error.message}.`)
  })
