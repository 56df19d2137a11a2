// `serve` with POST /block/:file: the event loop stands still while the file is there.
// test/faults/payments/busy.test.ts starts it.
import { existsSync } from 'node:fs'
import type { Route } from '../../../src/http/server.ts'
import { serveWith } from '../world/serve-program.ts'

const nothing = new Int32Array(new SharedArrayBuffer(4))
const block: Route = {
  method: 'POST',
  path: '/block/:file',
  handle({ params }) {
    const file = Buffer.from(params['file']!, 'base64url').toString()
    while (existsSync(file)) Atomics.wait(nothing, 0, 0, 20)
    return { status: 200, type: 'text/plain', body: 'it turns again' }
  },
}
await serveWith({ routes: () => [block] })
