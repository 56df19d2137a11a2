import type { Command } from 'commander'
import { openReceiptIds } from '../../../order/decide/receipt.ts'
import { readRecord, type RecordedOperation } from '../../../operator/books/acquirer-record.ts'
import { counted, timeText } from '../../../base/moments.ts'
import { compare, highestOf, type Compared, type Highest } from '../../../operator/books/reconcile.ts'
import { endpointOf, gateNamed, listEndpoints, type EndpointEntry, type GateEntry } from '../../../operator/configuration/rows.ts'
import { asKeeper } from '../../../operator/partitions/detach.ts'
import {
  blockFacts,
  bookedOf,
  gatewaysAlive,
  isBehind,
  moveBlocks,
  type BlockFacts,
} from '../../../operator/books/reconcile-rows.ts'
import { settle, type How, type Settled, type Unsettled } from '../../../operator/books/settle.ts'
import type { Terminal } from '../../terminal.ts'
import { WrongUsage } from '../failure.ts'
import { atOffice, type Office } from '../installation.ts'
import { aMoment, fileText, jsonOption, someIds } from '../options.ts'
import { differencesTable, differenceJson, blockText, leftText, settledJson, unsettledJson } from './reconcile-words.ts'

interface Options {
  gate: string
  from?: number
  to?: number
  reverse?: true
  import?: true
  endpoint?: bigint[]
  json?: true
}

export function addReconcileCommand(program: Command, terminal: Terminal): void {
  program
    .command('reconcile')
    .description("compares an acquirer's record with the attempts at its gate, and settles what a restore has lost")
    .argument('<file>', 'CSV of what the acquirer did; - is standard input')
    .requiredOption('--gate <id or name>', 'whose messages the record has')
    .option('--from <time>', 'compares from here; by default from the first line', aMoment(terminal.clock))
    .option('--to <time>', 'compares to here; by default to the last line', aMoment(terminal.clock))
    .option('--reverse', 'what only the acquirer knows: the gateway owes its reversal, and sends it')
    .option('--import', 'what only the acquirer knows: it is taken over as approved, and can be returned later')
    .option('--endpoint <ids>', 'where payments are booked that are of no order here; several by comma, one a currency', someIds)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Columns of the file, with these names in its first line:
  terminal, stan, time, rrn   fields 41, 11, 12 (YYMMDDhhmmss) and 37 of the message; an rrn may lack zeros in front
  kind                        sale, preauth, account-verification, capture, return, debit or credit
  outcome                     approved, declined, or reversed when it was taken back or voided
  amount_minor, currency      minor units; ISO 4217, letters or digits
  order_id, client_orderid, card, action_code, approval_code   as far as they are known; card is 411111******1111, or
                              fewer digits and the last four
Comma, semicolon or tab, UTF-8 or UTF-16: as spreadsheets save it.

Nothing is settled without --reverse or --import, and nothing that the gateway knows as approved is ever reversed. Both
need the owner of the tables and can be run again: what is settled is known from then on. Both move the next ids beyond
what the record shows. A record of a terminal that something else uses too must not be settled: what is not of this
installation looks lost.
Ends with 0 when both sides agree, or all that differed was settled; with 1 otherwise.

Examples
  npx tollgate reconcile acquirer.csv --gate 1
  npx tollgate reconcile acquirer.csv --gate 1 --reverse --endpoint 101,103`,
    )
    .action(reconcile.bind(undefined, terminal))
}

interface Run {
  office: Office
  gate: GateEntry
  operations: readonly RecordedOperation[]
  /** The highest ids in the whole file. */
  highest: Highest
  /** Whole seconds; `to` itself is not in it. */
  from: number
  to: number
}

async function reconcile(terminal: Terminal, file: string, options: Options): Promise<void> {
  if (options.reverse && options.import) throw new WrongUsage('Say --reverse or --import: one payment cannot have both.')
  const how: How | undefined = options.reverse ? 'reverse' : options.import ? 'import' : undefined
  const read = readRecord(await fileText(terminal, file, '<file>'))
  if (typeof read === 'string') throw new WrongUsage(`${file} cannot be used: ${read}. Nothing was changed.`)
  await atOffice(
    terminal,
    async (office) => {
      const gate = await gateNamed(office.pool, options.gate)
      const ours = read.filter(({ terminalId }) => terminalId === gate.settings.terminalId)
      const times = ours.map(({ at }) => at)
      const from = options.from ?? Math.min(...times)
      const to = options.to ?? Math.max(...times) + 1_000
      const operations = ours.filter(({ at }) => at >= from && at < to)
      if (operations.length === 0)
        throw new WrongUsage(`${file} has no line of terminal ${gate.settings.terminalId} in that time: of ${read.length} lines.`)
      const run: Run = { office, gate, operations, highest: highestOf(ours), from, to }
      const result =
        how === undefined ? await look(run) : await asKeeperOfAll(office, () => settleAll(run, how, options.endpoint))
      print(terminal, run, result, options.json === true)
    },
    'admin',
  )
}

/** No partition of any cell is detached meanwhile. */
async function asKeeperOfAll<T>(office: Office, work: () => Promise<T>): Promise<T> {
  const cells = await office.cells()
  return cells.reduceRight<() => Promise<T>>((inner, cell) => () => asKeeper(cell, inner), work)()
}

interface Result {
  compared: Compared
  /** As they were found, and those that were moved where they are now. */
  blocks: readonly BlockFacts[]
  moved: readonly BlockFacts[]
  gateways: readonly string[]
  settled: readonly Settled[]
  left: readonly Unsettled[]
}

/**
 * An attempt is stored before it is sent, and the file is older than this look: what is not here
 * was lost.
 */
async function look({ office, gate, operations, highest, from, to }: Run): Promise<Result> {
  const span = { gateId: gate.gateId, terminalId: gate.settings.terminalId, from, to }
  const cells = await office.cells()
  const compared = compare(operations, await bookedOf(cells, span))
  const [blocks, gateways] = [await blockFacts(office.pool, highest), await gatewaysAlive(cells)]
  return { compared, blocks, moved: [], gateways, settled: [], left: [] }
}

async function settleAll(run: Run, how: How, endpointIds: readonly bigint[] | undefined): Promise<Result> {
  const { office, gate } = run
  const endpoints = await endpointsFor(office, gate, endpointIds)
  const receipts = how === 'import' ? openReceiptIds(await office.keys()) : undefined
  const result = await look(run)
  // First, since a reversal of an order that is here has a new order id.
  const moved = await moveBlocks(office, result.blocks)
  const lost = result.compared.differences.flatMap((one) => (one.is === 'only there' ? [one.operation] : []))
  const done = await settle({ desk: office, gate, endpoints, ...(receipts && { receipts }) }, lost, how)
  return { ...result, moved, ...done }
}

/** Those that were named, or else the ones whose currency no other endpoint of the gate has. */
async function endpointsFor(
  { pool }: Office,
  { gateId }: GateEntry,
  ids: readonly bigint[] | undefined,
): Promise<EndpointEntry[]> {
  if (ids) return Promise.all(ids.map((id) => endpointOf(pool, id)))
  const of = (await listEndpoints(pool)).filter(({ gateIds }) => gateIds.includes(gateId))
  return of.filter(({ currency }) => of.filter((one) => one.currency === currency).length === 1)
}

function print(terminal: Terminal, { gate, operations, from, to }: Run, result: Result, json: boolean): void {
  const { compared, blocks, moved, gateways, settled, left } = result
  const behind = blocks.filter(isBehind)
  const { differences, agree, open } = compared
  const isSettled = differences.length === settled.length && behind.every(({ name }) => moved.some((one) => one.name === name))
  if (!isSettled) terminal.exitCode = 1
  if (json)
    return terminal.printJson({
      gate_id: gate.gateId,
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      operations: operations.length,
      agree,
      open,
      differences: differences.map(differenceJson),
      ids_behind: behind.map(({ name, next, seen }) => ({ ids: name, next, seen })),
      ids_moved: moved.map(({ name, next }) => ({ ids: name, next })),
      settled: settled.map(settledJson),
      left: left.map(unsettledJson),
    })
  const span = `from ${timeText(from)} to ${timeText(to)} UTC`
  terminal.print(
    `${counted(operations.length, 'operation')} of gate ${gate.gateId} (${gate.name}) ${span}: ${agree} agree, ` +
      `${open} ${open === 1 ? 'is' : 'are'} open here, ${differences.length} differ.`,
  )
  if (differences.length > 0) terminal.print(`\n${differencesTable(differences)}`)
  for (const block of [...moved, ...behind.filter(({ name }) => !moved.some((one) => one.name === name))])
    terminal.print(`\n${blockText(block, moved.includes(block), gateways)}`)
  if (settled.length > 0) terminal.print(`\n${counted(settled.length, 'operation')} settled. See: npx tollgate order find`)
  if (left.length > 0) terminal.print(`\nLeft to you:\n${leftText(left)}`)
}
