/** An acquirer's record is compared with the attempts at its gate, and what was lost is settled. */
import { openReceiptIds } from '../../order/decide/receipt.ts'
import { endpointOf, gateNamed, listEndpoints, type EndpointEntry, type GateEntry } from '../known.ts'
import type { Office } from '../office.ts'
import { asKeeper } from '../partitions/detach.ts'
import { Refused } from '../refused.ts'
import type { RecordedOperation } from './acquirer-record.ts'
import { compare, highestOf, type Compared, type Highest } from './reconcile.ts'
import { blockFacts, bookedOf, gatewaysAlive, isBehind, moveBlocks, type BlockFacts } from './reconcile-rows.ts'
import { settle, type How, type Settled, type Unsettled } from './settle.ts'

interface Asked {
  gate: string
  from: number | undefined
  to: number | undefined
  endpointIds: readonly bigint[] | undefined
}

interface Run {
  gate: GateEntry
  operations: readonly RecordedOperation[]
  /** The highest ids in the whole file. */
  highest: Highest
  /** Whole seconds; `to` itself is not in it. */
  from: number
  to: number
}

interface Found {
  compared: Compared
  /** As they were found, and those that were moved where they are now. */
  blocks: readonly BlockFacts[]
  moved: readonly BlockFacts[]
  gateways: readonly string[]
  settled: readonly Settled[]
  left: readonly Unsettled[]
}

export interface Reconciled extends Run, Omit<Found, 'blocks'> {
  /** New ids would be drawn again from these. */
  behind: readonly BlockFacts[]
  /** Nothing differed, or all that differed is settled now. */
  isSettled: boolean
}

/** Without `how` it only looks. */
export async function reconcile(
  office: Office,
  record: readonly RecordedOperation[],
  { endpointIds, ...asked }: Asked,
  how: How | undefined,
): Promise<Reconciled> {
  const run = await runOf(office, record, asked)
  const { blocks, ...found } =
    how === undefined ? await look(office, run) : await asKeeperOfAll(office, () => settleAll(office, run, how, endpointIds))
  const { compared, settled, moved } = found
  const behind = blocks.filter(isBehind)
  const isSettled =
    compared.differences.length === settled.length && behind.every(({ name }) => moved.some((one) => one.name === name))
  return { ...run, ...found, behind, isSettled }
}

/** By default from the first line of the gate to the last. */
async function runOf({ pool }: Office, record: readonly RecordedOperation[], asked: Omit<Asked, 'endpointIds'>): Promise<Run> {
  const gate = await gateNamed(pool, asked.gate)
  const { terminalId } = gate.settings
  const ours = record.filter((one) => one.terminalId === terminalId)
  const times = ours.map(({ at }) => at)
  const from = asked.from ?? Math.min(...times)
  const to = asked.to ?? Math.max(...times) + 1_000
  const operations = ours.filter(({ at }) => at >= from && at < to)
  if (operations.length === 0) throw new Refused({ what: 'no line of terminal', terminalId, lines: record.length })
  return { gate, operations, highest: highestOf(ours), from, to }
}

/** No partition of any cell is detached meanwhile. */
async function asKeeperOfAll<T>(office: Office, work: () => Promise<T>): Promise<T> {
  const cells = await office.cells()
  return cells.reduceRight<() => Promise<T>>((inner, cell) => () => asKeeper(cell, inner), work)()
}

/**
 * An attempt is stored before it is sent, and the file is older than this look: what is not here
 * was lost.
 */
async function look(office: Office, { gate, operations, highest, from, to }: Run): Promise<Found> {
  const span = { gateId: gate.gateId, terminalId: gate.settings.terminalId, from, to }
  const cells = await office.cells()
  const compared = compare(operations, await bookedOf(cells, span))
  const [blocks, gateways] = [await blockFacts(office.pool, highest), await gatewaysAlive(cells)]
  return { compared, blocks, moved: [], gateways, settled: [], left: [] }
}

async function settleAll(office: Office, run: Run, how: How, endpointIds: readonly bigint[] | undefined): Promise<Found> {
  const { gate } = run
  const endpoints = await endpointsFor(office, gate, endpointIds)
  const receipts = how === 'import' ? openReceiptIds(await office.keys()) : undefined
  const found = await look(office, run)
  // First, since a reversal of an order that is here has a new order id.
  const moved = await moveBlocks(office, found.blocks)
  const lost = found.compared.differences.flatMap((one) => (one.is === 'only there' ? [one.operation] : []))
  const done = await settle({ desk: office, gate, endpoints, ...(receipts && { receipts }) }, lost, how)
  return { ...found, moved, ...done }
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
