import type { Command } from 'commander'
import { keepHeapSmall } from '../../../base/heap.ts'
import { openLog, type Log } from '../../../base/log.ts'
import { endOnDefect, untilSignal } from '../../../base/signals.ts'
import type { GatewayOptions } from '../../../gateway/start.ts'
import { usualTuning } from '../../../gateway/tuning.ts'
import { machineFacts } from '../../../operator/doctor/machine.ts'
import { openStarter } from '../../../processes/cluster.ts'
import { openSlot, type OwnSlot } from '../../../processes/slot.ts'
import { Processes } from '../../../processes/supervisor.ts'
import { whileRestarting } from '../../../storage/patience.ts'
import { serveConfig, type ServeConfig } from '../../../settings/serve.ts'
import { encryptionBy, hourKeysBy } from '../../../settings/keys.ts'
import { keyByDescriptor, mayShare, mostProcesses, processesOf } from '../../process-start.ts'
import type { Terminal } from '../../terminal.ts'
import { aNumber } from '../options.ts'

export function addServeCommand(program: Command, terminal: Terminal): void {
  program
    .command('serve')
    .description('the gateway alone, configured by the environment')
    .option('--processes <number>', 'so many processes share the ports, instead of PROCESSES', aNumber(1, mostProcesses))
    .addHelpText(
      'after',
      `
Environment
  DATABASE_URL   PostgreSQL 15 or newer, migrated (npx tollgate migrate), as a member of the role tollgate_serve
  DATABASE_PASSWORD_FILE  file with the password of that user, instead of one in DATABASE_URL
  ALLOW_DATABASE_OWNER  on: it may connect as the owner of the tables, and warns; for trials
  TOLLGATE_KEY_FILE  file with the key-encryption key, 32 bytes in base64; further lines are keys that may still open;
                 or TOLLGATE_KEY_FD, the number of an open descriptor; or, least safe, TOLLGATE_KEY, the key itself
  TOLLGATE_KMS_URL  a key service with the transit API of Vault, which holds the key-encryption key; then TOLLGATE_KMS_KEY,
                 its name there (tollgate), and TOLLGATE_KMS_TOKEN_FILE, the file with the token
  CVV2_KEY_DIRECTORY  where the hourly keys of CVV2 values are, on a memory file system, shared by the processes of
                 this machine (/dev/shm/tollgate- and the number of the user); or CVV2_KEY_SERVICE=on for several
                 machines on one database, which then share them by the key service
  HOST, PORT     where to listen (127.0.0.1, 8080)
  OPERATOR_HOST, OPERATOR_PORT  where /health, /ready and /metrics are (127.0.0.1, PORT + 1000)
  OPERATOR_NAMES names, by comma, under which they are asked for besides localhost and any address
  TLS_CERT_FILE, TLS_KEY_FILE   PEM files: serves HTTPS with this certificate and its chain; read again when they change
  PROCESSES      so many processes share these ports (1); one that ends is started again
  LOG_LEVEL      debug, info, warn, error (info)
  PUBLIC_URL     https origin where cardholders' browsers reach this gateway, such as https://pay.example;
                 more of them, by comma, where merchants sign calls of v4 for other addresses
  ACCESS_LIMITS    limits of requests and failures, such as merchant=500 pair=10; see docs/limits.md
  CARDS_FORGET   how long sealed card numbers of ended payments are kept (approved=180d unapproved=1d); off: until
                 npx tollgate cards forget
  TRUSTED_PROXIES  addresses and networks of the proxies in front of it, whose X-Forwarded-For names the client
  MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS  so many are open at most (5000), and of one address that is no
                 trusted proxy (a fifth)
  TOLLGATE_CELLS  the cells that this process serves, such as 0,2 (all); requests of merchants of the others are passed to
                 a process that serves them, or refused with code 20
  PEER_URL       where this process listens for requests that others pass to it, such as https://10.0.0.5:8090 (none)
  THREE_DS_CONFIG  file that makes it a 3DS Server: directory servers, certificates, the port for results (docs/operating.md)`,
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
  const { startGateway } = await import('../../../gateway/start.ts')
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
  if (slot) slot.serves(gateway)
  else log.info({ port, operatorPort }, 'the gateway serves')
  const why = await Promise.race([untilSignal(), gateway.lost.then(() => 'lease lost')])
  log.info({ why }, slot ? 'this process stops' : 'the gateway stops')
  slot?.stops()
  await gateway.stop()
  terminal.exitCode = why === 'lease lost' ? 1 : 0
  slot?.leave()
}

/** This process is the parent of those that serve. */
async function serveTogether(count: number, terminal: Terminal): Promise<void> {
  const { env, stdout, clock, random } = terminal
  mayShare(env)
  const log = openLog({ level: env.LOG_LEVEL ?? 'info', destination: stdout })
  endOnDefect(log)
  const start = openStarter(keyByDescriptor(env))
  const { why, code } = await new Processes({ count, start, clock, random, log }).run(untilSignal())
  if (code !== 0) terminal.complain(`The gateway ends: ${why}.`)
  terminal.exitCode = code
}

function warn(config: ServeConfig, log: Log): void {
  if (config.kek.from === 'environment')
    log.warn('the key-encryption key is in the environment, where other programs of this user can read it: use TOLLGATE_KEY_FILE')
  if ('directory' in config.cvv2Keys && !config.cvv2Keys.isMemory)
    log.warn(
      { directory: config.cvv2Keys.directory },
      'nothing here can tell whether CVV2_KEY_DIRECTORY is in memory: see that it is',
    )
  if (machineFacts()?.dumpsCore)
    log.warn('this process may write a core dump, with card numbers in it: start it with ulimit -c 0')
}
