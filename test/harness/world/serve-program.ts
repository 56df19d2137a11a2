import { systemClock, type Clock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { endOnDefect, untilSignal } from '../../../src/base/signals.ts'
import { serveConfig } from '../../../src/settings/serve.ts'
import { encryptionBy, hourKeysBy } from '../../../src/settings/keys.ts'
import { startGateway } from '../../../src/gateway/start.ts'
import { usualTuning } from '../../../src/gateway/tuning.ts'
import type { Route } from '../../../src/http/server.ts'

/** `serve` with one route more, by which a test does something to the process. */
export async function serveWith(route: Route, clock: Clock = systemClock): Promise<void> {
  const config = serveConfig(process.env)
  const log = openLog({ level: config.logLevel, destination: process.stdout })
  endOnDefect(log)
  const gateway = await startGateway({
    ...config,
    kek: encryptionBy(config.kek, systemRandom),
    hourKeys: (shared) => hourKeysBy(config.cvv2Keys, shared, systemRandom),
    callbackPolicy: { plainHttp: false, loopbackAnyPort: false },
    clock,
    random: systemRandom,
    log,
    steering: false,
    explains: false,
    tuning: usualTuning,
    routes: () => [route],
  })
  log.info({ port: gateway.port, operatorPort: gateway.operatorPort }, 'the gateway serves')
  await Promise.race([untilSignal(), gateway.lost])
  await gateway.stop()
}
