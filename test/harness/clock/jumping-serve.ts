// `serve` with POST /jump/:ms: from then on the clock of its machine is off by so many
// milliseconds. test/faults/payments/clock-jumps.test.ts starts it.
import { systemClock } from '../../../src/base/clock.ts'
import { serveWith } from '../world/serve-program.ts'

let offMs = 0
await serveWith(
  {
    method: 'POST',
    path: '/jump/:ms',
    handle({ params }) {
      offMs = Number(params['ms'])
      return { status: 200, type: 'text/plain', body: 'it jumped' }
    },
  },
  { ...systemClock, now: () => systemClock.now() + offMs },
)
