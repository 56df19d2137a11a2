import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { reasonOf } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import type { TargetPolicy } from '../../http/address.ts'
import type { CellDesk } from '../../operator/desk.ts'
import { CellFailed } from '../../operator/cells/in-cells.ts'
import { isDatabaseUrl, lineComplaint } from '../../storage/database-line.ts'
import { Refused } from '../../operator/refused.ts'
import { openPool, type Pool, type PoolSettings } from '../../storage/pool.ts'
import type { KeyEncryption } from '../../keys/encryption.ts'
import { databaseOf } from '../../storage/cells.ts'
import { listCells } from '../../storage/cell-rows.ts'
import { KeyServiceFailed } from '../../keys/service.ts'
import { databaseUrlOf, encryptionBy, kekSource } from '../../settings/keys.ts'
import type { Environment } from '../terminal.ts'
import { Failure, WrongUsage } from './failure.ts'
import { failureOf } from './refusals.ts'

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
  { databaseUrl, sandbox }: { databaseUrl: string; sandbox?: SandboxFacts | undefined },
  settings: Omit<PoolSettings, 'url'>,
): Pool {
  const complaint = sandbox ? undefined : lineComplaint(databaseUrl)
  if (complaint !== undefined) throw new WrongUsage(`${complaint}.`)
  return openPool({ url: databaseUrl, ...settings })
}

/** The cells, once a command asks for them; cell 0 is in the schema of the installation. */
export function openCellDesks(pool: Pool, { databaseUrl, sandbox }: Installation, settings: Omit<PoolSettings, 'url'>) {
  let opened: Promise<readonly CellDesk[]> | undefined
  const open = async (): Promise<readonly CellDesk[]> =>
    (await listCells(pool)).map((own) => {
      if (own.cellNo === 0) return { ...own, pool }
      const { url, schema } = databaseOf(databaseUrl, own)
      return { ...own, pool: openDatabase({ databaseUrl: url, sandbox }, { ...settings, schema }) }
    })
  return {
    all: () => (opened ??= open()),
    async close() {
      const cells = await opened?.catch(() => [])
      for (const cell of cells ?? []) if (cell.pool !== pool) await cell.pool.close().catch(() => {})
    },
  }
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

/** What was refused, and what an operator can do about the usual database failures. */
export function inWords(error: unknown): unknown {
  if (error instanceof Refused) return failureOf(error.refusal)
  if (error instanceof Failure || !(error instanceof Error)) return error
  if (error instanceof CellFailed) return cellInWords(error)
  if (error instanceof KeyServiceFailed) return new Failure(sentence(error.message))
  const code = 'code' in error ? String(error.code) : ''
  if (code === '42P01' || code === '42703') return new Failure('The database is not at this version. Run: npx tollgate migrate')
  if (code === '57014') return new Failure('The search took longer than 15 s. Narrow it with --from, --to or --merchant.')
  if (code === '42501')
    return new Failure(
      `The user of DATABASE_URL may not do this (${reasonOf(error)}). Which commands need tollgate_read, ` +
        'tollgate_operator, tollgate_retention or the owner: docs/operating.md, "Database users".',
    )
  if (code === '55P03')
    return new Failure('Something else has held a row of this change for 5 s. Nothing was changed. Try again.')
  if (code.startsWith('28') || code === '3D000')
    return new Failure(`The database refuses the connection: ${reasonOf(error)}. Check user, password and name in DATABASE_URL.`)
  if (isUnreachable(error))
    return new Failure(
      `The database cannot be reached: ${reasonOf(error) || code}. Is it running, and does DATABASE_URL name it?`,
    )
  return error
}

const isUnreachable = (error: Error): boolean =>
  /^E[A-Z]+$|^08|^57P/.test('code' in error ? String(error.code) : '') || /connection|timeout/i.test(error.message)

function cellInWords({ cellNo, cause }: CellFailed): Failure {
  if (cause instanceof Error && isUnreachable(cause))
    return new Failure(
      `Cell ${cellNo} cannot be reached: ${reasonOf(cause)}. Is its database running? See: npx tollgate cell list`,
    )
  const words = inWords(cause)
  return new Failure(`Cell ${cellNo}: ${words instanceof Failure ? words.message : reasonOf(cause)}`)
}
