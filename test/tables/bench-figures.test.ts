// What the bench computes from what it reads.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMetrics, quantileBetween, sumOf } from '../../bench/metrics.ts'
import { rateOfPgbench } from '../../bench/payments.ts'

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
