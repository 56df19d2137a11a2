/** For the health check of a container, for systemd and for scripts: no shell and no curl. */
import type { Command } from 'commander'
import { sleep } from '../../base/clock.ts'
import { holdingOpen } from '../../base/hold-open.ts'
import { objectIn } from '../../base/json.ts'
import { reasonOf } from '../../base/log.ts'
import { choice, span } from '../../entity/kinds.ts'
import { apiVariables, consoleVariables, listensAt } from '../../settings/operators.ts'
import { configured, serveVariables } from '../../settings/serve.ts'
import { readVariables, type Environment } from '../../settings/variables.ts'
import { Failure, WrongUsage } from '../failure.ts'
import { reads } from '../rows.ts'
import type { Terminal } from '../terminal.ts'

const programs = ['serve', 'api', 'console'] as const
type Served = (typeof programs)[number]

const answersWithinMs = 3_000
const pauseMs = 200

type Options = { ready?: true; wait?: number }

export function addHealthCommand(program: Command, terminal: Terminal): void {
  program
    .command('health')
    .description('checks whether serve, api or console answers on this machine; the exit code is 0 or 1')
    .argument('[program]', `${programs.join(', ')}; serve if left out`, reads(choice(programs)), 'serve')
    .option('--ready', 'also checks whether serve is ready to take payments')
    .option('--wait <span>', 'asks again until the answer is good, for at most this long', reads(span('1s', '1h')))
    .addHelpText(
      'after',
      `
Give it the environment of the program, from which it knows host and port. One answer may take ${answersWithinMs / 1_000} seconds.

Examples
  npx tollgate health
  npx tollgate health --ready --wait 60s
  CONSOLE_URL=https://10.0.0.5:9444 npx tollgate health console`,
    )
    .action((named: Served, options: Options) => holdingOpen(() => check(terminal, named, options)))
}

async function check({ env, clock, print }: Terminal, named: Served, { ready, wait = 0 }: Options): Promise<void> {
  if (ready && named !== 'serve') throw new WrongUsage('--ready is for serve alone.')
  const url = (named === 'serve' ? operatorOrigin(env) : originOf(named, env)) + (ready ? '/ready' : '/health')
  const word = ready ? 'ready' : 'healthy'
  const endsAt = clock.monotonic() + wait
  for (;;) {
    const wrong = await wrongAt(url, named)
    if (wrong === undefined) return print(`${named} is ${word}.`)
    if (clock.monotonic() >= endsAt) throw new Failure(`${named} is not ${word}: ${wrong}`)
    await sleep(clock, pauseMs)
  }
}

function operatorOrigin(env: Environment): string {
  const { OPERATOR_HOST, OPERATOR_PORT, PORT } = serveVariables
  const read = configured((complaints) => readVariables({ OPERATOR_HOST, OPERATOR_PORT, PORT }, env, complaints))
  const port = read.OPERATOR_PORT ?? (read.PORT && read.PORT + 1_000)
  if (port === 0) throw new WrongUsage('OPERATOR_PORT is missing: serve takes a free port, which cannot be known here.')
  return `http://${reached(read.OPERATOR_HOST)}:${port}`
}

function originOf(named: 'api' | 'console', env: Environment): string {
  const row = named === 'api' ? apiVariables.OPERATOR_API_URL : consoleVariables.CONSOLE_URL
  const name = named === 'api' ? 'OPERATOR_API_URL' : 'CONSOLE_URL'
  const url = configured((complaints) => readVariables({ [name]: row }, env, complaints))[name]!
  const { host, port } = listensAt(url)
  return `${url.protocol}//${reached(host)}:${port}`
}

/** A program that listens on every address listens on this machine's own too. */
function reached(host: string): string {
  const own = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  return own.includes(':') ? `[${own}]` : own
}

/** The console and the API have no page without a sign-in; a refusal shows that they answer. */
async function wrongAt(url: string, named: Served): Promise<string | undefined> {
  const timeouts = { headersTimeout: answersWithinMs, bodyTimeout: answersWithinMs }
  const { Agent, request } = await import('../../http/on-demand.ts')
  // The certificate is for the name that browsers know, and nothing secret is sent.
  const dispatcher = new Agent({ connect: { timeout: answersWithinMs, rejectUnauthorized: false }, ...timeouts })
  try {
    const { statusCode, body } = await request(url, { dispatcher })
    const text = await body.text()
    if (statusCode === 200 || (named !== 'serve' && statusCode < 500)) return undefined
    const { reasons } = objectIn(text) ?? {}
    return Array.isArray(reasons) && reasons.length > 0 ? reasons.join(', ') : `${url} answers ${statusCode}`
  } catch (error) {
    return `${url} does not answer (${reasonOf(error)})`
  } finally {
    await dispatcher.destroy()
  }
}
