// `serve` of the version in the folder that is its argument, which may also call merchants of this
// machine, as production never does. `npm run rolling` starts it.
import { join } from 'node:path'
import type { Clock } from '../../src/base/clock.ts'

const dist = process.argv[2]!
const load = (path: string): Promise<unknown> => import(join(dist, 'src', path))
const { systemClock } = (await load('base/clock.js')) as typeof import('../../src/base/clock.ts')
const { openLog } = (await load('base/log.js')) as typeof import('../../src/base/log.ts')
const { systemRandom } = (await load('base/random.js')) as typeof import('../../src/base/random.ts')
const { endOnDefect, untilSignal } = (await load('base/signals.js')) as typeof import('../../src/base/signals.ts')
const { serveConfig } = (await load('settings/serve.js')) as typeof import('../../src/settings/serve.ts')
const { encryptionBy, hourKeysBy } = (await load('settings/keys.js')) as typeof import('../../src/settings/keys.ts')
const { startGateway } = (await load('gateway/start.js')) as typeof import('../../src/gateway/start.ts')
const { usualTuning } = (await load('gateway/tuning.js')) as typeof import('../../src/gateway/tuning.ts')

const config = serveConfig(process.env)
/** Earlier versions take the keys themselves, later ones a function of the gateway's clock. */
const hourKeysOf = (clock: Clock) => hourKeysBy(config.cvv2Keys, clock, systemRandom)
const hourKeys = Object.assign(hourKeysOf, hourKeysOf(systemClock))
const log = openLog({ level: config.logLevel, destination: process.stdout })
endOnDefect(log)
const gateway = await startGateway({
  ...config,
  kek: encryptionBy(config.kek, systemRandom),
  hourKeys,
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
