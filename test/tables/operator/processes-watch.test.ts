import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metricsOf, readyOf } from '../../../src/processes/watch.ts'

/** Health and metrics of several processes at one port. */

const said = (slot: number, body: string, status = 200) => ({ slot, answer: { status, type: 'text/plain', body } })
const ready = (slot: number, ...reasons: string[]) => said(slot, JSON.stringify({ status: '', reasons }))
const unready = (slot: number, ...reasons: string[]) => said(slot, JSON.stringify({ reasons }), 503)
const silent = (slot: number) => ({ slot, answer: undefined })

test('several processes are ready if each that serves is, and one serves', () => {
  // oxfmt-ignore
  const cases = [
    [[ready(0), ready(1)],                                    200, []],
    [[ready(1)],                                              200, []],
    [[ready(0), unready(1, 'its lease is late', 'no line')],  503, ['process 1: its lease is late', 'process 1: no line']],
    [[ready(0), ready(1, 'cell 3: it is away')],              200, ['process 1: cell 3: it is away']],
    [[silent(0), ready(1)],                                   503, ['process 0: it does not answer']],
    [[],                                                      503, ['no process serves']],
  ] as const
  for (const [all, status, reasons] of cases) {
    const answer = readyOf(all)
    assert.deepEqual(
      [answer.status, JSON.parse(String(answer.body))],
      [status, { status: status === 200 ? 'ready' : 'not ready', reasons }],
    )
  }
})

const text = (n: number) => `# HELP a Counts {of} things
# TYPE a counter
a{what="x 1",to="}"} ${n}
a ${n}

# HELP b_seconds Takes
# TYPE b_seconds histogram
b_seconds_bucket{le="+Inf"} ${n}
b_seconds_sum ${n}
`

test('the metrics of all processes have the label slot, each family once with its head', () => {
  const filled = [0, 1, 2].map((slot) => ({ slot, isServing: slot < 2, starts: slot + 1 }))
  const { body } = metricsOf([said(0, text(1)), said(1, text(2)), silent(2)], filled)
  assert.equal(
    body,
    `# HELP tollgate_process_serving 1 while there is a process of this slot that serves
# TYPE tollgate_process_serving gauge
tollgate_process_serving{slot="0"} 1
tollgate_process_serving{slot="1"} 1
tollgate_process_serving{slot="2"} 0
# HELP tollgate_process_starts_total How often a process of this slot was started
# TYPE tollgate_process_starts_total counter
tollgate_process_starts_total{slot="0"} 1
tollgate_process_starts_total{slot="1"} 2
tollgate_process_starts_total{slot="2"} 3
# HELP a Counts {of} things
# TYPE a counter
a{slot="0",what="x 1",to="}"} 1
a{slot="0"} 1
a{slot="1",what="x 1",to="}"} 2
a{slot="1"} 2
# HELP b_seconds Takes
# TYPE b_seconds histogram
b_seconds_bucket{slot="0",le="+Inf"} 1
b_seconds_sum{slot="0"} 1
b_seconds_bucket{slot="1",le="+Inf"} 2
b_seconds_sum{slot="1"} 2
`,
  )
})
