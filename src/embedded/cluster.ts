import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncDirectory, writeDurably } from '../storage/durable-file.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { type Secret, secret } from '../base/secret.ts'
import type { Binaries } from './binaries.ts'
import { leaveNote, type DataDirectory } from './data-directory.ts'
import { run, type ServerTraces } from './process.ts'

/** The one role and the one database of the gateway. */
export const roleName = 'tollgate'
export const databaseName = 'tollgate'

const passwordFile = (directory: string): string => join(directory, 'postgres-password')

/**
 * Names the format of a database, within it, so that a copy has it too. Those that were made before
 * 0.1.0 have no such file, and tables that this version cannot read.
 */
const formatFile = (data: string): string => join(data, 'tollgate.format')
const format = '1\n'

/** How to recognise the processes of the server on this data directory. */
export const tracesOf = (data: string): ServerTraces => ({
  data,
  clusterName: `tollgate ${createHash('sha256').update(data).digest('hex').slice(0, 12)}`,
})

/**
 * The major version of PostgreSQL that made the database; undefined if the directory is missing or
 * empty. Throws if it holds something that is not a complete database.
 */
function majorOf(data: string): number | undefined {
  if (!existsSync(data) || readdirSync(data).length === 0) return undefined
  if (!existsSync(join(data, 'PG_VERSION')) || !existsSync(join(data, 'global', 'pg_control'))) {
    throw new Error(
      `${data} is not empty and is not a complete PostgreSQL database either. Tollgate never leaves one half ` +
        `made under this name, so it does not touch it: bring it back from a backup, ` +
        'or move it away to start with an empty database.',
    )
  }
  return Number(readFileSync(join(data, 'PG_VERSION'), 'utf8'))
}

/** Whether there is a database that we can read; throws if there is another one. */
export function holdsDatabase(data: string, { major, version }: Binaries): boolean {
  const found = majorOf(data)
  if (found === undefined) return false
  if (found !== major)
    throw new Error(
      `The database in ${data} was made by PostgreSQL ${found} and the programs here are PostgreSQL ${version}, ` +
        `which cannot read it. With the programs of PostgreSQL ${found}, take a dump (pg_dumpall); move ${data} away; ` +
        'start Tollgate once, so that it makes an empty database; and load the dump (psql).',
    )
  const path = formatFile(data)
  if (!existsSync(path) || readFileSync(path, 'utf8') !== format)
    throw new Error(
      `The database in ${data} was made by another version of Tollgate, and this one cannot read it. It was left unchanged. ` +
        'Name a new directory in TOLLGATE_DIR, or remove this one to start again.',
    )
  return true
}

export interface ClusterParts {
  where: DataDirectory
  binaries: Binaries
  durable: boolean
  random: Random
  log: Log
}

/**
 * Creates the database beside its final name and renames it once it is complete and on the disk. A
 * crash half way leaves only a directory named `….new-…`, which the next start removes.
 */
export async function createCluster({ where, binaries, durable, random, log }: ClusterParts): Promise<void> {
  const { data, user } = where
  const password = await ensurePassword(where.directory, random)
  const growing = `${data}.new-${random.bytes(8).toString('hex')}`
  await mkdir(growing, { mode: 0o700 })
  try {
    // initdb reads the password from a file, as the user that it runs as.
    const word = join(growing, 'password')
    await writeFile(word, password.reveal(), { mode: 0o600 })
    if (user) for (const path of [word, growing]) await chown(path, user.uid, user.gid)
    const options = initOptions(binaries.major, durable)
    const made = await run(binaries.initdb, ['-D', join(growing, 'data'), `--pwfile=${word}`, ...options], user)
    if (made.failure !== undefined) throw new Error(`PostgreSQL could not make a database in ${data}: ${made.failure}`)
    await writeDurably(formatFile(join(growing, 'data')), format, 0o600, user)
    await rename(join(growing, 'data'), data)
    await syncDirectory(dirname(data))
  } finally {
    await rm(growing, { recursive: true, force: true, maxRetries: 5 })
  }
  if (where.moved !== undefined) await leaveNote(where, log)
  log.info({ data, version: binaries.version }, 'A new PostgreSQL database was made')
}

/**
 * Texts are compared by code point on every machine and in every version: the collations of the C
 * library and of ICU change with updates and corrupt indexes.
 */
function initOptions(major: number, durable: boolean): string[] {
  return [
    `--username=${roleName}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    // From version 17 on, upper and lower know Unicode without any library.
    ...(major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
    '--data-checksums',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ]
}

/** Removes the unfinished database that a killed start left. */
export async function sweepUnfinished(data: string): Promise<void> {
  const above = dirname(data)
  // If we cannot read that directory, beside data that the operator linked to, we created nothing
  // in it.
  const left = (await readdir(above).catch(() => [])).filter((name) => name.startsWith(`${basename(data)}.new-`))
  // An initdb that outlived its parent may still be writing; it fails soon, because its directory
  // goes.
  for (const name of left) await rm(join(above, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}

/** The password is made before the database, so that no database exists without it. */
async function ensurePassword(directory: string, random: Random): Promise<Secret<string>> {
  if (!existsSync(passwordFile(directory))) {
    await writeDurably(passwordFile(directory), `${random.bytes(24).toString('hex')}\n`, 0o600)
  }
  return readPassword(directory)
}

export async function readPassword(directory: string): Promise<Secret<string>> {
  const path = passwordFile(directory)
  if (!existsSync(path)) {
    throw new Error(`The password of the database is lost: ${path} is missing. Restore it from where the database came from.`)
  }
  return secret((await readFile(path, 'utf8')).trim())
}
