// `serve` with POST /jump/:ms: from then on the clock of its machine is off by so many
// milliseconds. test/faults/payments/clock-jumps.test.ts starts it.
import { systemClock } from '../../../src/base/clock.ts'
import type { Route } from '../../../src/http/server.ts'
import { serveWith } from '../world/serve-program.ts'

let offMs = 0
const jump: Route = {
  method: 'POST',
  path: '/jump/:ms',
  handle({ params }) {
    offMs = Number(params['ms'])
    return { status: 200, type: 'text/plain', body: 'it jumped' }
  },
}
await serveWith({ routes: () => [jump], clock: { ...systemClock, now: () => systemClock.now() + offMs } })
