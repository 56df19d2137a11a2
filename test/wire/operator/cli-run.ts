import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { runTollgate } from '../../../src/cli/run.ts'
import type { World } from '../../harness/world/world.ts'

export const mainFile = fileURLToPath(new URL('../../../src/cli/main.js', import.meta.url))

/** The words of a command as it is typed; a value is one word, whatever is in it. */
export const words = (texts: TemplateStringsArray, ...values: readonly (string | number)[]): string[] =>
  texts.flatMap((piece, at) => [...piece.split(/\s+/).filter(Boolean), ...values.slice(at, at + 1).map(String)])

export interface Ran {
  code: number
  out: string
  err: string
}

/** Runs the command line in this process, with nothing but `env` in its environment. */
export async function run(env: Record<string, string>, args: readonly string[], input = ''): Promise<Ran> {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const printed = Promise.all([text(stdout), text(stderr)])
  const stdin = () => Readable.from([Buffer.from(input)])
  const code = await runTollgate(args, { env, stdin, stdout, stderr, clock: systemClock, random: systemRandom })
  stdout.end()
  stderr.end()
  const [out, err] = await printed
  return { code, out, err }
}

/** Runs it as an operator would, in a process of its own. */
export async function runProgram(env: Record<string, string>, args: readonly string[], input = ''): Promise<Ran> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [mainFile, ...args], { env: { PATH, HOME, ...env }, timeout: 180_000 })
  // A command that refuses its arguments may end before it reads.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, out, err }
}

/**
 * The command line on a world. `tell` returns what it prints, `json` reads it, and `refuse` expects
 * that exit code and returns the complaint.
 */
export function cliOf(world: () => World) {
  const at = (args: readonly string[], input?: string) => run({ TOLLGATE_DIR: world().directory }, args, input)
  const tell = async (args: readonly string[], input?: string): Promise<string> => {
    const ran = await at(args, input)
    assert.equal(ran.code, 0, `tollgate ${args.join(' ')}\n${ran.out}${ran.err}`)
    assert.equal(ran.err, '')
    return ran.out
  }
  return {
    tell,
    async json<T>(...args: string[]): Promise<T> {
      return JSON.parse(await tell([...args, '--json'])) as T
    },
    async refuse(code: number, ...args: string[]): Promise<string> {
      const ran = await at(args)
      assert.equal(ran.code, code, `tollgate ${args.join(' ')}\n${ran.out}${ran.err}`)
      assert.equal(ran.out, '')
      return ran.err
    },
  }
}
