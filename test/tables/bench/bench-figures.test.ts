// What the bench computes from what it reads and measures, and shows of it.
import assert from 'node:assert/strict'
import { compareRuns, linesIn } from '../../../bench/figures/compare.ts'
import { compared } from '../../../bench/benches/by-turns.ts'
import { costsOf } from '../../../bench/benches/secured.ts'
import { delaysOf, quantileOf } from '../../../bench/benches/slow-acquirer.ts'
import { parseMetrics, quantileBetween, sumOf } from '../../../bench/figures/metrics.ts'
import { pictureOf } from '../../../bench/figures/picture.ts'
import { rateOfPgbench } from '../../../bench/load/payments.ts'
import { ratiosOf, type Yardsticks } from '../../../bench/benches/yardsticks.ts'
import { rowOf } from '../../../bench/benches/overload.ts'
import { test } from 'node:test'
import type { Figures, Row } from '../../../bench/bench.ts'
import type { LoadReport } from '../../../bench/load/exchange.ts'

const metrics = `# HELP a_total What is counted
# TYPE a_total counter
a_total{batch="orders"} 12
a_total{batch="other",kind="a \\"b\\""} 3.5
b_seconds 1e-3
b_seconds{kind="nan"} Nan
`

test('metrics are read with their labels, and summed by them', () => {
  const samples = parseMetrics(metrics)
  assert.deepEqual(samples[1], { name: 'a_total', labels: { batch: 'other', kind: 'a \\"b\\"' }, value: 3.5 })
  assert.equal(samples.length, 3)
  assert.equal(sumOf(samples, 'a_total'), 15.5)
  assert.equal(sumOf(samples, 'a_total', { batch: 'orders' }), 12)
  assert.equal(sumOf(samples, 'a_total', { batch: 'none' }), undefined)
  assert.equal(sumOf(samples, 'b_seconds'), 0.001)
})

const histogram = (...counts: number[]) =>
  parseMetrics(['0.01', '+Inf', '0.001'].map((le, i) => `turn_bucket{le="${le}"} ${counts[(i + 1) % 3]}`).join('\n'))

//    before            after                share  quantile
const quantiles: [number[], number[], number, number | undefined][] = [
  [[0, 0, 0], [99, 100, 100], 0.99, 0.001],
  [[0, 0, 0], [98, 100, 100], 0.99, 0.01],
  [[90, 90, 90], [90, 100, 100], 0.5, 0.01],
  [[0, 0, 0], [0, 1, 100], 0.99, undefined],
  [[7, 8, 9], [7, 8, 9], 0.99, undefined],
]

for (const [before, after, share, quantile] of quantiles)
  test(`between the counts ${before.join()} and ${after.join()} the quantile ${share} is ${quantile ?? 'unknown'}`, () => {
    assert.equal(quantileBetween(histogram(...before), histogram(...after), 'turn', share), quantile)
  })

test('without the histogram there is no quantile', () => {
  assert.equal(quantileBetween([], [], 'turn', 0.99), undefined)
})

test('the rate of pgbench is the one without its connections', () => {
  const output =
    'latency average = 8.1 ms\ninitial connection time = 71.2 ms\ntps = 3601.250493 (without initial connection time)\n'
  assert.equal(rateOfPgbench(output), 3601.250493)
  assert.equal(rateOfPgbench('pgbench: error: connection failed\n'), undefined)
})

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

const older = linesIn(`2 processors, 25 GB
       in            accept
{"bench":"sale","in_flight":32,"sales_before":5000,"sales_per_s":500,"accept_p50_ms":20,"loop_turn_p99_ms":null}
{"bench":"sale","in_flight":256,"sales_before":6000,"sales_per_s":1000,"other_cpu_us_per_sale":0}
{"bench":"yardstick","of":"sale","when":"before","payments_by":"pgbench","payments_per_s":3000}
{"bench":"sale-books","which":"as it is","merchant":7,"agree":true}
`)

test('rows of the same name and level are compared, figure by figure', () => {
  const newer = linesIn(`{"bench":"sale","in_flight":256,"sales_before":9000,"sales_per_s":1100,"other_cpu_us_per_sale":5}
{"bench":"sale","in_flight":32,"sales_per_s":250,"accept_p50_ms":30,"loop_turn_p99_ms":4}
{"bench":"sale","in_flight":1,"sales_per_s":250}
{"bench":"sale-books","which":"as it is","merchant":8,"agree":true}`)
  assert.deepEqual(compareRuns(older, newer), [
    {
      row: 'sale, in_flight 256',
      figures: [
        { name: 'sales_per_s', older: 1000, newer: 1100, ratio: 1.1 },
        { name: 'other_cpu_us_per_sale', older: 0, newer: 5, ratio: undefined },
      ],
    },
    {
      row: 'sale, in_flight 32',
      figures: [
        { name: 'sales_per_s', older: 500, newer: 250, ratio: 0.5 },
        { name: 'accept_p50_ms', older: 20, newer: 30, ratio: 1.5 },
      ],
    },
  ])
})

test('payments by another program are no yardstick of the same kind', () => {
  const line = { bench: 'yardstick', of: 'sale', when: 'before', payments_by: 'pg', payments_per_s: 1500 }
  assert.deepEqual(compareRuns(older, [line]), [])
  assert.equal(compareRuns(older, [{ ...line, payments_by: 'pgbench' }])[0]!.figures[0]!.ratio, 0.5)
})

const levels = linesIn(`{"bench":"sale","in_flight":256,"sales_per_s":800,"accept_p99_ms":90,"final_p99_ms":200}
{"bench":"sale","in_flight":1,"sales_per_s":100,"accept_p99_ms":5,"final_p99_ms":null}
{"bench":"sale","in_flight":32,"sales_per_s":400,"accept_p99_ms":24.6,"final_p99_ms":50}
{"bench":"recurrent","in_flight":32,"sales_per_s":4000}
{"bench":"sale-arrivals","rate":"half","sales_per_s":300}
{"bench":"connects","in_flight":256,"connections":256}`)

test('each level is a point at its height, and says its figure', () => {
  const picture = pictureOf(levels)
  const circles = [...picture.matchAll(/<circle class="(\w)" cx="([\d.]+)" cy="([\d.]+)" r="3.5"\/><text[^>]*>([^<]+)</g)]
  const points = circles.map(([, curve, x, y, says]) => [curve, Number(x), Number(y), says])
  // Three levels of equal width between 70 and 620; a panel is 150 high, and 800 its top.
  assert.deepEqual(points, [
    ['a', 161.7, 177.3, '100'],
    ['a', 345, 121, '400'],
    ['a', 528.3, 46, '800'],
    ['b', 345, 378.5, '50'],
    ['b', 528.3, 266, '200'],
    ['a', 161.7, 412.3, '5'],
    ['a', 345, 397.6, '25'],
    ['a', 528.3, 348.5, '90'],
  ])
  const labels = [...picture.matchAll(/<text class="note" x="([\d.]+)" y="228" text-anchor="middle">(\d+)</g)]
  assert.deepEqual(
    labels.map(([, x, level]) => [x, level]),
    [
      ['161.7', '1'],
      ['345', '32'],
      ['528.3', '256'],
    ],
  )
})

const measured = {
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
  assert.deepEqual(ratiosOf(measured, yardsticks, later), {
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

test('a figure that the platform does not provide has no ratio', () => {
  const { gateway_cpu_in_posts_alone: gateway, postgres_cpu_in_posts: postgres } = ratiosOf(
    { ...measured, gateway_cpu_us_per_sale: null, postgres_autovacuum_cpu_us_per_sale: null },
    yardsticks,
    later,
  )
  assert.deepEqual([gateway, postgres], [null, null])
})
