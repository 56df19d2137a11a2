// A row in yardsticks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Row } from '../../bench/bench.ts'
import { ratiosTable } from '../../bench/report.ts'
import { ratiosOf, type Yardsticks } from '../../bench/yardsticks.ts'

const row = {
  bench: 'sale',
  in_flight: 256,
  sales_per_s: 1_500,
  accept_p50_ms: 60,
  gateway_cpu_us_per_sale: 450,
  postgres_backends_cpu_us_per_sale: 150,
  postgres_autovacuum_cpu_us_per_sale: 20,
  postgres_background_cpu_us_per_sale: 10,
} as Row
const yardsticks = { bare_post_us: 17, bare_post_alone_us: 40, payments_per_s: 2_900, fsync_p50_ms: 0.2 } as Yardsticks
const later = { bare_post_us: 19, bare_post_alone_us: 50, payments_per_s: 3_100, fsync_p50_ms: 0.3 } as Yardsticks

test('a row is shown by the means of the yardsticks before and after it', () => {
  assert.deepEqual(ratiosOf(row, yardsticks, later), {
    bench: 'sale-ratios',
    in_flight: 256,
    sales_by_payments: 0.5,
    gateway_cpu_in_posts: 25,
    postgres_cpu_in_posts: 10,
    gateway_cpu_in_posts_alone: 10,
    postgres_cpu_in_posts_alone: 4,
    accept_p50_in_fsyncs: 240,
  })
})

test('processor time is shown in posts of many connections and in posts alone, side by side', () => {
  const [, ...lines] = ratiosTable([ratiosOf(row, yardsticks, later)]).split('\n')
  assert.deepEqual(
    lines.map((line) => line.trim().split(/ +/)),
    [
      ['in', 'sales', 'by', 'gateway', 'Postgres', 'accept'],
      ['flight', 'payments', 'posts', 'alone', 'posts', 'alone', 'fsyncs'],
      ['256', '0.50', '25.0', '10.0', '10.0', '4.0', '240.0'],
    ],
  )
})

test('what the platform does not give has no ratio', () => {
  const { gateway_cpu_in_posts_alone: gateway, postgres_cpu_in_posts: postgres } = ratiosOf(
    { ...row, gateway_cpu_us_per_sale: null, postgres_autovacuum_cpu_us_per_sale: null },
    yardsticks,
    later,
  )
  assert.deepEqual([gateway, postgres], [null, null])
})
