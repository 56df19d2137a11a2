import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planted } from '../../simulation/planted.ts'
import seeds from '../../simulation/planted-seeds.json' with { type: 'json' }
import { runWorld, usualOrders } from '../../simulation/world.ts'
import { cleanSeeds } from './clean-seeds.ts'

interface Found {
  seed: number
  orders: number
  invariant: string
}
const found: Partial<Record<string, Found>> = seeds

test('there are at least eighty planted bugs, and some are rare', () => {
  assert.ok(planted.length >= 80)
  assert.ok(planted.filter(({ name }) => found[name]!.orders >= 100).length >= 3)
})

/** The worlds that break nothing without a bug; most bugs are found in one of a few. */
const clean = new Set<string>()

for (const { name, by = 'a gateway', breaks, wrap, cells } of planted) {
  test(`${by} that would ${name} is found out`, { timeout: 600_000 }, async () => {
    const known = found[name]
    assert.ok(known, 'npm run simulate -- --planted found a seed')
    const { seed, orders } = known
    const { broken } = await runWorld({ seed, orders, wrap, cells })
    assert.ok(broken && breaks.includes(broken.invariant), `${broken?.invariant}: ${broken?.why}`)
    const world = JSON.stringify({ seed, orders, cells })
    if ((orders === usualOrders && seed <= cleanSeeds && !cells) || clean.has(world)) return
    assert.equal((await runWorld({ seed, orders, cells })).broken, undefined, 'without the bug nothing breaks')
    clean.add(world)
  })
}
