import type { Command } from 'commander'
import { keepHeapSmall } from '../../base/heap.ts'
import { openLog, type Log } from '../../base/log.ts'
import { machineFacts } from '../../base/machine.ts'
import { endOnDefect, untilSignal } from '../../base/signals.ts'
import { whole } from '../../entity/kinds.ts'
import type { GatewayOptions } from '../../gateway/start.ts'
import { usualTuning } from '../../gateway/tuning.ts'
import { openStarter } from '../../processes/cluster.ts'
import { openSlot, type OwnSlot } from '../../processes/slot.ts'
import { whileRestarting } from '../../storage/patience.ts'
import { ConfigError, mostProcesses, serveConfig, serveVariables, type ServeConfig } from '../../settings/serve.ts'
import { variablesHelp } from '../../settings/variables.ts'
import { encryptionBy, hourKeysBy } from '../../settings/keys.ts'
import { keyByDescriptor, processesOf, reportStart } from '../process-start.ts'
import type { Terminal } from '../terminal.ts'
import { reads } from '../rows.ts'

export function addServeCommand(program: Command, terminal: Terminal): void {
  program
    .command('serve')
    .description('starts the gateway alone, configured by the environment')
    .option('--processes <number>', 'how many processes share the ports, instead of PROCESSES', reads(whole(1, mostProcesses)))
    .addHelpText(
      'after',
      `
Environment (more in docs/install.md)
${variablesHelp(serveVariables)}`,
    )
    .action(async ({ processes }: { processes?: number }) => {
      const slot = openSlot(terminal.env, process)
      if (slot) return serve(terminal, slot)
      const count = processes ?? processesOf(terminal.env)
      await (count === 1 ? serve(terminal) : serveTogether(count, terminal))
    })
}

/** Serves until a signal. The process belongs to this gateway: signals and defects end it. */
async function serve(terminal: Terminal, slot?: OwnSlot): Promise<void> {
  const { env, stdout, clock, random } = terminal
  const config = serveConfig(env)
  const all = openLog({ level: config.logLevel, destination: stdout })
  const log = slot ? all.child({ slot: slot.no }) : all
  warn(config, log)
  endOnDefect(log)
  keepHeapSmall()
  // Only this command loads it: without the gateway the others answer twice as fast.
  const { startGateway } = await import('../../gateway/start.ts')
  const options: GatewayOptions = {
    ...config,
    slot,
    kek: encryptionBy(config.kek, random),
    hourKeys: (shared) => hourKeysBy(config.cvv2Keys, shared, random),
    callbackPolicy: { plainHttp: false, loopbackAnyPort: false },
    clock,
    random,
    log,
    steering: false,
    explains: false,
    tuning: usualTuning,
  }
  const gateway = await whileRestarting(() => startGateway(options), { clock, log })
  const { port, operatorPort } = gateway
  const stops = Promise.race([untilSignal(), gateway.lost.then(() => 'lease lost')])
  if (slot) slot.serves(gateway)
  else {
    log.info({ port, operatorPort }, 'the gateway serves')
    reportStart(env, log, stops)
  }
  const why = await stops
  log.info({ why }, slot ? 'this process stops' : 'the gateway stops')
  slot?.stops()
  await gateway.stop()
  terminal.exitCode = why === 'lease lost' ? 1 : 0
  slot?.leave()
}

/** This process is the parent of those that serve. */
async function serveTogether(count: number, terminal: Terminal): Promise<void> {
  const { env, stdout, clock, random } = terminal
  if (/^0+$/.test(env.PORT ?? ''))
    throw new ConfigError(['PORT is 0, a random free port: several processes need a fixed one to share'])
  const log = openLog({ level: env.LOG_LEVEL ?? 'info', destination: stdout })
  endOnDefect(log)
  // It loads the server of HTTP, which would slow the start of every command.
  const { Processes } = await import('../../processes/supervisor.ts')
  const start = openStarter(keyByDescriptor(env))
  const signal = untilSignal()
  const onServing = () => reportStart(env, log, signal)
  const { why, code } = await new Processes({ count, start, onServing, clock, random, log }).run(signal)
  if (code !== 0) terminal.complain(`The gateway ends: ${why}.`)
  terminal.exitCode = code
}

function warn(config: ServeConfig, log: Log): void {
  if (config.kek.from === 'environment')
    log.warn('the key-encryption key is in the environment, where other programs of this user can read it: use TOLLGATE_KEY_FILE')
  if ('directory' in config.cvv2Keys && !config.cvv2Keys.isMemory)
    log.warn(
      { directory: config.cvv2Keys.directory },
      'this system does not show whether CVV2_KEY_DIRECTORY is in memory: make sure that it is',
    )
  if (machineFacts()?.dumpsCore)
    log.warn('this process may write a core dump, with card numbers in it: start it with ulimit -c 0')
}
