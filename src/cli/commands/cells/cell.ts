import type { Command } from 'commander'
import { openLog } from '../../../base/log.ts'
import { addCell, cellFacts, refuseUnfitAddress, type CellFact } from '../../../operator/cells/cell-rows.ts'
import { nodeName, seatName } from '../../../storage/cell-seat.ts'
import { databaseOf, mostCell, schemaOf } from '../../../storage/cells.ts'
import { openPool } from '../../../storage/pool.ts'
import type { Terminal } from '../../terminal.ts'
import { atOffice } from '../installation.ts'
import { addDrainCommand } from './merchant-move.ts'
import { aNumber, jsonOption } from '../options.ts'
import { statusColour, table } from '../present.ts'

export function addCellCommands(program: Command, terminal: Terminal): void {
  const cell = program.command('cell').description('cells: where the orders of a part of the merchants are')
  cell
    .command('list')
    .description('all cells, and whether they answer')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
It ends with 1 if a cell cannot be served. What one lacks is brought by npx tollgate migrate.

Examples
  npx tollgate cell list`,
    )
    .action(list.bind(undefined, terminal))
  cell
    .command('add')
    .description('makes a cell, which running gateways serve within two seconds')
    .argument('<number>', `1 to ${mostCell}`, aNumber(1, mostCell))
    .option('--database-url <url>', 'where it is, if not in the database of the installation; without user and password')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
A cell is one schema with the orders of its merchants, here or in another PostgreSQL. Everybody comes there as the user, and
with the password, of DATABASE_URL, so each database needs the same users. It needs the owner of the tables, as migrate does.

Examples
  npx tollgate cell add 1
  npx tollgate cell add 2 --database-url "postgres://db2.example/tollgate?sslmode=verify-full&sslrootcert=ca.pem"
  npx tollgate merchant add --login shop --cell 1`,
    )
    .action(add.bind(undefined, terminal))
  addDrainCommand(cell, terminal)
}

async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const cells = await cellFacts(office, office.installation.databaseUrl)
    if (cells.some(({ trouble }) => trouble !== undefined)) terminal.exitCode = 1
    if (options.json) return terminal.printJson({ cells: cells.map(cellJson) })
    terminal.print(
      table(
        [
          { title: 'CELL', of: (one) => String(one.cellNo), align: 'right' },
          { title: 'MERCHANTS', of: (one) => String(one.merchants), align: 'right' },
          { title: 'WHERE', of: whereOf },
          { title: 'STATE', of: (one) => one.trouble ?? 'ok', colour: (one) => statusColour(one.trouble ? 'problem' : 'ok') },
        ],
        cells,
      ),
    )
  })
}

const whereOf = ({ cellNo, address, seat }: CellFact): string => {
  const node = seatName(seat)
  const place = address ?? (node === undefined ? 'the database of the installation' : `node ${node}`)
  return cellNo === 0 ? place : `${place}, schema ${schemaOf(cellNo)}`
}

const cellJson = ({ cellNo, address, seat, merchants, trouble }: CellFact) => ({
  cell: cellNo,
  database_url: address ?? null,
  schema: schemaOf(cellNo) ?? null,
  ...(seat.is === 'home' ? {} : { node: nodeName(seat.node), through_coordinator: seat.is === 'through' }),
  merchants,
  trouble: trouble ?? null,
})

async function add(terminal: Terminal, cellNo: number, options: { databaseUrl?: string; json?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const { databaseUrl, sandbox } = office.installation
      const address = options.databaseUrl
      if (address !== undefined) refuseUnfitAddress(address, databaseUrl, sandbox === undefined)
      const log = openLog({ level: 'fatal', destination: terminal.stderr })
      const place = { cellNo, ...(address !== undefined && { address }) }
      await addCell(office, place, (one) => openPool({ ...databaseOf(databaseUrl, one), connections: 2, use: 'admin', log }))
      if (options.json) return terminal.printJson({ cell: cellNo, database_url: address ?? null, schema: schemaOf(cellNo) })
      terminal.print(`Cell ${cellNo} is there; running gateways serve it within two seconds.`)
      terminal.print(`\nNext, a merchant: npx tollgate merchant add --login shop --cell ${cellNo}`)
    },
    'admin',
  )
}
