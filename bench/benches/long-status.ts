import type { LoadReport } from '../load/exchange.ts'
import { rounded } from '../figures/figures.ts'
import type { Run } from '../figures/levels.ts'
import { measure } from '../figures/measure.ts'
import { measurePosts } from '../load/posts.ts'
import type { Sandbox } from '../sandbox.ts'
import { storedCount, type StoredOrders } from '../load/stored-orders.ts'
import { storedStatus } from '../load/stored-status.ts'
import { figure } from '../figures/table.ts'
import { postgresUs } from './yardsticks.ts'

/**
 * `status` of orders that were written long ago, beside bare posts measured right before; the names
 * are those of the JSON line.
 */
export interface StatusRow {
  bench: 'long-status'
  orders: number
  in_flight: number
  status_per_s: number
  bare_post_per_s: number
  /** The first by the second. */
  ratio: number
  p50_ms: number | null
  p99_ms: number | null
  gateway_cpu_us_per_status: number | null
  postgres_cpu_us_per_status: number | null
}

const connections = 32
/** After so many, V8 has compiled what reads and shows a stored order. */
const ramp = 5_000
const postsMs = 4_000

export async function measureStoredStatus(
  { load, wishes, output }: Run,
  sandbox: Sandbox,
  stored: StoredOrders,
): Promise<{ row: StatusRow; report: LoadReport }> {
  const { progress } = output
  const orders = storedCount(stored)
  progress.say(`Bare posts, ${connections} connections`)
  const posts = await measurePosts(load, sandbox.site, connections, Math.min(wishes.measureMs, postsMs))
  progress.say(`Status of ${orders} stored orders, ${connections} connections`)
  const level = { bench: storedStatus, inFlight: connections, ramp, measureMs: wishes.measureMs, salesBefore: 0 }
  const { figures, report } = await measure(load, { ...sandbox, site: { ...sandbox.site, stored } }, level, (ended) =>
    progress.add(`${ended} ended`),
  )
  const row: StatusRow = {
    bench: 'long-status',
    orders,
    in_flight: connections,
    status_per_s: figures.sales_per_s,
    bare_post_per_s: rounded(posts.perSecond, 1),
    ratio: rounded(figures.sales_per_s / posts.perSecond, 3),
    p50_ms: figures.accept_p50_ms,
    p99_ms: figures.accept_p99_ms,
    gateway_cpu_us_per_status: figures.gateway_cpu_us_per_sale,
    postgres_cpu_us_per_status: postgresUs(figures),
  }
  return { row, report }
}

export const statusText = (row: StatusRow): string =>
  `Status of ${row.orders} stored orders, ${row.in_flight} connections: ${figure(row.status_per_s)} a second, ` +
  `${figure(row.ratio, 2)} of ${figure(row.bare_post_per_s)} bare posts; p50 ${figure(row.p50_ms, 1)} ms, ` +
  `p99 ${figure(row.p99_ms, 1)} ms; gateway ${figure(row.gateway_cpu_us_per_status)} us each, ` +
  `PostgreSQL ${figure(row.postgres_cpu_us_per_status)} us`
