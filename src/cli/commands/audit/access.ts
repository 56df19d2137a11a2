import type { Command } from 'commander'
import { agoText } from '../../../base/moments.ts'
import { accessJson, refusedAccess } from '../../../operator/audit/access.ts'
import { merchantNamed } from '../../../operator/configuration/rows.ts'
import type { Terminal } from '../../terminal.ts'
import { atOffice } from '../installation.ts'
import { aLimit, aMoment, jsonOption } from '../options.ts'
import { table } from '../present.ts'

interface Options {
  merchant?: string
  from?: number
  limit: number
  json?: true
}

export function addAccessCommand(program: Command, terminal: Terminal): void {
  program
    .command('access')
    .description('requests with a wrong checksum, signature, token or random sum: whose name, from where, how often')
    .option('--merchant <login>', "only in this merchant's name")
    .option('--from <time>', 'since: a date, a time in UTC, or how long ago (2h, 7d); 24h without it', aMoment(terminal.clock))
    .option('--limit <number>', 'lines', aLimit, 20)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Gateways write them down every five seconds, summed up by the hour, and keep them for 30 days.

Examples
  npx tollgate access
  npx tollgate access --merchant shop --from 7d --json`,
    )
    .action(access.bind(undefined, terminal))
}

const usualSpanMs = 86_400_000

async function access(terminal: Terminal, { merchant, json, from, limit }: Options): Promise<void> {
  await atOffice(terminal, async ({ pool, clock }) => {
    const login = merchant === undefined ? {} : { login: (await merchantNamed(pool, merchant)).login }
    const entries = await refusedAccess(pool, { ...login, from: from ?? clock.now() - usualSpanMs, limit })
    if (json) return terminal.printJson({ refused: entries.map(accessJson) })
    if (entries.length === 0) return terminal.print('No access was refused.')
    const now = clock.now()
    terminal.print(
      table(
        [
          { title: 'LOGIN', of: (e) => e.login || 'unknown' },
          { title: 'ENDPOINT', of: (e) => e.endpoint },
          { title: 'OPERATION', of: (e) => e.operation },
          { title: 'ADDRESS', of: (e) => e.address },
          { title: 'TIMES', of: (e) => String(e.count), align: 'right' },
          { title: 'FIRST', of: (e) => agoText(e.firstAt, now) },
          { title: 'LAST', of: (e) => agoText(e.lastAt, now) },
          { title: 'REASON', of: (e) => e.reason },
        ],
        entries,
      ),
    )
  })
}
