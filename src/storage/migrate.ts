import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reasonOf, type Log } from '../base/log.ts'
import { statement, type Pool, type Runner } from './pool.ts'
import { chainEarlierRows } from './store-audit-chain.ts'
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

function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!readdirSync(folder).includes('package.json')) folder = dirname(folder)
  return folder
}

/** What SQL alone cannot do, in the transaction of the file that it belongs to. */
const code: Readonly<Record<string, (runner: Runner) => Promise<void>>> = { '0026-audit-chain.sql': chainEarlierRows }

const createLedger = `
  create table if not exists migration (name text primary key, sha256 text not null, applied_at timestamptz not null)`
const claim = statement<{ name: string }>(
  `insert into migration (name, sha256, applied_at) values ($1, $2, $3) on conflict (name) do nothing returning name`,
)
const applied = statement<{ name: string; sha256: string }>(`select name, sha256 from migration`)

/**
 * Migrates the database to this version; returns the names of the applied migrations. Each file is
 * one transaction that first inserts its own name, so if two processes migrate at once, one waits
 * and then finds it done. Refuses a database with applied migrations that are not `known`.
 */
export async function migrate(pool: Pool, now: number, log: Log, known = migrations()): Promise<string[]> {
  await plain(pool, createLedger).catch((error) =>
    log.debug({ reason: reasonOf(error) }, 'another process creates the migration table'),
  )
  await refuseForeign(pool, known)
  const done: string[] = []
  for (const { name, sql } of known) {
    const ran = await transaction(pool, async (runner) => {
      const [mine] = await runner.run(claim, [name, sha256(sql), new Date(now).toISOString()])
      if (!mine) return false
      for (const part of sql.split(/;\s*\n/)) if (part.replace(/--.*$/gm, '').trim() !== '') await runner.run(unprepared(part))
      await code[name]?.(runner)
      return true
    })
    if (ran) done.push(name)
  }
  await ensurePartitions(pool)
  const isNew = done.length === known.length
  if (done.length > 0 && !isNew) await plain(pool, 'analyze')
  return done
}

/**
 * Names of the migrations that this database lacks; all of them if it is not Tollgate's yet.
 * Refuses a database of a newer version.
 */
export async function pendingMigrations(pool: Pool): Promise<string[]> {
  const known = migrations()
  try {
    await refuseForeign(pool, known)
  } catch (error) {
    const undefinedTable = '42P01'
    if ((error as { code?: string }).code === undefinedTable) return known.map((m) => m.name)
    throw error
  }
  const done = new Set((await pool.run(applied)).map((row) => row.name))
  return known.map((m) => m.name).filter((name) => !done.has(name))
}

async function refuseForeign(pool: Pool, known: Migration[]): Promise<void> {
  const byName = new Map(known.map((m) => [m.name, sha256(m.sql)]))
  for (const row of await pool.run(applied)) {
    const mine = byName.get(row.name)
    if (mine === undefined)
      throw new Error(
        `the database has the migration ${row.name}, which this version does not know: it was made by a newer Tollgate`,
      )
    if (mine !== row.sha256) throw new Error(`the migration ${row.name} was changed after it had been applied to this database`)
  }
}

/** The tables whose rows live in partitions by order id. */
const partitioned = ['orders', 'order_facts', 'transaction', 'attempt', 'order_event', 'request', 'delivery', 'delivery_attempt']
const partitionWidth = 10_000_000n
/**
 * Fill factor, in percent of a page. The rest is for the one or two updates of a row, so that it
 * stays in its page.
 */
const fillfactors: Readonly<Record<string, number>> = { orders: 45, transaction: 50, attempt: 50, delivery: 50 }
/**
 * Statistics of a partition with a few hundred rows make the planner read all of it for each batch,
 * and the plan stays while the partition grows. Without statistics it assumes a larger one.
 */
const firstLookAfter = 20_000
const nextOrderId = statement<{ next_id: bigint }>(`select next_id from id_block where name = 'order'`)

/**
 * Creates the partition that order ids are drawn from now, and the next one. Cheap if both exist;
 * call it now and then.
 */
export async function ensurePartitions(pool: Pool, registry: Pool = pool): Promise<void> {
  const [row] = await registry.run(nextOrderId)
  const current = row!.next_id / partitionWidth
  for (const number of [current, current + 1n]) {
    const [from, to] = [number * partitionWidth, (number + 1n) * partitionWidth]
    for (const name of partitioned) {
      const sql = `create table if not exists ${name}_p${number} partition of ${name} for values from (${from}) to (${to})
        with (fillfactor = ${fillfactors[name] ?? 100}, autovacuum_analyze_threshold = ${firstLookAfter},
          autovacuum_vacuum_threshold = ${firstLookAfter}, autovacuum_vacuum_insert_threshold = ${firstLookAfter})`
      await plain(pool, sql).catch((error: { code?: string }) => {
        // Another process created it at the same time.
        if (error.code !== '42P07' && error.code !== '23505') throw error
      })
    }
  }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const unprepared = (text: string) => ({ name: '', text })
const plain = (runner: Runner, text: string) => runner.run(unprepared(text))
