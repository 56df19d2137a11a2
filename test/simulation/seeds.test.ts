import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runWorld, usualOrders } from '../../simulation/world.ts'

const program = fileURLToPath(new URL('../../simulation/program.js', import.meta.url))

/** Every second seed from `from` to 100, in a process of its own; one line each. */
async function everySecond(from: number): Promise<string[]> {
  const args = ['--from', String(from), '--to', '100', '--step', '2']
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'ignore'], timeout: 1_200_000 })
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
  return lines
}

test('a hundred worlds keep every promise', { timeout: 1_200_000 }, async () => {
  const lines = (await Promise.all([everySecond(1), everySecond(2)])).flat()
  assert.equal(lines.length, 100)
  for (const line of lines) assert.ok(!line.includes('"broken":'), `npx tollgate simulate --seed …: ${line}`)
})

test('the same seed gives the same time line, to the byte, and another seed another', { timeout: 600_000 }, async () => {
  const lineOf = async (seed: number) => {
    const lines: string[] = []
    await runWorld({ seed, orders: usualOrders, trace: (line) => lines.push(line) })
    return lines.join('\n')
  }
  const first = await lineOf(42)
  assert.ok(first.split('\n').length > 1_000, 'the time line is long')
  assert.ok((await lineOf(42)) === first, 'seed 42 twice')
  assert.ok((await lineOf(43)) !== first, 'seeds 42 and 43')
})
