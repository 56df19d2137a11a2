import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
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

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
const startWithinMs = 120_000

/** `program` is a test's own, which serves as well. */
export async function startServe(world: World, program?: string): Promise<GatewayProcess> {
  const key = readFileSync(join(world.directory, 'keys', 'master.key'), 'utf8').trim()
  const env = { ...process.env, DATABASE_URL: world.databaseUrl, TOLLGATE_KEY: key, PORT: '0', LOG_LEVEL: 'info' }
  const child = spawn(process.execPath, program === undefined ? [main, 'serve'] : [program], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const lines = createInterface(child.stdout)
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the gateway ended:\n${output}`)))
    const late = setTimeout(() => reject(new Error(`the gateway did not start:\n${output}`)), startWithinMs)
    lines.on('line', (line) => {
      output += `${line}\n`
      const said: { msg?: string; port?: number } = line.startsWith('{') ? JSON.parse(line) : {}
      if (said.msg !== 'the gateway serves' || said.port === undefined) return
      clearTimeout(late)
      resolve(said.port)
    })
  })
  return {
    child,
    world: { ...world, baseUrl: `http://127.0.0.1:${port}/gateway` },
    output: () => output,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
    },
  }
}
