/** The check of a restored copy by the command line. */
import type { Command } from 'commander'
import { openLog } from '../base/log.ts'
import { counted } from '../base/moments.ts'
import { checkCopy } from '../operator/books/check-copy.ts'
import { findInstallation, inWords, openDatabases } from './installation.ts'
import { report } from './findings.ts'
import type { Terminal } from './terminal.ts'

export function addBackupCommands(program: Command, terminal: Terminal): void {
  program
    .command('backup')
    .description('what belongs to backups of the database')
    .command('check')
    .description('proves that a restored copy is whole, before a gateway starts on it')
    .option('--all', 'opens every sealed value, not some 1,000 of each table')
    .option('--json', 'print JSON for machines')
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

async function check(terminal: Terminal, options: { all?: true; json?: true }): Promise<void> {
  const { env, stderr, clock, complain: progress } = terminal
  const installation = findInstallation(env)
  const { databaseUrl, kek } = installation
  const settings = { connections: 2, use: 'admin', log: openLog({ level: 'fatal', destination: stderr }) } as const
  // Without the audit trail of other commands: a copy is looked at as it is.
  const { pool, cells, close } = openDatabases(installation, settings)
  try {
    const found = checkCopy({ pool, cells, clock, databaseUrl, kek, progress }, options.all ? 'all' : 'sample')
    await report(terminal, options.json === true, found, ({ problems }) => ({
      json: { whole: problems === 0 },
      sum: problems === 0 ? 'The copy is whole.' : `${counted(problems, 'problem')}.`,
    }))
  } catch (error) {
    throw inWords(error)
  } finally {
    await close()
  }
}
