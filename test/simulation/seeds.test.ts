import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runWorld } from '../../simulation/world/world.ts'
import { cellOrders, cellSeeds, cleanOrders, cleanSeeds } from './clean-seeds.ts'

for (let seed = 1; seed <= cleanSeeds; seed++)
  test(`the world of seed ${seed} keeps every promise`, async () => {
    const orders = cleanOrders(seed)
    const { broken } = await runWorld({ seed, orders })
    assert.equal(broken, undefined, `npx tollgate simulate --seed ${seed} --orders ${orders}`)
  })

let moves = 0
for (let seed = 1; seed <= cellSeeds; seed++)
  test(`the world of eight cells of seed ${seed} keeps every promise`, async () => {
    const { broken, moved } = await runWorld({ seed, orders: cellOrders, cells: 8 })
    assert.equal(broken, undefined, `npx tollgate simulate --seed ${seed} --orders ${cellOrders} --cells 8`)
    moves += moved
  })

test('merchants have moved from cell to cell in these worlds', () => {
  assert.ok(moves >= 5 * cellSeeds, `only ${moves} moves`)
})

test('the same seed gives the same time line, to the byte, and another seed another', async () => {
  const lineOf = async (seed: number, cells?: number) => {
    const lines: string[] = []
    await runWorld({ seed, orders: cells ? 10 : 60, cells, trace: (line) => lines.push(line) })
    return lines.join('\n')
  }
  const first = await lineOf(42)
  assert.ok(first.split('\n').length > 1_000, 'the time line is long')
  assert.ok((await lineOf(42)) === first, 'seed 42 twice')
  const ofCells = await lineOf(42, 8)
  assert.ok((await lineOf(42, 8)) === ofCells, 'seed 42 of eight cells twice')
  assert.ok((await lineOf(7, 8)) !== ofCells, 'seeds 42 and 7')
})
