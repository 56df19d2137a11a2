import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { usualTuning } from '../../../src/gateway/tuning.ts'
import { openMeters, watchRoutes, type AwayCell, type GatewayGauges } from '../../../src/gateway/watch.ts'
import { openAccessLimits, usualLimits } from '../../../src/merchant/access-limits.ts'
import type { Incoming } from '../../../src/http/server.ts'

/** What an operator reads of a process, over gateways and gates that are made up. */

const gauges = (held: number, holding: boolean): GatewayGauges => ({
  orders: () => ({ batches: 1, items: 2, held }),
  waiting: () => 0,
  deliveries: () => ({ delivered: 3, failed: 1, inHand: 0 }),
  parked: () => ({ transactions: 0, invoices: 0 }),
  holding: () => holding,
  leases: () => ({ changes: { holding: 1, late: 0, lost: 0 }, lapsedOrders: 0, takenOver: 0 }),
})

function watching(own: readonly GatewayGauges[], away: readonly AwayCell[] = []) {
  const gates: { gate: string; up: boolean; open: number }[] = []
  const routes = watchRoutes(
    openMeters(usualTuning.lagEveryMs),
    () =>
      own.map((one, cellNo) => ({
        cellNo,
        gauges: one,
        takesRequests: one.holding,
        duties: { resealed: () => 1, cardsForgotten: () => 2, partitionDays: () => 365 + cellNo },
        node: () => (cellNo === 1 ? 'db2.example:5432' : undefined),
        unready: () => Promise.resolve(one.holding() ? [] : ['its lease is late']),
      })),
    {
      connections: () => ({ open: 3, refused: { all: 0, address: 9 } }),
      pools: () => ({ kept: 5, ending: 2 }),
      gates: () => gates,
      configuration: () => 7n,
      directories: () => [
        { directory: 'loaded', loaded: true },
        { directory: 'new', loaded: false },
      ],
      turns: openTurns(queueMicrotask).counts,
      limits: openAccessLimits({ settings: usualLimits, clock: systemClock, isShared: () => false }).counts,
      aheadMs: () => -2_500,
      away: () => away,
    },
  )
  const get = async (path: string) => {
    const { status, body } = await routes.find((route) => route.path === path)!.handle({} as Incoming)
    return { status, body: String(body) }
  }
  return { gates, get }
}

test('a gate that is added to a process without any is in its metrics', async () => {
  const { gates, get } = watching([gauges(0, true)])
  assert.doesNotMatch((await get('/metrics')).body, /^tollgate_gate_up\{/m)
  gates.push({ gate: '101', up: true, open: 4 })
  const { body } = await get('/metrics')
  assert.match(body, /^tollgate_gate_up\{gate="101"\} 1$/m)
  assert.match(body, /^tollgate_gate_open\{gate="101"\} 4$/m)
})

test('pools that end with their last call count apart from pools that are kept', async () => {
  const { body } = await watching([gauges(0, true)]).get('/metrics')
  assert.match(body, /^tollgate_outgoing_pools\{state="kept"\} 5$/m)
  assert.match(body, /^tollgate_outgoing_pools\{state="ending"\} 2$/m)
})

test('a directory server without card ranges shows apart from servers with them', async () => {
  const { body } = await watching([gauges(0, true)]).get('/metrics')
  assert.match(body, /^tollgate_directory_loaded\{directory="loaded"\} 1$/m)
  assert.match(body, /^tollgate_directory_loaded\{directory="new"\} 0$/m)
})

test('the cells of a process are summed, and a cell without its lease shows apart', async () => {
  const { gates, get } = watching([gauges(2, true), gauges(5, false)], [{ cellNo: 7, reason: 'it is away' }])
  const { body } = await get('/metrics')
  assert.match(body, /^tollgate_orders_in_hand 7$/m)
  assert.match(body, /^tollgate_deliveries_total\{result="delivered"\} 6$/m)
  assert.match(body, /^tollgate_lease_holding 0$/m)
  assert.match(body, /^tollgate_resealed_rows_total 2$/m)
  assert.match(body, /^tollgate_partition_days 365$/m)
  for (const [cell, open] of ['1', '0', '', '', '', '', '', '0'].entries())
    if (open !== '') assert.match(body, new RegExp(`^tollgate_cell_open\\{cell="${cell}"\\} ${open}$`, 'm'))
  const cells = [
    { cell: 0, ready: true },
    { cell: 1, ready: false, node: 'db2.example:5432' },
    { cell: 7, ready: false },
  ]
  const reasons = ['cell 1: its lease is late', 'cell 7: it is away']
  const ready = await get('/ready')
  assert.deepEqual([ready.status, JSON.parse(ready.body)], [200, { status: 'ready', reasons, cells }])
  gates.push({ gate: '101', up: false, open: 0 })
  const noLine = await get('/ready')
  assert.deepEqual(
    [noLine.status, JSON.parse(noLine.body)],
    [503, { status: 'not ready', reasons: [...reasons, 'no line to an acquirer is up'], cells }],
  )
})

test('a process of one cell without its lease is not ready', async () => {
  const ready = await watching([gauges(5, false)]).get('/ready')
  assert.deepEqual([ready.status, JSON.parse(ready.body)], [503, { status: 'not ready', reasons: ['its lease is late'] }])
})
