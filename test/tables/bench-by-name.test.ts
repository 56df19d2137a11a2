// What the benches that run only by name compute from what they measure.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Figures } from '../../bench/bench.ts'
import { compared } from '../../bench/by-turns.ts'
import type { LoadReport } from '../../bench/exchange.ts'
import { rowOf } from '../../bench/overload.ts'
import { costsOf } from '../../bench/secured.ts'
import { delaysOf, quantileOf } from '../../bench/slow-acquirer.ts'

const figures = (values: Partial<Figures>) => values as Figures
const report = (values: Partial<LoadReport>): LoadReport => {
  const none = { p50: undefined, p99: undefined, p999: undefined }
  const ended = { refused: 0, refusal: none, failures: {}, approvedUnseen: 0 }
  return { begun: 0, late: none, leftOut: 0, ...ended, mostInFlight: 0, windowMs: 1_000, ...values } as LoadReport
}

test('under a flood a rate is that of the window, the goodput is by the peak, and processor time is by the clock', () => {
  const peak = figures({ sales_per_s: 2_000, gateway_cpu_us_per_sale: 500, load_cpu_us_per_sale: 100 })
  const flooded = figures({ sales_per_s: 1_500, gateway_cpu_us_per_sale: 700, load_cpu_us_per_sale: 400 })
  const refusal = { p50: 3.456, p99: 40, p999: 50 }
  const late = { p50: 0, p99: 1.5, p999: 2 }
  const seen = report({ windowMs: 2_000, begun: 11_000, late, refused: 8_000, refusal, leftOut: 50, mostInFlight: 1_200 })
  const { sales_per_s: salesPerS, ...row } = rowOf(6_000, peak, flooded, {
    ...seen,
    failures: { lost: 2, late: 1 },
    approvedUnseen: 2,
  })
  assert.equal(salesPerS, 1_500)
  assert.deepEqual(row, {
    bench: 'overload',
    arrivals_per_s: 6_000,
    begun_per_s: 5_500,
    begun_late_p99_ms: 1.5,
    peak_sales_per_s: 2_000,
    goodput_percent: 75,
    refused_per_s: 4_000,
    refusal_p50_ms: 3.46,
    refusal_p99_ms: 40,
    failed: 3,
    approved_unseen: 2,
    most_in_flight: 1_200,
    left_out_per_s: 25,
    peak_gateway_cpu_percent: 100,
    peak_load_cpu_percent: 20,
    gateway_cpu_percent: 105,
    load_cpu_percent: 60,
    gateway_cpu_us_per_sale: 700,
    load_cpu_us_per_sale: 400,
  })
})

test('a flood without refusals has no time to them, and a platform without /proc no processor time', () => {
  const none = figures({ sales_per_s: 10, gateway_cpu_us_per_sale: null, load_cpu_us_per_sale: null })
  const row = rowOf(30, none, none, report({}))
  assert.deepEqual([row.refused_per_s, row.refusal_p50_ms, row.gateway_cpu_percent], [0, null, null])
})

test('the delays of a slow acquirer have the median in the middle and the p99 at the end', () => {
  const delays = delaysOf({ p50Ms: 120, p99Ms: 380 })
  assert.deepEqual(
    delays,
    delays.toSorted((a, b) => a - b),
  )
  const equally = delays.map((ms) => ({ ms, hits: 100 }))
  assert.deepEqual([quantileOf(equally, 0.5), quantileOf(equally, 0.99), delays.at(-1)], [120, 380, 380])
  const mean = delays.reduce((sum, ms) => sum + ms, 0) / delays.length
  assert.ok(mean > 130 && mean < 135, `${mean} ms`)
})

test('the quantile of delays counts the messages that had them', () => {
  const delays = [
    { ms: 30, hits: 1 },
    { ms: 10, hits: 98 },
    { ms: 20, hits: 1 },
    { ms: 40, hits: 0 },
  ]
  assert.deepEqual(
    [0.5, 0.98, 0.99, 1].map((share) => quantileOf(delays, share)),
    [10, 10, 20, 30],
  )
  assert.equal(quantileOf([], 0.5), null)
})

test('two sides by turns are compared by the means of their rounds', () => {
  const rates = [
    [1_000, 1_200],
    [900, 750],
  ] as const
  assert.deepEqual(compared(rates), { rates, means: [1_100, 825], ratio: 0.75 })
  assert.equal(
    compared([
      [0, 0],
      [1, 2],
    ]).ratio,
    null,
  )
})

test('signatures and TLS cost what the means of their rounds differ from plain', () => {
  const round = (rate: number, cpu: number | null) => ({ sales_per_s: rate, gateway_cpu_us_per_sale: cpu })
  const plain = { name: 'plain', rounds: [round(1_000, 400), round(1_200, 600)] }
  const signed = { name: 'signed', rounds: [round(800, 500), round(960, 700)] }
  assert.deepEqual(costsOf([plain, signed]), [
    { side: 'plain', sales_per_s: 1_100, gateway_cpu_us_per_sale: 500, sales_ratio: 1, gateway_cpu_ratio: 1 },
    { side: 'signed', sales_per_s: 880, gateway_cpu_us_per_sale: 600, sales_ratio: 0.8, gateway_cpu_ratio: 1.2 },
  ])
  const [none] = costsOf([{ name: 'plain', rounds: [round(0, null)] }])
  assert.deepEqual([none!.gateway_cpu_us_per_sale, none!.sales_ratio, none!.gateway_cpu_ratio], [null, null, null])
})
