import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { byTurns, turnsText } from './by-turns.ts'
import { carryUnmeasured, warm, type Carried } from '../figures/levels.ts'
import { childrenOf } from '../figures/proc.ts'
import { endedWell, openRun } from '../run.ts'
import { sale } from './sale.ts'
import { freePort } from './start.ts'
import { ownEnvironment, servingOn, type Gateway, type Sandbox } from '../sandbox.ts'
import type { ByName } from '../wishes.ts'

const levels = [1, 32, 256] as const

/**
 * Both gateways and the sandbox's own process run in all rounds; while they are asked for nothing
 * they sweep and renew their leases.
 */
export const twoProcesses: ByName = {
  name: 'two-processes',
  means: `sale with ${levels.join(', ')} in flight at a gateway of one process, and at one of two on one port, by turns`,
  async run(wishes, output, started) {
    const { run, carried } = await openRun(sale, wishes, output, started)
    const { sandbox } = carried
    output.progress.say('Starting gateways of one process and of two on its database')
    const alone = await started.keep(startSecondGateway(sandbox))
    const pair = await started.keep(startSecondGateway(sandbox, { PROCESSES: '2', PORT: String(await freePort()) }))
    output.people(`${twoProcesses.name}: ${twoProcesses.means}; ${wishes.measureMs / 1_000} s each\n`)
    const { site } = sandbox
    const at = ({ gatewayOrigin }: Gateway): Carried => ({
      ...carried,
      sandbox: {
        ...sandbox,
        others: [alone, pair],
        site: { ...site, baseUrl: gatewayOrigin + new URL(site.baseUrl).pathname },
      },
    })
    const sides = [
      { name: 'one process', carried: at(alone) },
      { name: 'two processes', carried: at(pair) },
    ] as const
    const warmUp = wishes.warmUp ?? sale.warmUp
    await warm(run, sides[0].carried, warmUp)
    if (warmUp > 0) await carryUnmeasured(run, sides[1].carried, 2 * warmUp)
    for (const inFlight of levels) {
      const turns = await byTurns(run, twoProcesses.name, sides, inFlight)
      const { means, ratio } = turns
      output.people(`\n${turnsText(`${inFlight} in flight, sales/s`, turns, ['one process', 'two processes'])}\n`)
      output.lines({
        bench: twoProcesses.name,
        in_flight: inFlight,
        one_sales_per_s: means[0],
        two_sales_per_s: means[1],
        ratio,
        one_rounds: turns.rates[0],
        two_rounds: turns.rates[1],
      })
    }
    return endedWell(twoProcesses.name, [carried], output)
  },
}

const startWithinMs = 60_000

/** `settings` are those of `serve`. */
export async function startSecondGateway(
  sandbox: Sandbox,
  settings: Readonly<Record<string, string>> = {},
): Promise<Gateway & { stop(): Promise<void> }> {
  const log = openSync(join(sandbox.directory, 'log', 'second-gateway.log'), 'a')
  const child = fork(fileURLToPath(new URL('./second-gateway.js', import.meta.url)), {
    // Another port than the sandbox's: on the same one it would take the other's place.
    env: { ...ownEnvironment(), ...servingOn(sandbox), PORT: '0', OPERATOR_PORT: '0', ...settings },
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
  })
  closeSync(log)
  const gone = once(child, 'exit')
  const failed = gone.then(() => {
    throw new Error(`The second gateway process ended; ${join(sandbox.directory, 'log', 'second-gateway.log')} says why.`)
  })
  failed.catch(() => {})
  const stop = async () => {
    child.kill('SIGTERM')
    await gone
  }
  try {
    const served = once(child, 'message', { signal: AbortSignal.timeout(startWithinMs) })
    const [ports] = (await Promise.race([served, failed])) as [{ port: number; operatorPort: number }]
    const at = (port: number, scheme = 'http') => `${scheme}://127.0.0.1:${port}`
    return {
      pid: child.pid!,
      children: childrenOf(child.pid!),
      gatewayOrigin: at(ports.port, settings['TLS_CERT_FILE'] ? 'https' : 'http'),
      operatorUrl: at(ports.operatorPort),
      stop,
    }
  } catch (thrown) {
    child.kill('SIGKILL')
    throw thrown
  }
}
