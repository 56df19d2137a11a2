import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reasonOf, type Log } from '../base/log.ts'
import { statement, type Pool, type Runner } from './pool.ts'
import { cellTables } from './grants.ts'
import { ensurePartitions } from './partitions.ts'
import { ensureRoles, grantRoles } from './roles.ts'
import { transaction } from './transaction.ts'

export interface Migration {
  name: string
  sql: string
}

/** The SQL files beside the sources, in order; the build does not copy them. */
export function migrations(): Migration[] {
  const folder = join(packageRoot(), 'src', 'storage', 'migrations')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({ name, sql: readFileSync(join(folder, name), 'utf8') }))
}

/** The names in the ledger of a cell for the statements that made it. */
const cellTablesMade = 'cell.sql'

/** Those statements of a schema, as `npm run schema` writes it, that make what a cell has. */
export const ofCell = (schema: string): string[] =>
  statementsOf(schema).filter((one) => cellTables.includes(/(?:table|view|INDEX \w+ ON) (\w+)/.exec(one)?.[1] ?? ''))

const cellDump = (): string[] => ofCell(readFileSync(join(packageRoot(), 'src', 'storage', 'schema.sql'), 'utf8'))

function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!readdirSync(folder).includes('package.json')) folder = dirname(folder)
  return folder
}

const createLedger = `
  create table if not exists migration (name text primary key, sha256 text not null, applied_at timestamptz not null)`
const claim = statement<{ name: string }>(
  `insert into migration (name, sha256, applied_at) values ($1, $2, $3) on conflict (name) do nothing returning name`,
)
const ledger = statement<object>(
  `select from pg_class where relname = 'migration' and relnamespace = current_schema()::regnamespace`,
)
const applied = statement<{ name: string; sha256: string }>(`select name, sha256 from migration`)

/** It changes tables of cells, so it runs in each. All others run in the installation alone. */
const isOfCells = ({ name }: Migration): boolean => name.endsWith('.cell.sql')

/**
 * Migrates the installation to this version, and cell 0 with it; returns the names of the applied
 * migrations. Each file is one transaction that first inserts its own name, so if two processes
 * migrate together, one waits and then finds it done. Then it grants the roles what they need and
 * creates partitions for a year. Refuses a database with applied migrations that are not `known`.
 */
export async function migrate(pool: Pool, now: number, log: Log, known = migrations()): Promise<string[]> {
  await plain(pool, createLedger).catch((error) =>
    log.debug({ reason: reasonOf(error) }, 'another process creates the migration table'),
  )
  await refuseForeign(pool, known)
  await ensureRoles(pool)
  const done = await applyAll(pool, now, known)
  // The rows of grants.ts are about the newest tables.
  if (known.length === migrations().length) await grantRoles(pool)
  await ensurePartitions(pool)
  const isNew = done.length === known.length
  if (done.length > 0 && !isNew) await plain(pool, 'analyze')
  return done
}

async function applyAll(pool: Pool, now: number, known: readonly Migration[]): Promise<string[]> {
  const done: string[] = []
  for (const { name, sql } of known) {
    const ran = await transaction(pool, async (runner) => {
      const [mine] = await runner.run(claim, [name, sha256(sql), new Date(now).toISOString()])
      if (!mine) return false
      await runAll(runner, statementsOf(sql))
      return true
    })
    if (ran) done.push(name)
  }
  return done
}

async function runAll(runner: Runner, statements: readonly string[]): Promise<void> {
  for (const one of statements) await plain(runner, one)
}

/** Each ends with a semicolon at the end of a line. */
const statementsOf = (sql: string): string[] =>
  sql
    .replace(/--.*$/gm, '')
    .split(/;\s*\n/)
    .map((one) => one.trim())
    .filter((one) => one !== '')

/** Pools of the owner: one whose statements see the schema of the cell, one at the installation. */
export interface CellPools {
  cell: Pool
  installation: Pool
  schema: string
}

/** Makes the schema of a cell as the present version has it, if it is not there yet. */
export async function createCell({ cell, installation, schema }: CellPools, now: number): Promise<void> {
  await transaction(cell, async (runner) => {
    // With Citus the schema becomes a unit that it can place and move. PostgreSQL alone takes any
    // setting whose name has a point, and forgets it at the end of the transaction.
    await plain(runner, 'set local citus.enable_schema_based_sharding = on')
    await plain(runner, `create schema if not exists ${schema}`)
  })
  await ensureRoles(cell)
  await transaction(cell, async (runner) => {
    if ((await runner.run(ledger)).length > 0) return
    await plain(runner, createLedger)
    const dump = cellDump()
    await runAll(runner, dump)
    const made = { name: cellTablesMade, sql: dump.join(';\n') }
    for (const { name, sql } of [made, ...migrations().filter(isOfCells)])
      await runner.run(claim, [name, sha256(sql), new Date(now).toISOString()])
  })
  await grantRoles(cell)
  await ensurePartitions(cell, installation)
}

/** Migrates a cell other than 0; returns the names of the applied migrations. */
export async function migrateCell({ cell, installation }: CellPools, now: number, known = migrations()): Promise<string[]> {
  const ofCells = known.filter(isOfCells)
  await refuseForeign(cell, ofCells)
  const done = await applyAll(cell, now, ofCells)
  await grantRoles(cell)
  await ensurePartitions(cell, installation)
  if (done.length > 0) await plain(cell, 'analyze')
  return done
}

/**
 * Names of the migrations that this database lacks; all of them if it is not Tollgate's yet.
 * Refuses a database of a newer version.
 */
export async function pendingMigrations(pool: Pool, of: 'installation' | 'cell' = 'installation'): Promise<string[]> {
  const known = of === 'cell' ? migrations().filter(isOfCells) : migrations()
  try {
    await refuseForeign(pool, known)
  } catch (error) {
    const undefinedTable = '42P01'
    if ((error as { code?: string }).code === undefinedTable)
      return [...(of === 'cell' ? [cellTablesMade] : []), ...known.map((m) => m.name)]
    throw error
  }
  const done = new Set((await pool.run(applied)).map((row) => row.name))
  return known.map((m) => m.name).filter((name) => !done.has(name))
}

/** The first migration of databases that were made before there was one baseline. */
const beforeBaseline = '0001-foundation.sql'

async function refuseForeign(pool: Pool, known: Migration[]): Promise<void> {
  const byName = new Map(known.map((m) => [m.name, sha256(m.sql)]))
  const ran = await pool.run(applied)
  if (ran.some(({ name }) => name === beforeBaseline))
    throw new Error(
      'the database was made by a Tollgate before 0.1.0, whose tables this version cannot read. It was left unchanged. ' +
        'Name a new, empty database in DATABASE_URL',
    )
  for (const row of ran) {
    // The statements that made the cell, of any version.
    if (row.name === cellTablesMade) continue
    const mine = byName.get(row.name)
    if (mine === undefined)
      throw new Error(
        `the database has the migration ${row.name}, which this version does not know: it was made by a newer Tollgate`,
      )
    if (mine !== row.sha256) throw new Error(`the migration ${row.name} was changed after it had been applied to this database`)
  }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const unprepared = (text: string) => ({ name: '', text })
const plain = (runner: Runner, text: string) => runner.run(unprepared(text))
