/** The doctor's conclusions as data: good or not, with the facts. */
import type { CellSeat, WhyThrough } from '../../storage/cell-seat.ts'
import type { CellNode } from '../../storage/cells.ts'
import { forInstallation } from '../../leases/heartbeat.ts'
import { scarceDays } from '../../storage/partitions.ts'
import type { MachineFacts } from './machine.ts'
import { isSafeLine, type Encryption, type LineDemand } from '../../storage/database-line.ts'
import type { OdditySum } from '../../three-d-secure/oddities.ts'
import type { DirectoryFact, DirectoryFacts, MigrationFacts, DatabaseFacts, WorkFacts } from './rows.ts'
import type { CellWork, LeaseFact } from './work-rows.ts'

export type Health = 'ok' | 'warning' | 'problem'

export type Finding = { is: Health } & Found

type Found =
  | { finds: 'database answers'; version: string; roundTripMs: number }
  | { finds: 'database too old'; version: string }
  | { finds: 'database line'; demand: LineDemand; encryption: Encryption }
  | { finds: 'no database'; error: unknown }
  /** What is demanded of a line on which no database answers. */
  | { finds: 'line unverified'; demand: LineDemand }
  | { finds: 'memory stays in memory' }
  | { finds: 'core dumps' }
  | { finds: 'swap'; on: readonly string[] }
  | { finds: 'node'; version: string; lastDay: string | undefined }
  | { finds: 'node past its end'; version: string }
  | { finds: 'clocks agree' }
  | { finds: 'clocks differ'; aheadMs: number }
  | { finds: 'commits are durable' }
  | { finds: 'commits can be lost'; setting: 'fsync' | 'synchronous_commit' }
  | { finds: 'migrations applied' }
  | { finds: 'migrations changed'; names: readonly string[] }
  | { finds: 'migrations foreign'; names: readonly string[] }
  | { finds: 'migrations missing'; names: readonly string[] }
  | { finds: 'no key-encryption key'; reason: string }
  | { finds: 'no keys' }
  | { finds: 'key service failed'; reason: string }
  | { finds: 'keys unopened'; unopened: readonly StoredKey[]; isAll: boolean }
  | { finds: 'keys open'; count: bigint }
  | { finds: 'keys by older'; byOlder: number; count: bigint }
  | { finds: 'gateways run'; alive: CellWork['alive'] }
  | { finds: 'no gateway' }
  | { finds: 'requests are not passed on'; by: readonly string[] }
  | { finds: 'gateways silent'; silent: CellWork['silent'] }
  | ({ finds: 'lease lapsed'; lapsedAt: number } & Pick<LeaseFact, 'instance' | 'lapses' | 'lapsedOrders'>)
  | ({ finds: 'orders taken over'; takenOverAt: number } & Pick<LeaseFact, 'instance' | 'takenOver'>)
  | { finds: 'cell at a node'; node: CellNode }
  | { finds: 'cell through the coordinator'; node: CellNode; why: WhyThrough }
  | { finds: 'cell not served'; trouble: string }
  | { finds: 'no gate' }
  | { finds: 'gate reached'; gate: GateAt; isTls: boolean; afterMs: number }
  | { finds: 'gate not reached'; gate: GateAt; reason: string }
  | { finds: 'gate in clear'; gate: GateAt }
  | { finds: 'certificate ends'; gate: GateAt; subject: string; until: number; isPast: boolean }
  | { finds: 'merchants'; count: bigint }
  | { finds: 'no merchant' }
  | { finds: 'no BIN table' }
  | { finds: 'endpoints without gate'; endpointIds: readonly bigint[] }
  | { finds: 'parameter signatures'; endpointIds: readonly bigint[] }
  | { finds: 'transactions in time'; awaiting: bigint }
  | { finds: 'transactions overdue'; count: bigint; since: number }
  | { finds: 'transactions parked'; orderIds: readonly bigint[] }
  | { finds: 'invoices parked'; invoiceIds: readonly string[] }
  | { finds: 'no callback waits' }
  | { finds: 'callbacks wait'; count: bigint; forMs: number }
  | { finds: 'callbacks given up'; count: bigint }
  | { finds: 'merchants moving'; moving: CellWork['moving'] }
  | { finds: 'partitions'; left: bigint; days: number }
  | { finds: 'no partition'; table: string; nextOrderId: bigint }
  | { finds: 'control keys are random' }
  | { finds: 'control keys are weak'; weak: readonly WeakKey[] }
  | { finds: 'no directory server'; endpointIds: readonly bigint[] }
  | { finds: 'card ranges'; state: RangesState; directory: DirectoryFact }
  | ({ finds: 'odd messages' } & OdditySum)

/** `abandoned`: no gateway requests them any more. `stale`: the last try failed or is long ago. */
export type RangesState = 'fresh' | 'stale' | 'abandoned' | 'never loaded' | 'left out'

/** A gate, and where its acquirer is. */
export interface GateAt {
  gateId: bigint
  name: string
  host: string
  port: number
}

/** A version of a key, by its name alone. */
export interface StoredKey {
  purpose: string
  version: bigint
}

/** A merchant whose control key would be refused today, and why. */
export interface WeakKey {
  login: string
  why: string
}

const oldestServer = 150_000
const clocksAgreeMs = 1_000
const clocksUsableMs = 5_000

export function serverFindings(f: DatabaseFacts): Finding[] {
  const { version, roundTripMs, aheadMs } = f
  const off = Math.abs(aheadMs)
  return [
    f.versionNumber >= oldestServer
      ? { is: 'ok', finds: 'database answers', version, roundTripMs }
      : { is: 'problem', finds: 'database too old', version },
    off < clocksAgreeMs
      ? { is: 'ok', finds: 'clocks agree' }
      : { is: off < clocksUsableMs ? 'warning' : 'problem', finds: 'clocks differ', aheadMs },
    f.fsync && f.synchronousCommit
      ? { is: 'ok', finds: 'commits are durable' }
      : { is: 'warning', finds: 'commits can be lost', setting: f.fsync ? 'synchronous_commit' : 'fsync' },
  ]
}

/** In clear only on this machine; elsewhere as `serve` demands it. */
export function lineFinding(demand: LineDemand, encryption: Encryption): Finding {
  const isGood = demand.isLocal || (encryption !== undefined && isSafeLine(demand))
  return { is: isGood ? 'ok' : 'problem', finds: 'database line', demand, encryption }
}

export function machineFindings({ dumpsCore, swap }: MachineFacts): Finding[] {
  const findings: Finding[] = []
  if (dumpsCore) findings.push({ is: 'warning', finds: 'core dumps' })
  if (swap.length > 0) findings.push({ is: 'warning', finds: 'swap', on: swap })
  return findings.length > 0 ? findings : [{ is: 'ok', finds: 'memory stays in memory' }]
}

/** The last days on which release lines of Node get repairs, as their project announces. */
const nodeLines: Readonly<Record<string, string>> = { 20: '2026-04-30', 22: '2027-04-30', 24: '2028-04-30' }

/** `version` as `process.versions.node`. A line that is newer than the known ones is good. */
export function nodeFinding(version: string, now: number): Finding {
  const [line] = version.split('.')
  const lastDay = nodeLines[line!]
  const newest = Math.max(...Object.keys(nodeLines).map(Number))
  const isPast = lastDay === undefined ? Number(line) < newest : new Date(now).toISOString().slice(0, 10) > lastDay
  return isPast ? { is: 'warning', finds: 'node past its end', version } : { is: 'ok', finds: 'node', version, lastDay }
}

export function migrationFinding({ changed, foreign, missing }: MigrationFacts): Finding {
  if (changed.length > 0) return { is: 'problem', finds: 'migrations changed', names: changed }
  if (foreign.length > 0) return { is: 'problem', finds: 'migrations foreign', names: foreign }
  if (missing.length > 0) return { is: 'problem', finds: 'migrations missing', names: missing }
  return { is: 'ok', finds: 'migrations applied' }
}

export function workFindings(f: WorkFacts, now: number): Finding[] {
  const merchants: Finding =
    f.merchants > 0n ? { is: 'ok', finds: 'merchants', count: f.merchants } : { is: 'warning', finds: 'no merchant' }
  return [
    f.alive.length > 0 ? { is: 'ok', finds: 'gateways run', alive: f.alive } : { is: 'problem', finds: 'no gateway' },
    ...leaseFindings(f, now),
    merchants,
    ...(f.hasBins ? [] : [{ is: 'warning', finds: 'no BIN table' } as const]),
    ...(f.gateless.length > 0 ? [{ is: 'warning', finds: 'endpoints without gate', endpointIds: f.gateless } as const] : []),
    ...(f.parameterSigned.length > 0
      ? [{ is: 'ok', finds: 'parameter signatures', endpointIds: f.parameterSigned } as const]
      : []),
    ...orderFindings(f, now),
  ]
}

/** What is found in a cell other than 0, which needs no gateway while it has no merchants. */
export function cellFindings(f: CellWork, merchants: number, now: number): Finding[] {
  const alive: Finding[] =
    f.alive.length > 0
      ? [{ is: 'ok', finds: 'gateways run', alive: f.alive }]
      : merchants > 0
        ? [{ is: 'problem', finds: 'no gateway' }]
        : []
  return [...alive, ...leaseFindings(f, now), ...orderFindings(f, now)]
}

/**
 * Gateways that refuse the merchants of a cell, because none of those that serve it is one that
 * requests are passed to. `all` are the gateways of the installation.
 */
export function passingFindings(
  cell: Pick<CellWork, 'alive'>,
  all: readonly Pick<LeaseFact, 'instance'>[],
  isReached: boolean,
): Finding[] {
  const serving = new Set(cell.alive.map(({ instance }) => instance))
  const by = all.map(({ instance }) => instance.replace(forInstallation, '')).filter((instance) => !serving.has(instance))
  return isReached || serving.size === 0 || by.length === 0 ? [] : [{ is: 'warning', finds: 'requests are not passed on', by }]
}

/** Where Citus has the cell; nothing if it has not. */
export function seatFindings(seat: CellSeat): Finding[] {
  if (seat.is === 'home') return []
  const { node } = seat
  return [
    seat.is === 'node'
      ? { is: 'ok', finds: 'cell at a node', node }
      : { is: 'warning', finds: 'cell through the coordinator', node, why: seat.why },
  ]
}

function orderFindings(f: CellWork, now: number): Finding[] {
  const findings: Finding[] = [
    f.overdue === 0n
      ? { is: 'ok', finds: 'transactions in time', awaiting: f.awaiting }
      : { is: 'problem', finds: 'transactions overdue', count: f.overdue, since: f.overdueSince ?? now },
  ]
  if (f.parked.length > 0) findings.push({ is: 'problem', finds: 'transactions parked', orderIds: f.parked })
  if (f.parkedInvoices.length > 0) findings.push({ is: 'problem', finds: 'invoices parked', invoiceIds: f.parkedInvoices })
  findings.push(waitingFinding(f, now))
  if (f.givenUp > 0n) findings.push({ is: 'warning', finds: 'callbacks given up', count: f.givenUp })
  return [...findings, ...movingFinding(f), partitionFinding(f)]
}

export const controlKeyFinding = (weak: readonly WeakKey[]): Finding =>
  weak.length === 0 ? { is: 'ok', finds: 'control keys are random' } : { is: 'warning', finds: 'control keys are weak', weak }

const recentMs = 86_400_000

/**
 * Processes that fell silent, and for a day what the others went through: lapses of their leases,
 * and orders that they took over.
 */
function leaseFindings({ alive, silent }: CellWork, now: number): Finding[] {
  const findings: Finding[] = silent.length === 0 ? [] : [{ is: 'warning', finds: 'gateways silent', silent }]
  for (const { instance, lapses, lapsedAt, lapsedOrders, takenOver, takenOverAt } of alive) {
    if (lapsedAt !== undefined && now - lapsedAt < recentMs)
      findings.push({ is: 'warning', finds: 'lease lapsed', instance, lapses, lapsedAt, lapsedOrders })
    if (takenOverAt !== undefined && now - takenOverAt < recentMs)
      findings.push({ is: 'warning', finds: 'orders taken over', instance, takenOver, takenOverAt })
  }
  return findings
}

const patienceMs = 3_600_000

function waitingFinding({ due, dueSince }: CellWork, now: number): Finding {
  if (due === 0n) return { is: 'ok', finds: 'no callback waits' }
  const forMs = dueSince === undefined ? 0 : now - dueSince
  return { is: forMs < patienceMs ? 'ok' : 'warning', finds: 'callbacks wait', count: due, forMs }
}

function movingFinding({ moving }: CellWork): Finding[] {
  if (moving.length === 0) return []
  const isClosed = moving.some(({ state }) => state === 'closed')
  return [{ is: isClosed ? 'problem' : 'warning', finds: 'merchants moving', moving }]
}

function partitionFinding({ partitions, nextOrderId, partitionDays: days }: CellWork): Finding {
  const short = partitions.find(({ end }) => end <= nextOrderId)
  if (short || partitions.length === 0)
    return { is: 'problem', finds: 'no partition', table: short?.table ?? 'orders', nextOrderId }
  const soonest = partitions.reduce((least, { end }) => (end < least ? end : least), partitions[0]!.end)
  return { is: days < scarceDays ? 'warning' : 'ok', finds: 'partitions', left: soonest - nextOrderId, days }
}

/**
 * Card ranges are requested daily; they get this old only if the gateway was down or nobody asks.
 */
const longestRefreshMs = 26 * 3_600_000
const nobodyAsksMs = 600_000

/** Empty if nobody wants 3-D Secure and no gateway was ever given a directory server. */
export function directoryFindings(f: DirectoryFacts, now: number): Finding[] {
  if (f.directories.length === 0 && f.secureEndpoints.length > 0)
    return [{ is: 'warning', finds: 'no directory server', endpointIds: f.secureEndpoints }]
  const ranges = f.directories.map((directory): Finding => {
    const state = rangesState(directory, now)
    return { is: healthOf[state], finds: 'card ranges', state, directory }
  })
  const odd = f.oddities.filter(({ lastAt }) => now - lastAt < oddForMs)
  return [...ranges, ...odd.map((sum): Finding => ({ is: 'ok', finds: 'odd messages', ...sum }))]
}

/** An oddity that did not come for a week is mended or gone. */
const oddForMs = 7 * 86_400_000

const healthOf: Readonly<Record<RangesState, Health>> = {
  fresh: 'ok',
  stale: 'warning',
  abandoned: 'warning',
  'never loaded': 'problem',
  'left out': 'warning',
}

function rangesState(d: DirectoryFact, now: number): RangesState {
  if (d.dueAt === undefined || now - d.dueAt > nobodyAsksMs) return 'abandoned'
  if (!d.loaded) return 'never loaded'
  if (d.error !== undefined || now - (d.refreshedAt ?? 0) > longestRefreshMs) return 'stale'
  return d.leftOut.count > 0 ? 'left out' : 'fresh'
}
