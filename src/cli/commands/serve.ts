import type { Command } from 'commander'
import { keepHeapSmall } from '../../base/heap.ts'
import { openLog } from '../../base/log.ts'
import { endOnDefect, untilSignal } from '../../base/signals.ts'
import { usualTuning } from '../../gateway/tuning.ts'
import { machineFacts } from '../../operator/store-machine.ts'
import { serveConfig } from '../config.ts'
import { encryptionBy, hourKeysBy } from '../key-config.ts'
import type { Terminal } from '../terminal.ts'

export function addServeCommand(program: Command, terminal: Terminal): void {
  program
    .command('serve')
    .description('the gateway alone, configured by the environment')
    .addHelpText(
      'after',
      `
Environment
  DATABASE_URL   PostgreSQL 15 or newer, migrated (npx tollgate migrate), as a member of the role tollgate_serve
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
  TLS_CERT_FILE, TLS_KEY_FILE   PEM files: serves HTTPS with this certificate and its chain; read again when they change
  LOG_LEVEL      debug, info, warn, error (info)
  PUBLIC_URL     https origin where cardholders' browsers reach this gateway, such as https://pay.example;
                 more of them, by comma, where merchants sign calls of v4 for other addresses
  ACCESS_LIMITS    limits of requests and failures, such as merchant=500 pair=10; see docs/limits.md
  CARDS_FORGET   how long sealed card numbers of ended payments are kept (approved=180d unapproved=1d); off: until
                 npx tollgate cards forget
  TRUSTED_PROXIES  addresses and networks of the proxies in front of it, whose X-Forwarded-For names the client
  MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS  so many are open at most (5000), and of one address that is no
                 trusted proxy (a fifth)
  TOLLGATE_CELLS  the cells that this process serves, such as 0,2 (all); merchants of the others are refused with code 20
  THREE_DS_CONFIG  file that makes it a 3DS Server: directory servers, certificates, the port for results (docs/operating.md)`,
    )
    .action(serve.bind(undefined, terminal))
}

/** Serves until a signal. The process belongs to this gateway: signals and defects end it. */
async function serve(terminal: Terminal): Promise<void> {
  const { env, stdout, clock, random } = terminal
  const config = serveConfig(env)
  const log = openLog({ level: config.logLevel, destination: stdout })
  if (config.kek.from === 'environment')
    log.warn('the key-encryption key is in the environment, where other programs of this user can read it: use TOLLGATE_KEY_FILE')
  if ('directory' in config.cvv2Keys && !config.cvv2Keys.isMemory)
    log.warn(
      { directory: config.cvv2Keys.directory },
      'nothing here can tell whether CVV2_KEY_DIRECTORY is in memory: see that it is',
    )
  if (machineFacts()?.dumpsCore)
    log.warn('this process may write a core dump, with card numbers in it: start it with ulimit -c 0')
  endOnDefect(log)
  keepHeapSmall()
  // Only this command loads it: without the gateway the others answer twice as fast.
  const { startGateway } = await import('../../gateway/start.ts')
  const gateway = await startGateway({
    ...config,
    kek: encryptionBy(config.kek, random),
    hourKeys: hourKeysBy(config.cvv2Keys, clock, random),
    callbackPolicy: { plainHttp: false, loopbackAnyPort: false },
    clock,
    random,
    log,
    steering: false,
    explains: false,
    tuning: usualTuning,
  })
  log.info({ port: gateway.port, operatorPort: gateway.operatorPort }, 'the gateway serves')
  const why = await Promise.race([untilSignal(), gateway.lost.then(() => 'lease lost')])
  log.info({ why }, 'the gateway stops')
  await gateway.stop()
  terminal.exitCode = why === 'lease lost' ? 1 : 0
}
