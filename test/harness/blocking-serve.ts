// `serve` with one route more, POST /block/:file: the event loop stands still while the file is
// there. test/faults/busy.test.ts starts it.
import { existsSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { serveConfig } from '../../src/cli/config.ts'
import { encryptionBy, hourKeysBy } from '../../src/cli/key-config.ts'
import { startGateway } from '../../src/gateway/start.ts'
import { endOnDefect, untilSignal } from '../../src/base/signals.ts'
import { usualTuning } from '../../src/gateway/tuning.ts'
import type { Route } from '../../src/http/server.ts'

const config = serveConfig(process.env)
const log = openLog({ level: config.logLevel, destination: process.stdout })
endOnDefect(log)
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
const gateway = await startGateway({
  ...config,
  kek: encryptionBy(config.kek, systemRandom),
  hourKeys: hourKeysBy(config.cvv2Keys, systemClock, systemRandom),
  callbackPolicy: { plainHttp: false, loopbackAnyPort: false },
  clock: systemClock,
  random: systemRandom,
  log,
  steering: false,
  explains: false,
  tuning: usualTuning,
  routes: () => [block],
})
log.info({ port: gateway.port, operatorPort: gateway.operatorPort }, 'the gateway serves')
await Promise.race([untilSignal(), gateway.lost])
await gateway.stop()
