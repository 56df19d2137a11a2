import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { World } from './world.ts'

/** A gateway run as in production (`serve`), on the database of a world. */
export interface GatewayProcess {
  child: ChildProcess
  /** The world, seen through this gateway. */
  world: World
  output(): string
  stop(): Promise<void>
}

/** What it logs once it serves. */
interface Serving {
  port: number
  operatorPort: number
}

const main = fileURLToPath(new URL('../../../src/cli/main.js', import.meta.url))
const startWithinMs = 120_000

/** The database of the world, by whatever way it is named, for the user of its gateway. */
function asGateway({ databaseUrl, gatewayDatabaseUrl }: Pick<World, 'databaseUrl' | 'gatewayDatabaseUrl'>): string {
  const url = new URL(databaseUrl)
  const { username, password } = new URL(gatewayDatabaseUrl)
  return Object.assign(url, { username, password }).href
}

/**
 * `program` is a test's own, which serves as well; `more` is added to its environment. `keyFile` is
 * passed as a descriptor, TOLLGATE_KEY_FD. `said` gets each line of its log as it comes.
 */
export async function startServe(
  world: World,
  program?: string,
  more: Record<string, string> = {},
  keyFile?: string,
  said: (line: string) => void = () => {},
): Promise<GatewayProcess> {
  const key = readFileSync(join(world.directory, 'keys', 'master.key'), 'utf8').trim()
  const own = { DATABASE_URL: asGateway(world), TOLLGATE_KEY: key, PORT: '0', OPERATOR_PORT: '0', LOG_LEVEL: 'info' }
  // Another file may have made its orders old.
  const byDescriptor = keyFile === undefined ? {} : { TOLLGATE_KEY_FD: '3' }
  const env = { ...process.env, ...own, CARDS_FORGET: 'off', ...byDescriptor, ...more }
  const descriptor = keyFile === undefined ? [] : [openSync(keyFile, 'r')]
  const child = spawn(process.execPath, program === undefined ? [main, 'serve'] : [program], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', ...descriptor],
  })
  descriptor.forEach((one) => closeSync(one))
  let output = ''
  child.stderr!.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const lines = createInterface(child.stdout!)
  const { port, operatorPort } = await new Promise<Serving>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`the gateway did not start:\n${output}`)), startWithinMs)
    child.once('exit', () => {
      clearTimeout(late)
      reject(new Error(`the gateway ended:\n${output}`))
    })
    lines.on('line', (line) => {
      output += `${line}\n`
      said(line)
      const entry: Partial<Serving> & { msg?: string } = line.startsWith('{') ? JSON.parse(line) : {}
      if (entry.msg !== 'the gateway serves') return
      clearTimeout(late)
      resolve(entry as Serving)
    })
  })
  return {
    child,
    world: { ...world, baseUrl: `http://127.0.0.1:${port}/gateway`, operatorUrl: `http://127.0.0.1:${operatorPort}` },
    output: () => output,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
    },
  }
}
