// `serve` that may also call merchants of this machine, which production never does. The cluster
// starts it.
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { endOnDefect, untilSignal } from '../../src/base/signals.ts'
import { serveConfig } from '../../src/settings/serve.ts'
import { encryptionBy, hourKeysBy } from '../../src/settings/keys.ts'
import { startGateway } from '../../src/gateway/start.ts'
import { usualTuning } from '../../src/gateway/tuning.ts'

const config = serveConfig(process.env)
const log = openLog({ level: config.logLevel, destination: process.stdout })
endOnDefect(log)
const gateway = await startGateway({
  ...config,
  kek: encryptionBy(config.kek, systemRandom),
  hourKeys: (clock) => hourKeysBy(config.cvv2Keys, clock, systemRandom),
  callbackPolicy: { plainHttp: true, loopbackAnyPort: true },
  clock: systemClock,
  random: systemRandom,
  log,
  steering: false,
  explains: false,
  tuning: usualTuning,
})
log.info({ port: gateway.port }, 'the gateway serves')
const why = await Promise.race([untilSignal(), gateway.lost.then(() => 'lease lost')])
log.info({ why }, 'the gateway stops')
await gateway.stop()
process.exitCode = why === 'lease lost' ? 1 : 0
