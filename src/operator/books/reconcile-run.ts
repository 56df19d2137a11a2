/** An acquirer's record is compared with the attempts at its gate, and what was lost is settled. */
import { openReceiptIds } from '../../order/decide/receipt.ts'
import { endpointOf, gateNamed, listEndpoints, type EndpointEntry, type GateEntry } from '../known.ts'
import type { Office } from '../office.ts'
import { asKeeper } from '../partitions/detach.ts'
import { Refused } from '../refused.ts'
import type { RecordedOperation } from './acquirer-record.ts'
import { compare, reachOf, type Compared } from './reconcile.ts'
import { blockFacts, bookedOf, gatewaysAlive, isBehind, moveBlocks, type BlockFacts } from './reconcile-rows.ts'
import { settle, type How, type Settled, type Unsettled } from './settle.ts'

interface Asked {
  gate: string
  from?: number
  to?: number
  endpointIds: readonly bigint[] | undefined
  /** Without it, nothing is changed. */
  how: How | undefined
}

type Run = Awaited<ReturnType<typeof runOf>>

export interface Reconciled extends Run {
  compared: Compared
  /** As they were found, and those that were moved where they are now. */
  blocks: readonly BlockFacts[]
  moved: readonly BlockFacts[]
  gateways: readonly string[]
  settled: readonly Settled[]
  left: readonly Unsettled[]
}

export async function reconcile(office: Office, record: readonly RecordedOperation[], asked: Asked): Promise<Reconciled> {
  const run = await runOf(office, record, asked)
  const { how, endpointIds } = asked
  return how === undefined ? look(office, run) : asKeeperOfAll(office, () => settleAll(office, run, how, endpointIds))
}

/** New ids would be drawn again from these. */
export const stuckOf = ({ blocks, moved }: Reconciled): BlockFacts[] =>
  blocks.filter((block) => isBehind(block) && !moved.some(({ name }) => name === block.name))

/** Nothing differed, or all that differed is settled now. */
export const isSettled = (done: Reconciled): boolean =>
  done.compared.differences.length === done.settled.length && stuckOf(done).length === 0

/**
 * By default from the first line of the gate to the last, in whole seconds; `to` itself is not in
 * it. `highest` are ids of the whole file.
 */
async function runOf({ pool }: Office, record: readonly RecordedOperation[], asked: Asked) {
  const gate = await gateNamed(pool, asked.gate)
  const { terminalId } = gate.settings
  const ours = record.filter((one) => one.terminalId === terminalId)
  const { first, last, ...highest } = reachOf(ours)
  const { from = first, to = last + 1_000 } = asked
  const operations = ours.filter(({ at }) => at >= from && at < to)
  if (operations.length === 0) throw new Refused({ what: 'no line of terminal', terminalId, lines: record.length })
  return { gate, operations, highest, from, to }
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
async function look(office: Office, run: Run): Promise<Reconciled> {
  const cells = await office.cells()
  const compared = compare(run.operations, await bookedOf(cells, run))
  const [blocks, gateways] = [await blockFacts(office.pool, run.highest), await gatewaysAlive(cells)]
  return { ...run, compared, blocks, moved: [], gateways, settled: [], left: [] }
}

async function settleAll(office: Office, run: Run, how: How, endpointIds: readonly bigint[] | undefined): Promise<Reconciled> {
  const { gate } = run
  const endpoints = await endpointsFor(office, gate, endpointIds)
  const receipts = how === 'import' ? openReceiptIds(await office.keys()) : undefined
  const found = await look(office, run)
  // First, since a reversal of an order that is here has a new order id.
  const moved = await moveBlocks(office, found.blocks)
  const lost = found.compared.differences.flatMap((one) => (one.is === 'only there' ? [one.operation] : []))
  const done = await settle({ desk: office, gate, endpoints, how, receipts }, lost)
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
