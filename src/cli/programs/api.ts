import type { Command } from 'commander'
import { keepHeapSmall } from '../../base/heap.ts'
import { openLog } from '../../base/log.ts'
import { endOnDefect, untilSignal } from '../../base/signals.ts'
import { apiConfig, apiVariables } from '../../settings/api.ts'
import { encryptionBy } from '../../settings/keys.ts'
import { variablesHelp } from '../../settings/variables.ts'
import { whileRestarting } from '../../storage/patience.ts'
import type { Terminal } from '../terminal.ts'

export function addApiCommand(program: Command, terminal: Terminal): void {
  program
    .command('api')
    .description("the JSON API of operators, with the operator's database user")
    .addHelpText(
      'after',
      `
Who may use it: npx tollgate user add, npx tollgate token add. What it can do: docs/reference/operator.md

Environment (more in docs/install.md)
${variablesHelp(apiVariables)}`,
    )
    .action(() => api(terminal))
}

/** Serves until a signal. */
async function api(terminal: Terminal): Promise<void> {
  const { env, stdout, clock, random } = terminal
  const { logLevel, kek, ...config } = apiConfig(env)
  const log = openLog({ level: logLevel, destination: stdout })
  endOnDefect(log)
  keepHeapSmall()
  // Only this command loads it: the others answer sooner without it.
  const { startOperatorApi } = await import('../../operator-api/start.ts')
  const ground = { clock, random, log }
  const policy = { callbackPolicy: { plainHttp: false, loopbackAnyPort: false } }
  const options = { ...config, ...ground, ...policy, kek: () => encryptionBy(kek, random) }
  const started = await whileRestarting(() => startOperatorApi(options), { clock, log })
  log.info({ port: started.port }, 'the API of operators serves')
  log.info({ why: await untilSignal() }, 'the API of operators stops')
  await started.stop()
}
