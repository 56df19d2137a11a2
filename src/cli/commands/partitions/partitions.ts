import type { Command } from 'commander'
import { resolve } from 'node:path'
import type { CellDesk } from '../../../operator/desk.ts'
import { inEach, inTurn } from '../../../operator/cells/in-cells.ts'
import { counted, isoTime, timeText } from '../../../base/moments.ts'
import { Refused, type PartitionNeed } from '../../../operator/refused.ts'
import { cellNumbered } from '../../../operator/orders/logins.ts'
import { detachPartitions, refuseLate } from '../../../operator/partitions/detach.ts'
import { dropPartitions, exportPartitions, filesOf } from '../../../operator/partitions/export.ts'
import { listPartitions, makePartitions, type PartitionFact } from '../../../operator/partitions/rows.ts'
import { mostCell } from '../../../storage/cells.ts'
import type { Terminal } from '../../terminal.ts'
import { atOffice, type Office } from '../installation.ts'
import { aMoment, aNumber, jsonOption } from '../options.ts'
import { partText } from './partition-words.ts'
import { table } from '../present.ts'

interface Options {
  cell?: number
  json?: true
}

const cellOption = ['--cell <number>', 'only those of this cell', aNumber(0, mostCell)] as const

async function cellsOf(office: Office, { cell }: Options): Promise<readonly CellDesk[]> {
  const all = await office.cells()
  return cell === undefined ? all : [cellNumbered(all, cell)]
}

/** JSON of one cell is its own; that of several says which is which. */
const printCells = (terminal: Terminal, cells: readonly CellDesk[], done: readonly object[]): void =>
  terminal.printJson(done.length === 1 ? done[0]! : { cells: done.map((one, i) => ({ cell: cells[i]!.cellNo, ...one })) })

export function addPartitionCommands(program: Command, terminal: Terminal): void {
  const partitions = program.command('partitions').description('the tables of orders, by ranges of order ids')
  partitions
    .command('list')
    .description('all ranges, and how long they last')
    .option(...cellOption)
    .option(...jsonOption)
    .addHelpText('after', '\nNumbers of orders are estimates. --json has each table.\n\nExamples\n  npx tollgate partitions list')
    .action(list.bind(undefined, terminal))
  partitions
    .command('ensure')
    .description('makes partitions for the orders of a year')
    .option(...cellOption)
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
    .option(...cellOption)
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
    .option(...cellOption)
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
    .option(...cellOption)
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

async function list(terminal: Terminal, options: Options): Promise<void> {
  await atOffice(terminal, async (office) => {
    const cells = await cellsOf(office, options)
    const listed = await inEach(cells, (cell) => listPartitions(office, cell))
    const partitions = listed.flatMap((one) => one.partitions)
    const { nextOrderId } = listed[0]!.ahead
    const days = Math.floor(Math.min(...listed.map(({ ahead }) => ahead.days)))
    if (options.json)
      return terminal.printJson({
        partitions: partitions.map((p) => ({
          cell: p.cellNo,
          number: p.number,
          from: p.from,
          to: p.to,
          state: p.state,
          bytes: bytesOf(p),
          first_order_at: isoTime(p.firstAt),
          last_order_at: isoTime(p.lastAt),
          tables: p.pieces,
        })),
        next_order_id: nextOrderId,
        days_left: days,
      })
    terminal.print(
      table<PartitionFact>(
        [
          ...(cells.length > 1 ? [{ title: 'CELL', align: 'right' as const, of: (p: PartitionFact) => String(p.cellNo) }] : []),
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
    terminal.print(`\nThe next order has an id from ${nextOrderId}. They last ${counted(days, 'day')} or longer.`)
  })
}

async function ensure(terminal: Terminal, options: Options): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const made = (await inTurn(await cellsOf(office, options), (cell) => makePartitions(office, cell))).flat()
      if (options.json) return terminal.printJson({ made })
      terminal.print(made.length === 0 ? 'There are enough partitions.' : `Made ${counted(made.length, 'partition')}.`)
    },
    'admin',
  )
}

const named = ({ cellNo }: CellDesk, numbers: readonly bigint[]): string =>
  `${numbers.length === 1 ? 'partition' : 'partitions'} ${numbers.join(', ')}${cellNo === 0 ? '' : ` of cell ${cellNo}`}`

const needJson = (need: PartitionNeed): object =>
  need.is === 'gateway' ? { is: need.is, instance: need.instance, started_at: isoTime(need.startedAt) } : need

const inCellNo = <Part extends object>({ cellNo }: CellDesk, parts: readonly Part[]) => parts.map((part) => ({ cellNo, ...part }))

async function detach(terminal: Terminal, options: Options & { before: number }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      refuseLate(options.before, office.clock.now())
      const cells = await cellsOf(office, options)
      const done = await inTurn(cells, async (cell) => {
        const result = await detachPartitions(office, cell, options.before)
        if (!options.json && result.detached.length > 0)
          terminal.print(`Detached ${named(cell, result.detached)}. Next: npx tollgate partitions export --help`)
        return result
      })
      const left = done.flatMap((one, i) => inCellNo(cells[i]!, one.left))
      if (options.json)
        printCells(
          terminal,
          cells,
          done.map((one) => ({
            detached: one.detached,
            left: one.left.map(({ number, needs }) => ({ number, needs: needs.map(needJson) })),
          })),
        )
      else if (left.length === 0 && done.every(({ detached }) => detached.length === 0))
        terminal.print(`No partition lies wholly before ${timeText(options.before)} UTC.`)
      if (left.length > 0) throw new Refused({ what: 'partitions needed', partitions: left })
    },
    'admin',
  )
}

async function exportAll(terminal: Terminal, options: Options & { to: string }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const cells = await cellsOf(office, options)
      const done = await inTurn(cells, async (cell) => {
        const directory = filesOf(resolve(options.to), cell)
        const exported = await exportPartitions(office, cell, directory)
        if (!options.json)
          for (const { number, rows, wasThere } of exported)
            terminal.print(
              `Partition ${partText({ ...cell, number })} ${wasThere ? 'was already' : 'is now'} in ${directory}, ` +
                `with ${counted(rows, 'order')}.`,
            )
        return { directory, exported }
      })
      if (options.json)
        return printCells(
          terminal,
          cells,
          done.map(({ directory, exported }) => ({
            directory,
            exported: exported.map(({ number, rows, wasThere }) => ({ number, orders: rows, was_there: wasThere })),
          })),
        )
      if (done.every(({ exported }) => exported.length === 0)) terminal.print('No partition is detached.')
    },
    'admin',
  )
}

async function drop(terminal: Terminal, options: Options & { from: string; yes?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const isWanted = options.yes === true
      const cells = await cellsOf(office, options)
      const done = await inTurn(cells, async (cell) => {
        const result = await dropPartitions(office, cell, { directory: filesOf(resolve(options.from), cell), isWanted })
        const { dropped } = result
        if (!options.json && dropped.length > 0)
          terminal.print(
            isWanted ? `Dropped ${named(cell, dropped)}.` : `Can be dropped: ${named(cell, dropped)}. To do it, add --yes.`,
          )
        return result
      })
      const left = done.flatMap((one, i) => inCellNo(cells[i]!, one.left))
      if (options.json)
        printCells(
          terminal,
          cells,
          done.map((one) => ({
            dropped: isWanted ? one.dropped : [],
            can_be_dropped: isWanted ? [] : one.dropped,
            left: one.left,
          })),
        )
      else if (left.length === 0 && done.every(({ dropped }) => dropped.length === 0)) terminal.print('No partition is detached.')
      if (left.length > 0) throw new Refused({ what: 'partitions unproven', partitions: left })
    },
    'admin',
  )
}
