import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { turnBudget, units, type Turns } from '../base/turn.ts'
import type { ConnectionCounts } from '../http/connections.ts'
import type { Answer, Route } from '../http/server.ts'
import { limitNames, type AccessLimits } from '../merchant/access-limits.ts'
import type { LeaseMode } from '../leases/heart.ts'
import type { LeaseCounts } from '../leases/heartbeat.ts'
import { openOutcomes } from './outcomes.ts'

/** The facts about one gateway that metrics show; read at each request. */
export interface GatewayGauges {
  orders: () => { batches: number; items: number; held: number }
  waiting: () => number
  deliveries: () => { delivered: number; failed: number; inHand: number }
  /** Parked for an operator since start-up. */
  parked: () => { transactions: number; invoices: number }
  holding: () => boolean
  leases: () => LeaseCounts
}

/** The facts about the duties of one cell. */
export interface DutyGauges {
  /** Rows that this process sealed again under a new key. */
  resealed: () => number
  /** Card numbers that this process erased because nothing needs them any more. */
  cardsForgotten: () => number
  /** How many days the partitions for new orders last. */
  partitionDays: () => number
}

/** A cell that is served and not open. */
export interface AwayCell {
  cellNo: number
  reason: string
}

/** The facts that all gateways of a process share. */
export interface SharedGauges {
  /** Connections of merchants and cardholders to this process. */
  connections: () => ConnectionCounts
  pools: () => { kept: number; ending: number }
  gates: () => Iterable<{ gate: string; up: boolean; open: number }>
  /** The version of the configuration that this process uses. */
  configuration: () => bigint
  /** The directory servers, and whether their card ranges are in memory. */
  directories: () => Iterable<{ directory: string; loaded: boolean }>
  turns: Turns['counts']
  limits: AccessLimits['counts']
  /** How far the clock of this machine is ahead of the database's. */
  aheadMs: () => number
  /** Served cells that are not open, and why. */
  away: () => readonly AwayCell[]
}

/** Name and help, then the labels in the order of their values. */
// oxfmt-ignore
const counters = {
  answered: ['tollgate_requests_total',
    'Answered requests of the gateway API by outcome: ok, or the name of the refusal', 'operation', 'outcome'],
  stray: ['tollgate_acquirer_strays_total',
    'Answers of the acquirer that belong to no request; mismatched ones have STAN and time of an open request', 'gate', 'kind'],
  repeated: ['tollgate_repeats_total',
    'Repeated requests that got the reply of an earlier request and moved nothing', 'operation'],
  accessRefused: ['tollgate_access_refused_total',
    "Requests with a wrong checksum, signature or token, by the merchant's login, or unknown", 'merchant'],
  odd: ['tollgate_directory_oddities_total',
    'Unfit values from directory servers that were accepted because they affect no decision', 'directory', 'what'],
  passed: ['tollgate_passed_on_total',
    'Requests of cells not served here: answered by another process, accepted by no process, or without an answer', 'result'],
  arrived: ['tollgate_passed_here_total',
    'Messages of other processes: answered, about a cell that is not open here, or refused as not authentic', 'result'],
} as const

/** Counts an event, with the value of each of its labels. */
type Counts = {
  [E in keyof typeof counters]: (typeof counters)[E] extends readonly [string, string, ...infer Labels]
    ? (...labels: { [L in keyof Labels]: string }) => void
    : never
}

/** The counters, incremented as events happen, and the registry that holds them. */
export type Meters = ReturnType<typeof openMeters>

export function openMeters(lagEveryMs: number) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagEveryMs })
  const counter = ([name, help, ...labelNames]: (typeof counters)[keyof typeof counters]) => {
    const made = new Counter({ name, help, labelNames, registers: [registry] })
    return (...labels: string[]) => made.labels(...labels).inc()
  }
  const count = Object.fromEntries(Object.entries(counters).map(([event, row]) => [event, counter(row)])) as Counts
  const turns = new Histogram({
    name: 'tollgate_loop_turn_seconds',
    help: 'Time that one turn of the event loop spent on beginning and reading requests',
    buckets: [0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1],
    registers: [registry],
  })
  /** Records how long a turn of the event loop lasted that began requests or read of them. */
  const turned = (seconds: number): void => turns.observe(seconds)
  return { registry, turned, settled: openOutcomes(registry), ...count }
}

/** A cell with its gateway as seen by the metrics. */
export interface Watched {
  cellNo: number
  gauges: GatewayGauges
  duties: DutyGauges
  /** False if its database has been away for a while: its merchants are refused. */
  takesRequests: () => boolean
  unready: () => Promise<string[]>
  /** The node of Citus that has it; undefined if it is at the address of the installation. */
  node: () => string | undefined
}

/** Values of one gauge, each with its labels. */
type Values = readonly (readonly [labels: Record<string, string>, value: number])[]

type Read = (gateways: readonly GatewayGauges[], shared: SharedGauges, cells: readonly Watched[]) => Values

/** The rows name the labels: at start-up there may be no gate to read them from. */
// oxfmt-ignore
const gauges: readonly [name: string, help: string, labels: readonly string[], read: Read][] = [
  ['tollgate_batches_total', 'Batches that shared a commit', ['batch'],
    (all) => [[{ batch: 'orders' }, sum(all, (g) => g.orders().batches)]]],
  ['tollgate_batch_items_total', 'Changes of orders in those batches', ['batch'],
    (all) => [[{ batch: 'orders' }, sum(all, (g) => g.orders().items)]]],
  ['tollgate_orders_in_hand', 'Orders this process has in memory', [],
    (all) => [[{}, sum(all, (g) => g.orders().held)]]],
  ['tollgate_orders_waiting', 'Changes of orders waiting for a batch', [],
    (all) => [[{}, sum(all, (g) => g.waiting())]]],
  ['tollgate_deliveries_total', 'Tries of messages to merchants since the start', ['result'],
    (all) => (['delivered', 'failed'] as const).map((result) => [{ result }, sum(all, (g) => g.deliveries()[result])])],
  ['tollgate_deliveries_in_hand', 'Messages to merchants under way or queued in memory', [],
    (all) => [[{}, sum(all, (g) => g.deliveries().inHand)]]],
  ['tollgate_connections', 'Open connections of merchants and cardholders', [],
    (_all, { connections }) => [[{}, connections().open]]],
  ['tollgate_connections_refused_total', 'Connections refused: too many in all, or of one address', ['limit'],
    (_all, { connections }) => Object.entries(connections().refused).map(([limit, n]) => [{ limit }, n])],
  ['tollgate_outgoing_pools', 'Pools of connections to merchants: kept, or ending with their last call', ['state'],
    (_all, { pools }) => Object.entries(pools()).map(([state, n]) => [{ state }, n])],
  ['tollgate_gate_up', '1 while the line to the acquirer is signed on', ['gate'],
    (_all, { gates }) => [...gates()].map(({ gate, up }) => [{ gate }, up ? 1 : 0])],
  ['tollgate_gate_open', 'Requests waiting for an answer of the acquirer', ['gate'],
    (_all, { gates }) => [...gates()].map(({ gate, open }) => [{ gate }, open])],
  ['tollgate_configuration_version', 'The configuration that this process follows; it rises with each change', [],
    (_all, { configuration }) => [[{}, Number(configuration())]]],
  ['tollgate_directory_loaded', '1 once the card ranges of the directory server are in memory', ['directory'],
    (_all, { directories }) => Array.from(directories(), ({ directory, loaded }) => [{ directory }, loaded ? 1 : 0])],
  ['tollgate_parked_total', 'Work that failed too often and was parked for an operator, since the start', ['what'],
    (all) => [
      [{ what: 'transaction' }, sum(all, (g) => g.parked().transactions)],
      [{ what: 'invoice' }, sum(all, (g) => g.parked().invoices)],
    ]],
  ['tollgate_read_total', 'Requests that began, and bytes read from unknown clients, since the start', ['unit'],
    (_all, { turns }) => units.map((unit) => [{ unit }, turns()[unit].total])],
  ['tollgate_read_most', 'The most of it that was read in one turn of the event loop', ['unit'],
    (_all, { turns }) => units.map((unit) => [{ unit }, turns()[unit].most])],
  ['tollgate_read_budget', 'The most that one turn may take', ['unit'],
    () => units.map((unit) => [{ unit }, turnBudget[unit]])],
  ['tollgate_resealed_rows_total', 'Rows sealed again under a new key, since the start', [],
    (_all, _shared, cells) => [[{}, sum(cells, ({ duties }) => duties.resealed())]]],
  ['tollgate_cards_forgotten_total', 'Sealed card numbers erased because no order needs them any more, since the start', [],
    (_all, _shared, cells) => [[{}, sum(cells, ({ duties }) => duties.cardsForgotten())]]],
  ['tollgate_partition_days', 'How many days the partitions for new orders last, looked up once an hour; at most 3650', [],
    (_all, _shared, cells) => [[{}, Math.min(...cells.map(({ duties }) => duties.partitionDays()))]]],
  ['tollgate_cell_open', '1 while this process takes requests of the merchants of the cell; 0 while its database is away', ['cell'],
    (_all, { away }, cells) => [
      ...cells.map((one) => [{ cell: String(one.cellNo) }, one.takesRequests() ? 1 : 0] as const),
      ...away().map(({ cellNo }) => [{ cell: String(cellNo) }, 0] as const),
    ]],
  ['tollgate_clock_ahead_seconds', "How far the clock of this machine is ahead of the database's clock, which is the one used", [],
    (_all, { aheadMs }) => [[{}, aheadMs() / 1_000]]],
  ['tollgate_lease_holding', '1 while this process may send', [],
    (all) => [[{}, all.every((g) => g.holding()) ? 1 : 0]]],
  ['tollgate_lease_changes_total', 'How often the lease of this process was held, late or lost', ['mode'],
    (all) => leaseModes.map((mode) => [{ mode }, sum(all, (g) => g.leases().changes[mode])])],
  ['tollgate_lease_lapsed_orders_total', 'Orders in memory when the lease became late or was lost', [],
    (all) => [[{}, sum(all, (g) => g.leases().lapsedOrders)]]],
  ['tollgate_orders_taken_over_total', 'Orders taken over from processes that stopped answering', [],
    (all) => [[{}, sum(all, (g) => g.leases().takenOver)]]],
  ['tollgate_limit_share', 'What this process allows: requests of a merchant a second, else failures a minute; 0 for no limit', ['limit'],
    (_all, { limits }) => limitNames.map((limit) => [{ limit }, limits()[limit].share])],
  ['tollgate_limit_beyond', 'Merchants, logins, addresses, or pairs of login and address that exceed a limit now', ['limit'],
    (_all, { limits }) => limitNames.map((limit) => [{ limit }, limits()[limit].beyond])],
  ['tollgate_limit_refused_total', 'Requests that a limit refused, since the start', ['limit'],
    (_all, { limits }) => limitNames.map((limit) => [{ limit }, limits()[limit].refused])],
]

const leaseModes = ['holding', 'late', 'lost'] as const satisfies LeaseMode[]

const sum = <T>(all: readonly T[], read: (one: T) => number): number => all.reduce((total, one) => total + read(one), 0)

/**
 * `/health`: the process serves. `/ready`: it can accept work, or else 503 with the reasons.
 * `/metrics`: Prometheus text, summed over the gateways of the process. All three are for the
 * operator, on a port of their own.
 */
export function watchRoutes({ registry }: Meters, cells: () => readonly Watched[], shared: SharedGauges): Route[] {
  for (const [name, help, labels, read] of gauges)
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [],
        collect() {
          this.reset()
          const open = cells()
          const all = open.map((one) => one.gauges)
          for (const [values, value] of read(all, shared, open)) this.set(values, value)
        },
      }),
    )
  return [
    { method: 'GET', path: '/health', handle: () => json(200, { status: 'ok' }) },
    { method: 'GET', path: '/ready', handle: () => ready(cells(), shared) },
    {
      method: 'GET',
      path: '/metrics',
      handle: async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
    },
  ]
}

/**
 * A process is ready while one of its cells can accept work: the merchants of the others are
 * refused, and it disturbs no other request.
 */
async function ready(open: readonly Watched[], { away, gates }: SharedGauges): Promise<Answer> {
  const cells = [
    ...(await Promise.all(open.map(async (one) => ({ cell: one.cellNo, reasons: await one.unready(), node: one.node() })))),
    ...away().map(({ cellNo, reason }) => ({ cell: cellNo, reasons: [reason], node: undefined })),
  ].sort((a, b) => a.cell - b.cell)
  const lines = [...gates()]
  const noLine = lines.length > 0 && lines.every((gate) => !gate.up) ? ['no line to an acquirer is up'] : []
  const isReady = noLine.length === 0 && cells.some(({ reasons }) => reasons.length === 0)
  const isOne = cells.length === 1
  const named = cells.flatMap(({ cell, reasons }) => reasons.map((reason) => (isOne ? reason : `cell ${cell}: ${reason}`)))
  return json(isReady ? 200 : 503, {
    status: isReady ? 'ready' : 'not ready',
    reasons: [...named, ...noLine],
    ...(isOne
      ? {}
      : { cells: cells.map(({ cell, reasons, node }) => ({ cell, ready: reasons.length === 0, ...(node && { node }) })) }),
  })
}

const json = (status: number, body: object): Answer => ({
  status,
  type: 'application/json;charset=utf-8',
  body: `${JSON.stringify(body)}\n`,
})
