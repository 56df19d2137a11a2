import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { World } from '../harness/world.ts'

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

export interface Ran {
  code: number
  out: string
  err: string
}

/** Runs the command line as an operator would, in a process of its own with nothing of ours in its environment. */
export async function run(env: Record<string, string>, args: readonly string[], input = ''): Promise<Ran> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 180_000,
  })
  let out = ''
  let err = ''
  // Of one letter the bytes may come apart.
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  // A command that is refused by its arguments may be over before it reads.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)))
  return { code, out, err }
}

/** The command line on a world: `tell` gives what it prints, `json` reads it, `refuse` wants it to end with that code and gives the complaint. */
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
