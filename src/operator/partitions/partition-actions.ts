/** Partitions: the tables of orders, by ranges of order ids. */
import { resolve } from 'node:path'
import { counted, timeText } from '../../base/moments.ts'
import { jsonOf, pick } from '../../entity/json.ts'
import { anyText, flag, moment, whole } from '../../entity/kinds.ts'
import { hint, numbered, tableOf, type Block, type Column } from '../../entity/show.ts'
import { mostCell } from '../../storage/cells.ts'
import { action, type Actions } from '../action.ts'
import { inEach, inTurn } from '../in-cells.ts'
import type { CellDesk } from '../desk.ts'
import type { Office } from '../office.ts'
import { cellNumbered } from '../where.ts'
import type { OperatorRefusal } from '../refused.ts'
import { detachPartitions, refuseLate, type DoneAndLeft } from './detach.ts'
import { dropPartitions, exportPartitions, filesOf } from './export.ts'
import { listPartitions, makePartitions, type PartitionFact } from './rows.ts'

const ofOneCell = { is: whole(0, mostCell), means: 'only partitions of this cell' } as const

interface OfCell {
  cell?: number
}

async function cellsOf(office: Office, { cell }: OfCell): Promise<readonly CellDesk[]> {
  const all = await office.cells()
  return cell === undefined ? all : [cellNumbered(all, cell)]
}

type InCell<T> = T & { cellNo: number }

/** In each cell after the other. */
const eachInTurn = async <T extends object>(
  office: Office,
  asked: OfCell,
  work: (cell: CellDesk) => Promise<T>,
): Promise<readonly InCell<T>[]> =>
  inTurn(await cellsOf(office, asked), async (cell) => ({ cellNo: cell.cellNo, ...(await work(cell)) }))

/** JSON of one cell is its own; that of several says which is which. */
const jsonOfCells = <T>(cells: readonly InCell<T>[], json: (one: InCell<T>) => object): object =>
  cells.length === 1 ? json(cells[0]!) : { cells: cells.map((one) => ({ cell: one.cellNo, ...json(one) })) }

const ofCell = (cellNo: number): string => (cellNo === 0 ? '' : ` of cell ${cellNo}`)

/** A line for each cell in which something was done. */
const linesOf = (cells: readonly InCell<DoneAndLeft<object>>[], says: (which: string) => string): string =>
  cells
    .filter(({ done }) => done.length > 0)
    .map(({ cellNo, done }) => says(`partition${done.length === 1 ? '' : 's'} ${done.join(', ')}${ofCell(cellNo)}`))
    .join('\n')

/** Partitions that stay, each with its cell. */
const leftIn = <Why>(cells: readonly InCell<DoneAndLeft<Why>>[]) =>
  cells.flatMap(({ cellNo, left }) => left.map((one) => ({ cellNo, ...one })))

const rowsOf = ({ pieces }: PartitionFact): bigint => pieces.find(({ table: name }) => name === 'orders')?.rows ?? 0n
const bytesOf = ({ pieces }: PartitionFact): bigint => pieces.reduce((sum, { bytes }) => sum + bytes, 0n)

const columns: readonly Column<PartitionFact>[] = [
  numbered('NO', (p) => p.number),
  numbered('ORDER IDS FROM', (p) => p.from),
  numbered('TO', (p) => p.to - 1n),
  numbered('ORDERS', rowsOf),
  numbered('MIB', (p) => bytesOf(p) / 1_048_576n),
  { title: 'FIRST ORDER', of: (p) => (p.firstAt === undefined ? 'none' : timeText(p.firstAt)) },
  { title: 'LAST ORDER', of: (p) => (p.lastAt === undefined ? 'none' : timeText(p.lastAt)) },
  { title: 'STATE', of: (p) => p.state },
]

const noneDetached = 'No partition is detached.'

const list = action({
  does: 'lists the partitions, and how long their order ids last',
  needs: 'read',
  takes: { cell: ofOneCell },
  async perform(office, asked) {
    const listed = await inEach(await cellsOf(office, asked), (cell) => listPartitions(office, cell))
    return {
      partitions: listed.flatMap((one) => one.partitions),
      isOfSeveral: listed.length > 1,
      nextOrderId: listed[0]!.ahead.nextOrderId,
      days: Math.floor(Math.min(...listed.map(({ ahead }) => ahead.days))),
    }
  },
  gives: {
    json: ({ partitions, nextOrderId, days }) => ({
      partitions: partitions.map((p) =>
        jsonOf({
          cell: p.cellNo,
          ...pick(p, 'number', 'from', 'to', 'state'),
          bytes: bytesOf(p),
          firstOrderAt: p.firstAt,
          lastOrderAt: p.lastAt,
          tables: p.pieces,
        }),
      ),
      next_order_id: nextOrderId,
      days_left: days,
    }),
    blocks: ({ partitions, isOfSeveral, nextOrderId, days }) => [
      tableOf([...(isOfSeveral ? [numbered<PartitionFact>('CELL', (p) => p.cellNo)] : []), ...columns], partitions),
      `The next order has an id from ${nextOrderId}. They last ${counted(days, 'day')} or longer.`,
    ],
  },
  more: 'Numbers of orders are estimates. --json has each table.',
  examples: ['partitions list'],
})

const ensure = action({
  does: 'adds partitions for the orders of a year',
  needs: 'system',
  long: true,
  takes: { cell: ofOneCell },
  perform: async (office, asked) => (await inTurn(await cellsOf(office, asked), (cell) => makePartitions(office, cell))).flat(),
  gives: {
    json: (made) => ({ made }),
    blocks: (made) => [made.length === 0 ? 'There are enough partitions.' : `Made ${counted(made.length, 'partition')}.`],
  },
  more: `Needs the owner of the tables, as migrate does, which adds them too. Gateways cannot add any: run it once a month.`,
  examples: ['partitions ensure'],
})

const detach = action({
  does: 'detaches old partitions from the tables, while payments go on',
  needs: 'system',
  long: true,
  takes: {
    before: { is: moment, needed: true, means: 'only partitions whose orders were all made before, 180 days ago or earlier' },
    cell: ofOneCell,
  },
  async perform(office, asked) {
    const now = office.clock.now()
    const before = asked.before(now)
    refuseLate(before, now)
    return { before, cells: await eachInTurn(office, asked, (cell) => detachPartitions(office, cell, before)) }
  },
  leaves({ cells }): OperatorRefusal | undefined {
    const left = leftIn(cells)
    return left.length === 0 ? undefined : { what: 'partitions needed', partitions: left }
  },
  gives: {
    json: ({ cells }) =>
      jsonOfCells(cells, ({ done, left }) => ({
        detached: done,
        left: left.map(({ number, needs }) => ({ number, needs: needs.map(jsonOf) })),
      })),
    blocks({ before, cells }): Block[] {
      const lines = linesOf(cells, (which) => `Detached ${which}.`)
      if (lines !== '') return [lines, hint('Next', 'partitions export --help')]
      return leftIn(cells).length > 0 ? [] : [`No partition lies wholly before ${timeText(before)} UTC.`]
    },
  },
  more: `Merchants can no longer see their orders. A partition that is still needed stays; the command shows why and ends with 1:
an order in it is open, ended after that time or has a callback due, or new orders may get ids in it. Needs the owner of
the tables. It waits for transactions that began before it. If the command was interrupted, run it again: it goes on.`,
  examples: ['partitions detach --before 2025-01-01'],
})

const exportAll = action({
  does: 'writes detached partitions into files',
  needs: 'system',
  here: true,
  long: true,
  takes: {
    to: { is: anyText('directory'), needed: true, means: 'the directory for the files; made if it is missing' },
    cell: ofOneCell,
  },
  perform: (office, asked) =>
    eachInTurn(office, asked, async (cell) => {
      const directory = filesOf(resolve(asked.to), cell)
      return { directory, exported: await exportPartitions(office, cell, directory) }
    }),
  gives: {
    json: (cells) =>
      jsonOfCells(cells, ({ directory, exported }) => ({
        directory,
        exported: exported.map(jsonOf),
      })),
    blocks(cells) {
      const lines = cells.flatMap(({ cellNo, directory, exported }) =>
        exported.map(
          ({ number, orders, wasThere }) =>
            `Partition ${number}${ofCell(cellNo)} ${wasThere ? 'was already' : 'is now'} in ${directory}, ` +
            `with ${counted(orders, 'order')}.`,
        ),
      )
      return [lines.join('\n') || noneDetached]
    },
  },
  more: `A gzip file for each table, in the text format of COPY, and a manifest with rows and SHA-256. Card numbers stay sealed;
names and addresses are readable, so keep the files as you keep backups. Needs the owner of the tables. A second run
writes only the missing files.`,
  examples: ['partitions export --to /var/lib/tollgate/old'],
})

const drop = action({
  does: 'drops detached partitions that were exported',
  needs: 'system',
  here: true,
  long: true,
  takes: {
    from: { is: anyText('directory'), needed: true, means: 'the directory they were exported to' },
    yes: { is: flag, means: 'drops them; without it the command only shows what would be dropped' },
    cell: ofOneCell,
  },
  perform: (office, asked) =>
    eachInTurn(office, asked, (cell) =>
      dropPartitions(office, cell, { directory: filesOf(resolve(asked.from), cell), isWanted: asked.yes === true }),
    ),
  leaves(cells): OperatorRefusal | undefined {
    const left = leftIn(cells)
    return left.length === 0 ? undefined : { what: 'partitions unproven', partitions: left }
  },
  gives: {
    json: (cells, { yes }) =>
      jsonOfCells(cells, ({ done, left }) => ({ dropped: yes ? done : [], can_be_dropped: yes ? [] : done, left })),
    blocks(cells, { asked: { yes } }) {
      const lines = linesOf(cells, (which) => (yes ? `Dropped ${which}.` : `Can be dropped: ${which}. To do it, add --yes.`))
      if (lines !== '') return [lines]
      return leftIn(cells).length > 0 ? [] : [noneDetached]
    },
  },
  more: `Reads and compares files and tables first. A partition that differs stays; the command shows why and ends with 1.
Needs the owner of the tables.`,
  examples: ['partitions drop --from /var/lib/tollgate/old', 'partitions drop --from /var/lib/tollgate/old --yes'],
})

export const partitionActions: Actions = {
  'partitions list': list,
  'partitions ensure': ensure,
  'partitions detach': detach,
  'partitions export': exportAll,
  'partitions drop': drop,
}
