/** The processes that serve operators, with the database user of operators. */
import { constants, setPriority } from 'node:os'
import type { Command } from 'commander'
import { keepHeapSmall } from '../../base/heap.ts'
import { openLog } from '../../base/log.ts'
import { endOnDefect, untilSignal } from '../../base/signals.ts'
import type { Serving, ServingOptions } from '../../operator/serving.ts'
import { encryptionBy } from '../../settings/keys.ts'
import { apiConfig, apiVariables, consoleConfig, consoleVariables } from '../../settings/operators.ts'
import { variablesHelp, type Variables } from '../../settings/variables.ts'
import { whileRestarting } from '../../storage/patience.ts'
import { reportStart } from '../process-start.ts'
import type { Terminal } from '../terminal.ts'

export const addApiCommand = (program: Command, terminal: Terminal): void =>
  addProgram(program, {
    name: 'api',
    does: "starts the JSON API of operators, with the operator's database user",
    about: 'To add a user: npx tollgate user add, then npx tollgate token add. Reference: docs/reference/operator.md',
    variables: apiVariables,
    run: () =>
      serve(terminal, 'the API of operators', apiConfig(terminal.env), async (options) =>
        (await import('../../operator-api/start.ts')).startOperatorApi(options),
      ),
  })

export const addConsoleCommand = (program: Command, terminal: Terminal): void =>
  addProgram(program, {
    name: 'console',
    does: "starts the pages of operators and merchants, with the operator's database user",
    about: `To add a user: npx tollgate user add jane --role owner, then npx tollgate user invite jane, which prints a link that
works once. Users set a password and a second factor themselves.`,
    variables: consoleVariables,
    run() {
      const { origin, sso, ...config } = consoleConfig(terminal.env)
      return serve(terminal, 'the console', config, async (options) =>
        (await import('../../console/start.ts')).startConsole({ ...options, originAt: () => origin, ...(sso && { sso }) }),
      )
    },
  })

interface Served {
  name: string
  does: string
  about: string
  variables: Variables
  run: () => Promise<void>
}

function addProgram(program: Command, { name, does, about, variables, run }: Served): void {
  const help = `\n${about}\n\nEnvironment (more in docs/install.md)\n${variablesHelp(variables)}`
  program.command(name).description(does).addHelpText('after', help).action(run)
}

/** Serves until a signal. Its command alone loads `start`: the others answer sooner without it. */
async function serve(
  { env, stdout, clock, random }: Terminal,
  called: string,
  { logLevel, kek, ...config }: ReturnType<typeof apiConfig>,
  start: (options: ServingOptions) => Promise<Serving>,
): Promise<void> {
  const log = openLog({ level: logLevel, destination: stdout })
  endOnDefect(log)
  keepHeapSmall()
  // Payments go first on a machine that both share.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const policy = { callbackPolicy: { plainHttp: false, loopbackAnyPort: false } }
  const options = { ...config, clock, random, log, ...policy, kek: () => encryptionBy(kek, random) }
  const started = await whileRestarting(() => start(options), { clock, log })
  log.info({ port: started.port }, `${called} serves`)
  const stops = untilSignal()
  reportStart(env, log, stops)
  log.info({ why: await stops }, `${called} stops`)
  await started.stop()
}
