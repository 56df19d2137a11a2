import type { Command } from 'commander'
import { counted, isoTime, timeText } from '../../operator/moments.ts'
import { listPartitions, makePartitions } from '../../operator/store-partitions.ts'
import type { Terminal } from '../terminal.ts'
import { atOffice } from './installation.ts'
import { jsonOption } from './options.ts'
import { table } from './present.ts'

export function addPartitionCommands(program: Command, terminal: Terminal): void {
  const partitions = program.command('partitions').description('the tables of orders, by ranges of order ids')
  partitions
    .command('list')
    .description('all ranges, and how long they last')
    .option(...jsonOption)
    .addHelpText('after', '\nExamples\n  npx tollgate partitions list')
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
}

async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const { partitions, ahead } = await listPartitions(pool)
    if (options.json)
      return terminal.printJson({
        partitions: partitions.map(({ number, from, to, bytes, firstAt, lastAt }) => ({
          number,
          from,
          to,
          bytes,
          first_order_at: isoTime(firstAt),
          last_order_at: isoTime(lastAt),
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
          { title: 'MIB', align: 'right', of: (p) => String(p.bytes / 1_048_576n) },
          { title: 'FIRST ORDER', of: (p) => (p.firstAt === undefined ? 'none' : timeText(p.firstAt)) },
          { title: 'LAST ORDER', of: (p) => (p.lastAt === undefined ? 'none' : timeText(p.lastAt)) },
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
