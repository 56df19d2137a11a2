import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { endOnDefect, untilSignal } from '../../../src/base/signals.ts'
import { serveConfig } from '../../../src/settings/serve.ts'
import { encryptionBy, hourKeysBy } from '../../../src/settings/keys.ts'
import { startGateway, type GatewayOptions } from '../../../src/gateway/start.ts'
import { usualTuning } from '../../../src/gateway/tuning.ts'

/** `serve` with options of a test, such as a route by which it does something to the process. */
export async function serveWith(options: Partial<GatewayOptions>): Promise<void> {
  const config = serveConfig(process.env)
  const log = openLog({ level: config.logLevel, destination: process.stdout })
  endOnDefect(log)
  const gateway = await startGateway({
    ...config,
    kek: encryptionBy(config.kek, systemRandom),
    hourKeys: (shared) => hourKeysBy(config.cvv2Keys, shared, systemRandom),
    callbackPolicy: { plainHttp: false, loopbackAnyPort: false },
    clock: systemClock,
    random: systemRandom,
    log,
    steering: false,
    explains: false,
    tuning: usualTuning,
    ...options,
  })
  log.info({ port: gateway.port, operatorPort: gateway.operatorPort }, 'the gateway serves')
  const why = await Promise.race([untilSignal(), gateway.lost.then(() => 'lease lost')])
  log.info({ why }, 'the gateway stops')
  await gateway.stop()
  process.exitCode = why === 'lease lost' ? 1 : 0
}
