// A second gateway process on the database of a sandbox (two-processes.ts): `tollgate serve`, but
// for its callbacks, which go to this machine over plain HTTP as those of the sandbox do. Its
// first message has its ports.
import { systemClock } from '../src/base/clock.ts'
import { keepHeapSmall } from '../src/base/heap.ts'
import { openLog } from '../src/base/log.ts'
import { systemRandom } from '../src/base/random.ts'
import { endOnDefect, untilSignal } from '../src/base/signals.ts'
import { serveConfig } from '../src/cli/config.ts'
import { encryptionBy, hourKeysBy } from '../src/cli/key-config.ts'
import { startGateway } from '../src/gateway/start.ts'
import { usualTuning } from '../src/gateway/tuning.ts'

const config = serveConfig(process.env)
const log = openLog({ level: config.logLevel, destination: process.stdout })
endOnDefect(log)
keepHeapSmall()
// Whoever started it is gone.
process.on('disconnect', () => process.exit(0))
const gateway = await startGateway({
  ...config,
  kek: encryptionBy(config.kek, systemRandom),
  hourKeys: hourKeysBy(config.cvv2Keys, systemClock, systemRandom),
  callbackPolicy: { plainHttp: true, loopbackAnyPort: true },
  clock: systemClock,
  random: systemRandom,
  log,
  steering: false,
  explains: false,
  tuning: usualTuning,
})
process.send!({ port: gateway.port, operatorPort: gateway.operatorPort })
await Promise.race([untilSignal(), gateway.lost])
await gateway.stop()
process.exit(0)
