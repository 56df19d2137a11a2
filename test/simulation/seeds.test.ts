import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runWorld, usualOrders } from '../../simulation/world.ts'
import { cleanSeeds } from './clean-seeds.ts'

for (let seed = 1; seed <= cleanSeeds; seed++)
  test(`the world of seed ${seed} keeps every promise`, { timeout: 600_000 }, async () => {
    const { broken } = await runWorld({ seed, orders: usualOrders })
    assert.equal(broken, undefined, `npx tollgate simulate --seed ${seed}`)
  })

test('the same seed gives the same time line, to the byte, and another seed another', { timeout: 600_000 }, async () => {
  const lineOf = async (seed: number) => {
    const lines: string[] = []
    await runWorld({ seed, orders: 100, trace: (line) => lines.push(line) })
    return lines.join('\n')
  }
  const first = await lineOf(42)
  assert.ok(first.split('\n').length > 1_000, 'the time line is long')
  assert.ok((await lineOf(42)) === first, 'seed 42 twice')
  assert.ok((await lineOf(43)) !== first, 'seeds 42 and 43')
})
