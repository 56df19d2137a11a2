import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import type { Stray } from '../acquirer/connector.ts'
import { turnBudget, units, type Turns } from '../base/turn.ts'
import type { Answer, Route } from '../http/server.ts'
import type { LeaseCounts } from '../storage/store-heartbeat.ts'

/** What an installation can be watched by; read when asked. */
export interface Observed {
  orders: () => { batches: number; items: number; held: number }
  waiting: () => number
  deliveries: () => { delivered: number; failed: number; inHand: number }
  pools: () => { kept: number; ending: number }
  gates: () => Iterable<{ gate: string; up: boolean; open: number }>
  /** The version of the configuration that this process follows. */
  configuration: () => bigint
  /** Parked for an operator since the start. */
  parked: () => { transactions: number; invoices: number }
  holding: () => boolean
  leases: () => LeaseCounts
  turns: Turns['counts']
  /** Rejects when the database does not answer. */
  database: () => Promise<unknown>
}

export interface Watch {
  routes: Route[]
  /** Counts an answered request of the gateway API. */
  answered: (operation: string, outcome: string) => void
  /** Counts an answer of an acquirer that belongs to no request. */
  stray: (gate: string, kind: Stray['kind']) => void
  /** Counts a request that was answered with what an earlier one had made. */
  repeated: (operation: string) => void
}

/**
 * `/health`: the process serves. `/ready`: it may be given work, else 503 with the reasons. `/metrics`: Prometheus text. All three belong to the
 * operator: a proxy in front of the gateway passes on `/gateway` alone.
 */
export function openWatch(observed: Observed): Watch {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: 'tollgate_requests_total',
    help: 'Answered requests of the gateway API by outcome: ok, or the name of the refusal',
    labelNames: ['operation', 'outcome'],
    registers: [registry],
  })
  const strays = new Counter({
    name: 'tollgate_acquirer_strays_total',
    help: 'Answers of the acquirer that belong to no request; mismatched ones have the names of an open request',
    labelNames: ['gate', 'kind'],
    registers: [registry],
  })
  const repeats = new Counter({
    name: 'tollgate_repeats_total',
    help: 'Requests that were answered with what an earlier one had made, and moved nothing',
    labelNames: ['operation'],
    registers: [registry],
  })
  const gauge = (name: string, help: string, labels: string[], read: (g: Gauge) => void) =>
    new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        this.reset()
        read(this)
      },
    })
  gauge('tollgate_batches_total', 'Batches that shared a commit', ['batch'], (g) =>
    g.set({ batch: 'orders' }, observed.orders().batches),
  )
  gauge('tollgate_batch_items_total', 'Changes of orders in those batches', ['batch'], (g) =>
    g.set({ batch: 'orders' }, observed.orders().items),
  )
  gauge('tollgate_orders_in_hand', 'Orders this process has in memory', [], (g) => g.set(observed.orders().held))
  gauge('tollgate_orders_waiting', 'Changes of orders waiting for a batch', [], (g) => g.set(observed.waiting()))
  gauge('tollgate_deliveries_total', 'Tries of messages to merchants since the start', ['result'], (g) => {
    g.set({ result: 'delivered' }, observed.deliveries().delivered)
    g.set({ result: 'failed' }, observed.deliveries().failed)
  })
  gauge('tollgate_deliveries_in_hand', 'Messages to merchants under way or queued in memory', [], (g) =>
    g.set(observed.deliveries().inHand),
  )
  gauge('tollgate_outgoing_pools', 'Pools of connections to merchants: kept, or ending with their last call', ['state'], (g) => {
    for (const [state, n] of Object.entries(observed.pools())) g.set({ state }, n)
  })
  gauge('tollgate_gate_up', '1 while the line to the acquirer is signed on', ['gate'], (g) => {
    for (const { gate, up } of observed.gates()) g.set({ gate }, up ? 1 : 0)
  })
  gauge('tollgate_gate_open', 'Requests waiting for an answer of the acquirer', ['gate'], (g) => {
    for (const { gate, open } of observed.gates()) g.set({ gate }, open)
  })
  gauge('tollgate_configuration_version', 'The configuration that this process follows; it rises with each change', [], (g) =>
    g.set(Number(observed.configuration())),
  )
  gauge('tollgate_parked_total', 'Work that failed too often and was parked for an operator, since the start', ['what'], (g) => {
    g.set({ what: 'transaction' }, observed.parked().transactions)
    g.set({ what: 'invoice' }, observed.parked().invoices)
  })
  gauge('tollgate_read_total', 'What was read of strangers since the start', ['unit'], (g) => {
    for (const unit of units) g.set({ unit }, observed.turns()[unit].total)
  })
  gauge('tollgate_read_most', 'The most of it that was read in one turn of the event loop', ['unit'], (g) => {
    for (const unit of units) g.set({ unit }, observed.turns()[unit].most)
  })
  gauge('tollgate_read_budget', 'The most that one turn may take', ['unit'], (g) => {
    for (const unit of units) g.set({ unit }, turnBudget[unit])
  })
  gauge('tollgate_lease_holding', '1 while this process may send', [], (g) => g.set(observed.holding() ? 1 : 0))
  gauge('tollgate_lease_changes_total', 'How often the lease of this process was held, late or lost', ['mode'], (g) => {
    for (const [mode, times] of Object.entries(observed.leases().changes)) g.set({ mode }, times)
  })
  gauge('tollgate_lease_lapsed_orders_total', 'Orders in hand when the lease became late or was lost', [], (g) =>
    g.set(observed.leases().lapsedOrders),
  )
  gauge('tollgate_orders_taken_over_total', 'Orders taken over from processes that fell silent', [], (g) =>
    g.set(observed.leases().takenOver),
  )

  return {
    answered: (operation, outcome) => requests.inc({ operation, outcome }),
    stray: (gate, kind) => strays.inc({ gate, kind }),
    repeated: (operation) => repeats.inc({ operation }),
    routes: [
      { method: 'GET', path: '/health', handle: () => json(200, { status: 'ok' }) },
      { method: 'GET', path: '/ready', handle: () => ready(observed) },
      {
        method: 'GET',
        path: '/metrics',
        handle: async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
      },
    ],
  }
}

async function ready(observed: Observed): Promise<Answer> {
  const reasons: string[] = []
  if (!observed.holding()) reasons.push('the lease of this process is late or lost')
  await observed.database().catch(() => reasons.push('the database does not answer'))
  const gates = [...observed.gates()]
  if (gates.length > 0 && gates.every((gate) => !gate.up)) reasons.push('no line to an acquirer is up')
  return json(reasons.length === 0 ? 200 : 503, { status: reasons.length === 0 ? 'ready' : 'not ready', reasons })
}

const json = (status: number, body: object): Answer => ({
  status,
  type: 'application/json;charset=utf-8',
  body: `${JSON.stringify(body)}\n`,
})
