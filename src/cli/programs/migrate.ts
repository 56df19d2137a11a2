import type { Command } from 'commander'
import { openLog } from '../../base/log.ts'
import { migrateAll } from '../../storage/migrate-cells.ts'
import { isDatabaseUrl } from '../../storage/database-line.ts'
import { ConfigError, configured } from '../../settings/serve.ts'
import { databaseUrlOf } from '../../settings/keys.ts'
import type { Terminal } from '../terminal.ts'
import { openDatabase } from '../installation.ts'

export function addMigrateCommand(program: Command, terminal: Terminal): void {
  program
    .command('migrate')
    .description('brings the database of DATABASE_URL to this version, with all cells')
    .action(migrateDatabase.bind(undefined, terminal))
}

async function migrateDatabase({ env, stderr, clock, print }: Terminal): Promise<void> {
  const url = configured((complaints) => databaseUrlOf(env, complaints))
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
  } finally {
    await pool.close()
  }
}
