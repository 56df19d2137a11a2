import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../../..')

/** Whether this machine has PHP with what the client needs; says so where it has not. */
export function findPhp(): boolean {
  const needed = ['curl', 'json', 'openssl', 'sodium']
  const { status, stdout } = spawnSync('php', ['-r', 'echo implode(" ", get_loaded_extensions());'], { encoding: 'utf8' })
  const missing = status === 0 ? needed.filter((name) => !stdout.split(' ').includes(name)) : []
  if (status === 0 && missing.length === 0) return true
  const what = status === 0 ? `PHP has no ${missing.join(', ')}` : 'PHP was not found'
  console.log(`${what}: client/php is judged by its vectors alone. Debian has php-cli and php-curl.`)
  return false
}

export interface PhpRun {
  code: number
  out: string
  err: string
}

/** Runs a script of the project; `input` comes by standard input. */
export async function runPhp(args: readonly string[], env: Record<string, string> = {}, input?: object): Promise<PhpRun> {
  const own = { PATH: process.env.PATH ?? '', ...env }
  const child = spawn('php', args, { cwd: root, env: own, timeout: 120_000 })
  child.stdin.end(input === undefined ? '' : JSON.stringify(input))
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)))
  return { code, out, err }
}

/** What a scene of scenes.php prints. */
export async function playScene(scene: string, input: object): Promise<string> {
  const { code, out, err } = await runPhp(['test/harness/php/scenes.php', root, scene], {}, input)
  if (code !== 0 || err !== '') throw new Error(`${scene} ended with ${code}:\n${out}${err}`)
  return out
}
