import type { Command } from 'commander'
import { openLog } from '../../base/log.ts'
import { ensureLogins } from '../../storage/logins.ts'
import { migrateAll } from '../../storage/migrate-cells.ts'
import { isDatabaseUrl } from '../../storage/database-line.ts'
import { ConfigError, configured, serveVariables } from '../../settings/serve.ts'
import { databaseUrlOf, loginsIn } from '../../settings/database.ts'
import { variablesHelp } from '../../settings/variables.ts'
import type { Terminal } from '../terminal.ts'
import { openDatabase } from '../installation.ts'

const s = serveVariables
// oxfmt-ignore
export const migrateVariables = {
  DATABASE_URL:                { ...s.DATABASE_URL, means: 'URL of a PostgreSQL 15 or newer, with the owner of the tables as its user' },
  DATABASE_URL_FILE:           s.DATABASE_URL_FILE,
  DATABASE_PASSWORD_FILE:      s.DATABASE_PASSWORD_FILE,
  DATABASE_PASSWORD_DIRECTORY: { ...s.DATABASE_PASSWORD_DIRECTORY, means: 'or: a directory with a file for each user, named like the user, with the password; migrate connects as tollgate_owner, and creates the users gateway, clerk, monitor and retention that have a file' },
  LOG_LEVEL:                   { ...s.LOG_LEVEL, usual: 'warn' as const },
} as const

export function addMigrateCommand(program: Command, terminal: Terminal): void {
  program
    .command('migrate')
    .description('brings the database of DATABASE_URL, with all cells, to this version')
    .addHelpText('after', `\nEnvironment (more in docs/install.md)\n${variablesHelp(migrateVariables)}`)
    .action(migrateDatabase.bind(undefined, terminal))
}

async function migrateDatabase({ env, stderr, clock, random, print }: Terminal): Promise<void> {
  const { url, logins } = configured((complaints) => ({
    url: databaseUrlOf(env, complaints, 'owner'),
    logins: loginsIn(env, complaints),
  }))
  if (!url) throw new ConfigError(['DATABASE_URL is missing: the PostgreSQL to migrate'])
  if (!isDatabaseUrl(url)) throw new ConfigError(['DATABASE_URL is not a postgres:// URL'])
  const log = openLog({ level: env.LOG_LEVEL ?? 'warn', destination: stderr })
  const pool = openDatabase({ databaseUrl: url }, { connections: 2, use: 'admin', log })
  try {
    const applied = await migrateAll(pool, url, clock.now(), log)
    const changed = applied.filter(({ names }) => names.length > 0)
    const what = (cellNo: number) => (cellNo === 0 ? 'Applied' : `Applied to cell ${cellNo}`)
    for (const { cellNo, names } of changed) print(`${what(cellNo)}: ${names.join(', ')}`)
    if (changed.length === 0) print('The database is up to date.')
    await ensureLogins(pool, logins, random)
    if (logins.length > 0) print(`Users with the passwords of their files: ${logins.map(({ name }) => name).join(', ')}`)
  } finally {
    await pool.close()
  }
}
