import { InvalidArgumentError, type Command } from 'commander'
import { auditDetails, auditJson } from '../../../operator/audit/audit.ts'
import { agoText, timeText } from '../../../base/moments.ts'
import { listAudit } from '../../../operator/audit/rows.ts'
import type { Terminal } from '../../terminal.ts'
import { addAuditChainCommands } from './audit-verify.ts'
import { atOffice } from '../installation.ts'
import { aLimit, aMoment, jsonOption } from '../options.ts'
import { table } from '../present.ts'

interface ListOptions {
  about?: string
  from?: number
  to?: number
  limit: number
  after?: string
  json?: true
}

export function addAuditCommands(program: Command, terminal: Terminal): void {
  const audit = program.command('audit').description('who changed what')
  audit
    .command('list')
    .description('changes that operators made, newest first')
    .option('--about <text>', 'only those whose action or subject has this in it')
    .option('--from <time>', 'at or after: a date, a time in UTC, or how long ago (2h, 7d)', aMoment(terminal.clock))
    .option('--to <time>', 'before', aMoment(terminal.clock))
    .option('--limit <number>', 'entries on a page', aLimit, 20)
    .option('--after <id>', 'the next page: after this entry', anAuditId)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Secrets are never in it.

Examples
  npx tollgate audit list
  npx tollgate audit list --about "merchant shop"
  npx tollgate audit list --from 7d --json`,
    )
    .action(list.bind(undefined, terminal))
  addAuditChainCommands(audit, terminal)
}

function anAuditId(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text))
    throw new InvalidArgumentError('It is not an id of this list; --json shows them.')
  return text.toLowerCase()
}

async function list(terminal: Terminal, { json, ...query }: ListOptions): Promise<void> {
  await atOffice(terminal, async ({ pool, clock }) => {
    const rows = await listAudit(pool, { ...query, limit: query.limit + 1 })
    const entries = rows.slice(0, query.limit)
    const next = rows.length > query.limit ? entries.at(-1)!.auditId : undefined
    if (json) return terminal.printJson({ entries: entries.map(auditJson), next: next ?? null })
    if (entries.length === 0)
      return terminal.print(
        Object.keys(query).length > 1
          ? 'Nothing fits. See all: npx tollgate audit list'
          : 'Nothing yet. Every change made with these commands is written here.',
      )
    const now = clock.now()
    terminal.print(
      table(
        [
          { title: 'TIME (UTC)', of: (e) => timeText(e.at) },
          { title: '', of: (e) => agoText(e.at, now) },
          { title: 'WHO', of: (e) => e.who },
          { title: 'DATABASE USER', of: (e) => e.session },
          { title: 'ACTION', of: (e) => e.action },
          { title: 'SUBJECT', of: (e) => e.subject },
          { title: 'DETAILS', of: auditDetails },
        ],
        entries,
      ),
    )
    if (next !== undefined) terminal.print(`\nThere are more: add --after ${next}`)
  })
}
