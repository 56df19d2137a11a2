import type { Command } from 'commander'
import { openLog, reasonOf } from '../../../base/log.ts'
import { booksFindings, copyFindings, sealedFindings } from '../../../operator/books/backup.ts'
import { migrationFinding } from '../../../operator/doctor/doctor.ts'
import { counted } from '../../../base/moments.ts'
import { cellBooks, copyFacts, openSealed, type CellBooks, type OpenedTable } from '../../../operator/books/backup-rows.ts'
import { sealedTables } from '../../../operator/keys/sealed-tables.ts'
import { sealedWithOrders } from '../../../gateway/sealed-tables.ts'
import { countKeys, migrationFacts, openedKeys } from '../../../operator/doctor/rows.ts'
import { databaseOf, type CellAddress } from '../../../storage/cells.ts'
import { pendingMigrations } from '../../../storage/migrate.ts'
import type { Pool, Runner } from '../../../storage/pool.ts'
import type { SealedTable } from '../../../keys/reseal.ts'
import { listCells } from '../../../storage/cell-rows.ts'
import { snapshot } from '../../../storage/transaction.ts'
import type { Terminal } from '../../terminal.ts'
import { tellProgress } from '../audit/audit-verify.ts'
import { inBackupWords } from './backup-words.ts'
import { keyFinding, lineOf } from '../doctor/doctor.ts'
import { inFindingWords, ok, problem, type WordedFinding } from '../doctor/doctor-words.ts'
import { findInstallation, inWords, openDatabase, type Installation } from '../installation.ts'
import { jsonOption } from '../options.ts'

interface CheckOptions {
  all?: true
  json?: true
}

export function addBackupCommands(program: Command, terminal: Terminal): void {
  program
    .command('backup')
    .description('what belongs to backups of the database')
    .command('check')
    .description('proves that a restored copy is whole, before a gateway starts on it')
    .option('--all', 'opens every sealed value, not some 1,000 of each table')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Looks at the database of DATABASE_URL with the key-encryption key of TOLLGATE_KEY_FILE: its migrations, whether the key
opens the data keys and these open what is sealed, whether the books of every order add up, whether new ids are above all
that were used, the chain of the audit trail, and of which moment the newest row is.
It reads all orders of every cell, in one read-only transaction each, and changes nothing.
Ends with 0 when the copy is whole, 1 when something was found.

What the restore lost is known to the acquirer alone: npx tollgate reconcile

Examples
  DATABASE_URL=postgres://… TOLLGATE_KEY_FILE=kek npx tollgate backup check
  npx tollgate backup check --all --json`,
    )
    .action(check.bind(undefined, terminal))
}

async function check(terminal: Terminal, options: CheckOptions): Promise<void> {
  const { env, stderr } = terminal
  const findings: WordedFinding[] = []
  const report = (...found: WordedFinding[]) => {
    findings.push(...found)
    if (!options.json) for (const finding of found) terminal.print(lineOf(finding))
  }
  const installation = findInstallation(env)
  const log = openLog({ level: 'fatal', destination: stderr })
  // Without the audit trail of other commands: a copy is looked at as it is.
  const pool = openDatabase(installation, { connections: 2, use: 'admin', log })
  try {
    await look(pool, terminal, installation, options.all ? 'all' : 'sample', report)
  } catch (error) {
    throw inWords(error)
  } finally {
    await pool.close().catch(() => {})
  }
  const problems = findings.filter(({ is }) => is === 'problem').length
  if (problems > 0) terminal.exitCode = 1
  if (options.json)
    terminal.printJson({ whole: problems === 0, checks: findings.map((f) => ({ ...f, advice: f.advice ?? null })) })
  else terminal.print(`\n${problems === 0 ? 'The copy is whole.' : `${counted(problems, 'problem')}.`}`)
}

/** If the schema or the keys are not those of this version, what depends on them is left out. */
async function look(
  pool: Pool,
  terminal: Terminal,
  installation: Installation,
  which: 'all' | 'sample',
  report: (...found: WordedFinding[]) => void,
): Promise<void> {
  const { host, pathname } = new URL(installation.databaseUrl)
  let migrated
  try {
    migrated = migrationFinding(await migrationFacts(pool))
  } catch (error) {
    return report(problem('database', reasonOf(inWords(error)), 'start it, or correct DATABASE_URL'))
  }
  const now = terminal.clock.now()
  report(ok('database', `${pathname.slice(1)} at ${host}`), inFindingWords(migrated, now))
  if (migrated.is === 'problem') return
  const keys = await keyFinding(pool, installation, await countKeys(pool))
  report(keys)
  // A key service may be asked for them, which no transaction waits for.
  const opened = keys.is === 'problem' ? undefined : await openedKeys(pool, installation.kek())
  const open = (runner: Runner, tables: readonly SealedTable[]) => (opened ? openSealed(runner, tables, opened, which) : [])
  const others: CellBooks[] = []
  for (const own of (await listCells(pool)).filter(({ cellNo }) => cellNo > 0)) {
    const found = await lookAtCell(own, terminal, installation, (runner) => open(runner, sealedWithOrders))
    if ('books' in found) others.push(found.books)
    report(...found.findings.map((finding) => ({ ...finding, what: `cell ${own.cellNo}: ${finding.what}` })))
  }
  const { sealed, books, facts } = await snapshot(pool, async (runner) => {
    const own = { sealed: await open(runner, sealedTables), books: await cellBooks(runner) }
    return { ...own, facts: await copyFacts(runner, [own.books, ...others], tellProgress(terminal)) }
  })
  const found = [...sealedFindings(sealed), ...booksFindings(books), ...copyFindings(facts)]
  report(...found.map((finding) => inBackupWords(finding, now)))
}

interface CellLook {
  findings: WordedFinding[]
  books?: CellBooks
}

/** A cell other than 0, which may be in another database. */
async function lookAtCell(
  own: CellAddress,
  { stderr, clock }: Terminal,
  { databaseUrl, sandbox }: Installation,
  open: (runner: Runner) => Promise<OpenedTable[]> | OpenedTable[],
): Promise<CellLook> {
  const { url, schema } = databaseOf(databaseUrl, own)
  const log = openLog({ level: 'fatal', destination: stderr })
  const pool = openDatabase({ databaseUrl: url, sandbox }, { schema, connections: 1, use: 'admin', log })
  try {
    const pending = await pendingMigrations(pool, 'cell')
    if (pending.length > 0)
      return { findings: [problem('migrations', `not applied: ${pending.join(', ')}`, 'npx tollgate migrate')] }
    const { sealed, books } = await snapshot(pool, async (runner) => ({
      sealed: await open(runner),
      books: await cellBooks(runner),
    }))
    const found = [...sealedFindings(sealed), ...booksFindings(books)]
    return { findings: found.map((finding) => inBackupWords(finding, clock.now())), books }
  } catch (error) {
    return { findings: [problem('database', reasonOf(inWords(error)), 'restore it too, or correct its address')] }
  } finally {
    await pool.close().catch(() => {})
  }
}
