import { Command } from 'commander'
import { systemClock } from '../base/clock.ts'
import { openLog, reasonOf } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { endOnDefect, untilSignal } from '../base/signals.ts'
import { Refused } from '../operator/refused.ts'
import { migrate } from '../storage/migrate.ts'
import { openPool } from '../storage/pool.ts'
import { addAcquirerCommands } from './commands/acquirer.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addBinCommands } from './commands/bin.ts'
import { addDeliveryCommands } from './commands/delivery.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEndpointCommands } from './commands/endpoint.ts'
import { addFilterCommands } from './commands/filter.ts'
import { addGateCommands } from './commands/gate.ts'
import { addGroupCommands } from './commands/group.ts'
import { addMerchantServerCommand } from './commands/merchant-server.ts'
import { addMerchantCommands } from './commands/merchant.ts'
import { WrongUsage } from './commands/failure.ts'
import { addInvoiceCommands } from './commands/invoice.ts'
import { addOrderCommands } from './commands/order.ts'
import { failureOf } from './commands/refusals.ts'
import { addSignCommand } from './commands/sign.ts'
import { addSimulateCommand } from './commands/simulate.ts'
import { ConfigError, sandboxConfig, serveConfig } from './config.ts'
import { usualTuning } from '../gateway/tuning.ts'

// The gateway is loaded by the commands that run it: the others answer twice as fast without it.
const program = new Command('tollgate')
  .description('An open, self-hosted card payment gateway.')
  .configureHelp({ sortSubcommands: false })
  .showHelpAfterError('(add --help for what there is)')
  .showSuggestionAfterError()
  // Wrong usage ends with 2, what could not be done with 1.
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .addHelpText(
    'after',
    `
The commands from merchant on work on the running sandbox of TOLLGATE_DIR or ./.tollgate, or on the installation of
DATABASE_URL and TOLLGATE_KEY. Each has --help with examples, and --json for machines.
They end with 0 when done, 1 when not, 2 on wrong usage.`,
  )

program
  .command('sandbox')
  .description('everything on this machine, offline: gateway, database, a simulated card world, a shop')
  .addHelpText(
    'after',
    `
Environment
  PORT           of the gateway (8080; 0 takes a free one); the other parts take free ports
  TOLLGATE_DIR   where data, keys and sandbox.json are kept (./.tollgate)
  DATABASE_URL   use this PostgreSQL 15 or newer instead of the embedded one

Examples
  npm start
  PORT=8090 TOLLGATE_DIR=/tmp/second npx tollgate sandbox`,
  )
  .action(async () => {
    const config = sandboxConfig(process.env)
    const { runSandbox } = await import('../sandbox/run.ts')
    await runSandbox(process.env, config)
  })

program
  .command('serve')
  .description('the gateway alone, configured by the environment')
  .addHelpText(
    'after',
    `
Environment
  DATABASE_URL   PostgreSQL 15 or newer, migrated (npx tollgate migrate)
  TOLLGATE_KEY   the key-encryption key: 32 bytes in base64
  HOST, PORT     where to listen (127.0.0.1, 8080)
  LOG_LEVEL      debug, info, warn, error (info)
  PUBLIC_URL     https origin where cardholders' browsers reach this gateway, such as https://pay.example;
                 more of them, by comma, where merchants sign calls of v4 for other addresses
  TRUSTED_PROXIES  addresses and networks of the proxies in front of it, whose X-Forwarded-For names the client
  THREE_DS_CONFIG  file that makes it a 3DS Server: directory servers, certificates, the port for results (docs/operating.md)`,
  )
  .action(async () => {
    const config = serveConfig(process.env)
    const log = openLog({ level: config.logLevel, destination: process.stdout })
    endOnDefect(log)
    const { startGateway } = await import('../gateway/start.ts')
    const gateway = await startGateway({
      ...config,
      callbackPolicy: { plainHttp: false, loopbackAnyPort: false },
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
  })

program
  .command('migrate')
  .description('brings the database of DATABASE_URL to this version')
  .action(async () => {
    const url = process.env.DATABASE_URL
    if (!url) throw new ConfigError(['DATABASE_URL is missing: the PostgreSQL to migrate'])
    const log = openLog({ level: process.env.LOG_LEVEL ?? 'warn', destination: process.stderr })
    const pool = openPool({ url, connections: 2, use: 'admin', log })
    try {
      const applied = await migrate(pool, systemClock.now(), log)
      console.log(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
    } finally {
      await pool.close()
    }
  })

for (const add of [
  addMerchantCommands,
  addEndpointCommands,
  addGroupCommands,
  addGateCommands,
  addFilterCommands,
  addOrderCommands,
  addInvoiceCommands,
  addBinCommands,
  addDeliveryCommands,
  addDoctorCommand,
  addAuditCommands,
  addAcquirerCommands,
  addSignCommand,
  addMerchantServerCommand,
  addSimulateCommand,
])
  add(program)

program.parseAsync().catch((thrown) => {
  const error: unknown = thrown instanceof Refused ? failureOf(thrown.refusal) : thrown
  if (error instanceof ConfigError) console.error(`Cannot start:\n${error.complaints.map((c) => `  - ${c}`).join('\n')}`)
  else console.error(reasonOf(error))
  process.exit(error instanceof ConfigError || error instanceof WrongUsage ? 2 : 1)
})
