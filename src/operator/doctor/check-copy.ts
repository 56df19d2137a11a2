/**
 * Whether a restored copy is whole, in order of dependency: if the schema or the keys are not those
 * of this version, what depends on them is left out. It changes nothing.
 */
import type { Finding } from '../../entity/show.ts'
import { sealedWithOrders } from '../../gateway/sealed-tables.ts'
import type { SealedTable } from '../../keys/reseal.ts'
import { verifyChain } from '../../storage/audit-rows.ts'
import { pendingMigrations } from '../../storage/migrate.ts'
import type { Pool, Runner } from '../../storage/pool.ts'
import { snapshot } from '../../storage/transaction.ts'
import { trailProgress } from '../audit/verify.ts'
import { databaseName, failedDatabase, migrationFinding, noDatabase } from './database.ts'
import { ofCell, ok } from './finding.ts'
import { lookAtKeys } from './keys.ts'
import { migrationFacts } from './rows.ts'
import { sealedTables } from '../keys/sealed-tables.ts'
import type { Office } from '../office.ts'
import { booksFindings, idFindings, sealedFindings, trailFinding } from './backup.ts'
import { cellBooks, idBlocks, openSealed, type CellBooks, type OpenedTable } from './backup-rows.ts'

/** `which`: all sealed values are opened, or some of each table. */
export async function* checkCopy(office: Office, which: 'all' | 'sample'): AsyncGenerator<Finding> {
  const { pool, cells, clock, databaseUrl, kek, progress } = office
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
  // A key service may be asked for them, which no transaction waits for.
  const { finding, opened } = await lookAtKeys(pool, kek)
  yield finding
  const look = async (runner: Runner, tables: readonly SealedTable[]): Promise<Look> => ({
    sealed: opened ? await openSealed(runner, tables, opened, which) : [],
    books: await cellBooks(runner),
  })
  const findings = ({ sealed, books }: Look) => [...sealedFindings(sealed), ...booksFindings(books, clock.now())]
  const looks: Look[] = []
  for (const { cellNo, pool: own } of await cells()) {
    if (cellNo === 0) continue
    const seen = await lookAtCell(own, (runner) => look(runner, sealedWithOrders))
    if ('books' in seen) looks.push(seen)
    yield* ofCell(cellNo, 'books' in seen ? findings(seen) : [seen])
  }
  const all = await snapshot(pool, async (runner) => {
    const home = await look(runner, sealedTables)
    const used = [home, ...looks].flatMap(({ books }) => books.used)
    return { home, blocks: await idBlocks(runner, used), trail: await verifyChain(runner, undefined, trailProgress(progress)) }
  })
  yield* [...findings(all.home), ...idFindings(all.blocks), trailFinding(all.trail)]
}

interface Look {
  sealed: readonly OpenedTable[]
  books: CellBooks
}

/** A cell other than 0, which may be in another database; a finding says why it cannot be read. */
async function lookAtCell(pool: Pool, look: (runner: Runner) => Promise<Look>): Promise<Look | Finding> {
  try {
    const missing = await pendingMigrations(pool, 'cell')
    return missing.length > 0 ? migrationFinding({ missing, foreign: [], changed: [] }) : await snapshot(pool, look)
  } catch (error) {
    return failedDatabase(error, 'restore it too, or correct its address')
  }
}
