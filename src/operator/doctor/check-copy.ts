/**
 * Whether a restored copy is whole, in order of dependency: if the schema or the keys are not those
 * of this version, what depends on them is left out. It changes nothing.
 */
import type { Clock } from '../../base/clock.ts'
import type { KeyEncryption } from '../../keys/encryption.ts'
import type { SealedTable } from '../../keys/reseal.ts'
import { sealedWithOrders } from '../../gateway/sealed-tables.ts'
import { pendingMigrations } from '../../storage/migrate.ts'
import type { Runner } from '../../storage/pool.ts'
import { snapshot } from '../../storage/transaction.ts'
import { trailProgress } from '../audit/verify.ts'
import type { CellDesk, Databases } from '../desk.ts'
import { databaseName, failedDatabase, migrationFinding, noDatabase } from '../doctor/database.ts'
import { ok, type Finding } from '../doctor/finding.ts'
import { keyFinding } from '../doctor/keys.ts'
import { countKeys, migrationFacts, openedKeys } from '../doctor/rows.ts'
import { sealedTables } from '../keys/sealed-tables.ts'
import { booksFindings, copyFindings, sealedFindings } from './backup.ts'
import { cellBooks, copyFacts, openSealed, type CellBooks, type OpenedTable } from './backup-rows.ts'

export interface Copy extends Databases {
  clock: Clock
  databaseUrl: string
  kek: () => KeyEncryption
  /** What long work says of itself. */
  progress: (text: string) => void
}

/** `which`: all sealed values are opened, or some of each table. */
export async function* checkCopy(copy: Copy, which: 'all' | 'sample'): AsyncGenerator<Finding> {
  const { pool, clock, databaseUrl, kek, progress } = copy
  let migrated
  try {
    migrated = migrationFinding(await migrationFacts(pool))
  } catch (error) {
    yield noDatabase(error)
    return
  }
  yield ok('database', databaseName(databaseUrl))
  yield migrated
  if (migrated.is === 'problem') return
  const keys = await keyFinding(pool, kek, await countKeys(pool))
  yield keys
  // A key service may be asked for them, which no transaction waits for.
  const opened = keys.is === 'problem' ? undefined : await openedKeys(pool, kek())
  const open = async (runner: Runner, tables: readonly SealedTable[]) => (opened ? openSealed(runner, tables, opened, which) : [])
  const others: CellBooks[] = []
  for (const cell of await copy.cells()) {
    if (cell.cellNo === 0) continue
    const { books, findings } = await lookAt(cell, clock, (runner) => open(runner, sealedWithOrders))
    if (books) others.push(books)
    for (const finding of findings) yield { ...finding, cellNo: cell.cellNo }
  }
  const { sealed, books, facts } = await snapshot(pool, async (runner) => {
    const own = { sealed: await open(runner, sealedTables), books: await cellBooks(runner) }
    return { ...own, facts: await copyFacts(runner, [own.books, ...others], trailProgress(progress)) }
  })
  yield* [...sealedFindings(sealed), ...booksFindings(books, clock.now()), ...copyFindings(facts)]
}

interface CellLook {
  findings: readonly Finding[]
  books?: CellBooks
}

/** A cell other than 0, which may be in another database. */
async function lookAt({ pool }: CellDesk, clock: Clock, open: (runner: Runner) => Promise<OpenedTable[]>): Promise<CellLook> {
  try {
    const pending = await pendingMigrations(pool, 'cell')
    if (pending.length > 0) return { findings: [migrationFinding({ missing: pending, foreign: [], changed: [] })] }
    const { sealed, books } = await snapshot(pool, async (runner) => ({
      sealed: await open(runner),
      books: await cellBooks(runner),
    }))
    return { findings: [...sealedFindings(sealed), ...booksFindings(books, clock.now())], books }
  } catch (error) {
    return { findings: [failedDatabase(error, 'restore it too, or correct its address')] }
  }
}
