// A second gateway on the database of a sandbox (two-processes.ts): `tollgate serve`, but for its
// callbacks, which go to this machine over plain HTTP as those of the sandbox do. Its first message
// has its ports.
import { systemClock } from '../../src/base/clock.ts'
import { keepHeapSmall } from '../../src/base/heap.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { endOnDefect, untilSignal } from '../../src/base/signals.ts'
import { serveConfig } from '../../src/settings/serve.ts'
import { encryptionBy, hourKeysBy } from '../../src/settings/keys.ts'
import { keyByDescriptor, processesOf } from '../../src/cli/process-start.ts'
import { startGateway } from '../../src/gateway/start.ts'
import { usualTuning } from '../../src/gateway/tuning.ts'
import { openStarter } from '../../src/processes/cluster.ts'
import { openSlot } from '../../src/processes/slot.ts'
import { Processes, type ListeningPorts } from '../../src/processes/supervisor.ts'

const { env } = process
const slot = openSlot(env, process)
const log = openLog({ level: env['LOG_LEVEL'] ?? 'info', destination: process.stdout })
const count = slot ? 1 : processesOf(env)
endOnDefect(log)
await (count === 1 ? serve() : serveTogether())
process.exit(0)

async function serve(): Promise<void> {
  const config = serveConfig(env)
  keepHeapSmall()
  const gateway = await startGateway({
    ...config,
    slot,
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
  if (slot) slot.serves(gateway)
  else tell(gateway)
  await Promise.race([untilSignal(), gateway.lost, ...(slot ? [] : [benchGone()])])
  slot?.stops()
  await gateway.stop()
}

async function serveTogether(): Promise<void> {
  const ground = { clock: systemClock, random: systemRandom, log }
  await new Processes({ count, start: openStarter(keyByDescriptor(env)), onServing: tell, ...ground }).run(
    Promise.race([untilSignal(), benchGone()]),
  )
}

function tell({ port, operatorPort }: ListeningPorts): void {
  process.send!({ port, operatorPort })
}

function benchGone(): Promise<string> {
  return new Promise((resolve) => process.once('disconnect', () => resolve('the bench is gone')))
}
