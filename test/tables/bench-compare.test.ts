// A run of the bench beside an earlier one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comparedText, compareRuns, lineOfCompared, linesIn } from '../../bench/compare.ts'

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

test('people see both figures and the ratio, programs the ratio', () => {
  const compared = compareRuns(older, [{ bench: 'sale', in_flight: 256, sales_per_s: 333, other_cpu_us_per_sale: 5 }])
  assert.match(comparedText(compared), /sale, in_flight 256 +older +newer +ratio\n +sales_per_s +1000 +333 +0\.33\n/)
  assert.deepEqual(lineOfCompared(compared[0]!), {
    bench: 'compare',
    row: 'sale, in_flight 256',
    sales_per_s: 0.333,
    other_cpu_us_per_sale: null,
  })
  assert.equal(comparedText([]), 'The runs have no row in common.')
})
