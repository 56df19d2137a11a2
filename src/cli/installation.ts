import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemRandom } from '../base/random.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { CellDesk } from '../operator/desk.ts'
import { isDatabaseUrl, lineComplaint } from '../storage/database-line.ts'
import { Refused } from '../operator/refused.ts'
import { troubleOf } from '../operator/trouble.ts'
import { openPool, type Pool, type PoolSettings } from '../storage/pool.ts'
import { WrongKek, type KeyEncryption } from '../keys/encryption.ts'
import { databaseOf } from '../storage/cells.ts'
import { listCells } from '../storage/cell-rows.ts'
import { openKeyRing, type KeyRing } from '../keys/ring.ts'
import { databaseUrlOf, encryptionBy, kekSource } from '../settings/keys.ts'
import type { Terminal } from './terminal.ts'
import type { Environment } from '../settings/variables.ts'
import { Failure, failureOf, WrongUsage } from './failure.ts'
import { withCommands } from './present.ts'

/** The running sandbox, from its sandbox.json. */
export interface SandboxFacts {
  directory: string
  pid: number
  baseUrl: string
  acquirerAdminUrl: string
  /** The login of its own merchant. */
  login: string
  oauthPrivateKeyFile: string
}

/** The installation that the commands work on, found through the environment. */
export interface Installation {
  databaseUrl: string
  kek: () => KeyEncryption
  sandbox?: SandboxFacts
  callbackPolicy: TargetPolicy
}

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
  if (named && env.DATABASE_URL && named.databaseUrl !== env.DATABASE_URL)
    throw new WrongUsage('TOLLGATE_DIR names a sandbox with another database than DATABASE_URL. Unset the one you do not mean.')
  if (named) return named
  if (env.DATABASE_URL) {
    if (!isDatabaseUrl(env.DATABASE_URL))
      throw new WrongUsage('DATABASE_URL is not a postgres:// URL, such as postgres://user:password@host:5432/database')
    const complaints: string[] = []
    const databaseUrl = databaseUrlOf(env, complaints)
    if (complaints.length > 0) throw new WrongUsage(complaints.join('\n'))
    return { databaseUrl, kek: () => kekOf(env), callbackPolicy: { plainHttp: false, loopbackAnyPort: false } }
  }
  const here = readSandbox(resolve('.tollgate'))
  if (here) return here
  throw new WrongUsage(`Nothing to work on. Either start the sandbox here (npm start), or name what you mean:
  TOLLGATE_DIR=…                   a running sandbox elsewhere
  DATABASE_URL=… TOLLGATE_KEY_FILE=…  an installation`)
}

function kekOf(env: Environment): KeyEncryption {
  const complaints: string[] = []
  const source = kekSource(env, complaints)
  if (!source) throw new WrongUsage(complaints.join('\n'))
  return encryptionBy(source, systemRandom)
}

function readSandbox(directory: string): Installation | undefined {
  const file = join(directory, 'sandbox.json')
  if (!existsSync(file)) return undefined
  const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (!isSandboxFile(read))
    throw new Failure(`${file} was written by another version of Tollgate. Stop that sandbox and start it again.`)
  return {
    databaseUrl: read.database_url,
    kek: () => kekOf({ TOLLGATE_KEY_FILE: join(directory, 'keys', 'master.key') }),
    sandbox: {
      directory,
      pid: read.pid,
      baseUrl: read.base_url,
      acquirerAdminUrl: read.simulators.acquirer_admin_url,
      login: read.merchant.login,
      oauthPrivateKeyFile: read.merchant.oauth_private_key_file,
    },
    callbackPolicy: { plainHttp: true, loopbackAnyPort: true },
  }
}

interface SandboxFile {
  database_url: string
  pid: number
  base_url: string
  simulators: { acquirer_admin_url: string }
  merchant: { login: string; oauth_private_key_file: string }
}

const isSandboxFile = (read: unknown): read is SandboxFile =>
  typeof read === 'object' &&
  read !== null &&
  ['database_url', 'pid', 'base_url', 'simulators', 'merchant'].every((name) => name in read)

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

/**
 * The databases of an installation: cells are opened once a command asks for them. Cell 0 is in the
 * schema of the installation.
 */
export function openDatabases(
  installation: Installation,
  settings: Omit<PoolSettings, 'url'>,
  pool: Pool = openDatabase(installation, settings),
) {
  let opened: Promise<readonly CellDesk[]> | undefined
  const open = async (): Promise<readonly CellDesk[]> =>
    (await listCells(pool)).map((own) => {
      if (own.cellNo === 0) return { ...own, pool }
      const { url, schema } = databaseOf(installation.databaseUrl, own)
      return { ...own, pool: openDatabase({ ...installation, databaseUrl: url }, { ...settings, schema }) }
    })
  return {
    pool,
    cells: () => (opened ??= open()),
    async close() {
      const cells = (await opened?.catch(() => [])) ?? []
      for (const one of new Set([...cells.map((cell) => cell.pool), pool])) await one.close().catch(() => {})
    },
  }
}

/** What was refused, and what an operator can do about the usual failures. */
export function inWords(error: unknown): unknown {
  if (error instanceof Refused) return failureOf(error.refusal)
  const trouble = error instanceof Failure ? undefined : troubleOf(error)
  if (!trouble) return error
  const { says, advice } = trouble
  return new Failure(advice === undefined ? says : `${says} ${withCommands(advice)}`)
}
