import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import type { Answer, Route } from '../http/server.ts'

/** What an installation can be watched by; read when asked. */
export interface Observed {
  orders: () => { batches: number; items: number; held: number }
  waiting: () => number
  deliveries: () => { delivered: number; failed: number; inHand: number }
  gates: () => Iterable<{ gate: string; up: boolean; open: number }>
  holding: () => boolean
  /** Rejects when the database does not answer. */
  database: () => Promise<unknown>
}

export interface Watch {
  routes: Route[]
  /** Counts an answered request of the gateway API. */
  answered: (operation: string, outcome: string) => void
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
  gauge('tollgate_gate_up', '1 while the line to the acquirer is signed on', ['gate'], (g) => {
    for (const { gate, up } of observed.gates()) g.set({ gate }, up ? 1 : 0)
  })
  gauge('tollgate_gate_open', 'Requests waiting for an answer of the acquirer', ['gate'], (g) => {
    for (const { gate, open } of observed.gates()) g.set({ gate }, open)
  })
  gauge('tollgate_lease_holding', '1 while this process may send', [], (g) => g.set(observed.holding() ? 1 : 0))

  return {
    answered: (operation, outcome) => requests.inc({ operation, outcome }),
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
