import type { Figures, Row } from '../bench.ts'
import type { Load } from '../load/drive.ts'
import { rounded } from '../figures/figures.ts'
import { measurePayments, type Payments } from '../load/payments.ts'
import { measurePosts } from '../load/posts.ts'
import type { Sandbox } from '../sandbox.ts'

/**
 * Measures this machine, at this moment, by programs that every reader can run. The names are those
 * of the JSON line.
 */
export interface Yardsticks {
  bare_post_per_s: number
  /** Processor time of its server for a request, and what the load process took beside it. */
  bare_post_us: number
  bare_post_load_us: number
  /** The server's, when one post follows the other on a single connection. */
  bare_post_alone_us: number
  payments_per_s: number
  payments_by: Payments['by']
  fsync_p50_ms: number
}

/**
 * A row as ratios to the mean of the yardsticks before and after it; its line is `<bench>-ratios`.
 */
export interface Ratios {
  bench: string
  in_flight: number
  /** Sales per second by payments per second. */
  sales_by_payments: number | null
  /** Processor time of a sale, in bare posts of 32 connections. */
  gateway_cpu_in_posts: number | null
  postgres_cpu_in_posts: number | null
  /** In posts that come one after the other: 32 connections share what a turn of the loop costs. */
  gateway_cpu_in_posts_alone: number | null
  postgres_cpu_in_posts_alone: number | null
  accept_p50_in_fsyncs: number | null
}

const manyConnections = 32

export async function measureYardsticks(
  load: Load,
  sandbox: Sandbox,
  measureMs: number,
  signal: AbortSignal,
): Promise<Yardsticks> {
  const post = await measurePosts(load, sandbox.site, manyConnections, measureMs)
  const alone = await measurePosts(load, sandbox.site, 1, measureMs)
  const payments = await measurePayments(sandbox, measureMs, signal)
  return {
    bare_post_per_s: rounded(post.perSecond, 0),
    bare_post_us: rounded(post.serverUs, 1),
    bare_post_load_us: rounded(post.loadUs, 1),
    bare_post_alone_us: rounded(alone.serverUs, 1),
    payments_per_s: rounded(payments.perSecond, 0),
    payments_by: payments.by,
    fsync_p50_ms: rounded(payments.fsyncP50Ms, 3),
  }
}

/** Processor time of all processes of PostgreSQL for a sale. */
export const postgresUs = (figures: Figures): number | null =>
  [
    figures.postgres_backends_cpu_us_per_sale,
    figures.postgres_autovacuum_cpu_us_per_sale,
    figures.postgres_background_cpu_us_per_sale,
  ].reduce<number | null>((sum, us) => (sum === null || us === null ? null : sum + us), 0)

export function ratiosOf(row: Row, before: Yardsticks, after: Yardsticks): Ratios {
  const mean = (name: 'bare_post_us' | 'bare_post_alone_us' | 'payments_per_s' | 'fsync_p50_ms') =>
    (before[name] + after[name]) / 2
  const by = (value: number | null, unit: number, digits: number) => rounded(value === null ? undefined : value / unit, digits)
  const postgres = postgresUs(row)
  return {
    bench: `${row.bench}-ratios`,
    in_flight: row.in_flight,
    sales_by_payments: by(row.sales_per_s, mean('payments_per_s'), 3),
    gateway_cpu_in_posts: by(row.gateway_cpu_us_per_sale, mean('bare_post_us'), 2),
    postgres_cpu_in_posts: by(postgres, mean('bare_post_us'), 2),
    gateway_cpu_in_posts_alone: by(row.gateway_cpu_us_per_sale, mean('bare_post_alone_us'), 2),
    postgres_cpu_in_posts_alone: by(postgres, mean('bare_post_alone_us'), 2),
    accept_p50_in_fsyncs: by(row.accept_p50_ms, mean('fsync_p50_ms'), 2),
  }
}
