// `serve` with POST /block/:file: the event loop stands still while the file is there.
// test/faults/payments/busy.test.ts starts it.
import { existsSync } from 'node:fs'
import { serveWith } from '../world/serve-program.ts'

const nothing = new Int32Array(new SharedArrayBuffer(4))
await serveWith({
  method: 'POST',
  path: '/block/:file',
  handle({ params }) {
    const file = Buffer.from(params['file']!, 'base64url').toString()
    while (existsSync(file)) Atomics.wait(nothing, 0, 0, 20)
    return { status: 200, type: 'text/plain', body: 'it turns again' }
  },
})
