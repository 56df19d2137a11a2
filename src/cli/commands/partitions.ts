import type { Command } from 'commander'
import { resolve } from 'node:path'
import { counted, isoTime, timeText } from '../../operator/moments.ts'
import { Refused, type Need } from '../../operator/refused.ts'
import { detachPartitions } from '../../operator/store-partition-detach.ts'
import { dropPartitions, exportPartitions } from '../../operator/store-partition-export.ts'
import { listPartitions, makePartitions, type PartitionFact } from '../../operator/store-partitions.ts'
import type { Terminal } from '../terminal.ts'
import { atOffice } from './installation.ts'
import { aMoment, jsonOption } from './options.ts'
import { table } from './present.ts'

export function addPartitionCommands(program: Command, terminal: Terminal): void {
  const partitions = program.command('partitions').description('the tables of orders, by ranges of order ids')
  partitions
    .command('list')
    .description('all ranges, and how long they last')
    .option(...jsonOption)
    .addHelpText('after', '\nNumbers of orders are estimates. --json has each table.\n\nExamples\n  npx tollgate partitions list')
    .action(list.bind(undefined, terminal))
  partitions
    .command('ensure')
    .description('makes partitions for the orders of a year')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
It needs the owner of the tables, as migrate does, which makes them too. Gateways cannot make any: run it once a month.

Examples
  npx tollgate partitions ensure`,
    )
    .action(ensure.bind(undefined, terminal))
  addLeaving(partitions, terminal)
}

/** Out of the tables, into files, and gone. */
function addLeaving(partitions: Command, terminal: Terminal): void {
  partitions
    .command('detach')
    .description('takes old partitions off the tables, while payments go on')
    .requiredOption(
      '--before <time>',
      'those whose orders were all made before, 180 days ago or earlier',
      aMoment(terminal.clock),
    )
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
To merchants their orders are unknown then. A partition that is still needed stays, and the command says for what and ends
with 1: something of it is open, ended after that time, is to be called back, or new orders may get ids in it.
It needs the owner of the tables. It waits for what was begun before. Interrupted, it can be run again and goes on.

Examples
  npx tollgate partitions detach --before 2025-01-01`,
    )
    .action(detach.bind(undefined, terminal))
  partitions
    .command('export')
    .description('writes detached partitions into files')
    .requiredOption('--to <directory>', 'where to; it is made if it is missing')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
A gzip file for each table, in the text format of COPY, and a manifest with rows and SHA-256. Card numbers stay sealed; names
and addresses are in clear, so keep the files as you keep backups. It needs the owner of the tables. Run again, it writes
only what is missing.

Examples
  npx tollgate partitions export --to /var/lib/tollgate/old`,
    )
    .action(exportAll.bind(undefined, terminal))
  partitions
    .command('drop')
    .description('drops detached partitions that are exported')
    .requiredOption('--from <directory>', 'where they were exported to')
    .option('--yes', 'do it; without, it only says what would be dropped')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Files and tables are read and compared first. What does not agree stays, and the command says why and ends with 1.
It needs the owner of the tables.

Examples
  npx tollgate partitions drop --from /var/lib/tollgate/old
  npx tollgate partitions drop --from /var/lib/tollgate/old --yes`,
    )
    .action(drop.bind(undefined, terminal))
}

const rowsOf = ({ pieces }: PartitionFact): bigint => pieces.find(({ table: name }) => name === 'orders')?.rows ?? 0n
const bytesOf = ({ pieces }: PartitionFact): bigint => pieces.reduce((sum, { bytes }) => sum + bytes, 0n)

async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const { partitions, ahead } = await listPartitions(pool)
    if (options.json)
      return terminal.printJson({
        partitions: partitions.map((p) => ({
          number: p.number,
          from: p.from,
          to: p.to,
          state: p.state,
          bytes: bytesOf(p),
          first_order_at: isoTime(p.firstAt),
          last_order_at: isoTime(p.lastAt),
          tables: p.pieces,
        })),
        next_order_id: ahead.nextOrderId,
        days_left: Math.floor(ahead.days),
      })
    terminal.print(
      table(
        [
          { title: 'NO', align: 'right', of: (p) => String(p.number) },
          { title: 'ORDER IDS FROM', align: 'right', of: (p) => String(p.from) },
          { title: 'TO', align: 'right', of: (p) => String(p.to - 1n) },
          { title: 'ORDERS', align: 'right', of: (p) => String(rowsOf(p)) },
          { title: 'MIB', align: 'right', of: (p) => String(bytesOf(p) / 1_048_576n) },
          { title: 'FIRST ORDER', of: (p) => (p.firstAt === undefined ? 'none' : timeText(p.firstAt)) },
          { title: 'LAST ORDER', of: (p) => (p.lastAt === undefined ? 'none' : timeText(p.lastAt)) },
          { title: 'STATE', of: (p) => p.state },
        ],
        partitions,
      ),
    )
    terminal.print(
      `\nThe next order has an id from ${ahead.nextOrderId}. They last ${counted(Math.floor(ahead.days), 'day')} or longer.`,
    )
  })
}

async function ensure(terminal: Terminal, options: { json?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const made = await makePartitions(office)
      if (options.json) return terminal.printJson({ made })
      terminal.print(made.length === 0 ? 'There are enough partitions.' : `Made ${counted(made.length, 'partition')}.`)
    },
    'admin',
  )
}

const named = (numbers: readonly bigint[]): string => `${numbers.length === 1 ? 'partition' : 'partitions'} ${numbers.join(', ')}`

const needJson = (need: Need): object =>
  need.is === 'gateway' ? { is: need.is, instance: need.instance, started_at: isoTime(need.startedAt) } : need

async function detach(terminal: Terminal, options: { before: number; json?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const { detached, left } = await detachPartitions(office, options.before)
      if (options.json)
        terminal.printJson({ detached, left: left.map(({ number, needs }) => ({ number, needs: needs.map(needJson) })) })
      else if (detached.length > 0) terminal.print(`Detached ${named(detached)}. Next: npx tollgate partitions export --help`)
      else if (left.length === 0) terminal.print(`No partition lies wholly before ${timeText(options.before)} UTC.`)
      if (left.length > 0) throw new Refused({ what: 'partitions needed', partitions: left })
    },
    'admin',
  )
}

async function exportAll(terminal: Terminal, options: { to: string; json?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const directory = resolve(options.to)
      const exported = await exportPartitions(office, directory)
      if (options.json)
        return terminal.printJson({
          directory,
          exported: exported.map(({ number, rows, wasThere }) => ({ number, orders: rows, was_there: wasThere })),
        })
      if (exported.length === 0) return terminal.print('No partition is detached.')
      for (const { number, rows, wasThere } of exported)
        terminal.print(
          `Partition ${number} ${wasThere ? 'was already' : 'is now'} in ${directory}, with ${counted(rows, 'order')}.`,
        )
    },
    'admin',
  )
}

async function drop(terminal: Terminal, options: { from: string; yes?: true; json?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const isWanted = options.yes === true
      const { dropped, left } = await dropPartitions(office, resolve(options.from), isWanted)
      if (options.json) terminal.printJson({ dropped: isWanted ? dropped : [], can_be_dropped: isWanted ? [] : dropped, left })
      else if (dropped.length > 0)
        terminal.print(isWanted ? `Dropped ${named(dropped)}.` : `Can be dropped: ${named(dropped)}. To do it, add --yes.`)
      else if (left.length === 0) terminal.print('No partition is detached.')
      if (left.length > 0) throw new Refused({ what: 'partitions unproven', partitions: left })
    },
    'admin',
  )
}
