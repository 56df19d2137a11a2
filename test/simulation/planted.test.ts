import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planted } from '../../simulation/planted.ts'
import seeds from '../../simulation/planted-seeds.json' with { type: 'json' }
import { runWorld, usualOrders } from '../../simulation/world.ts'
import { cleanSeeds } from './clean-seeds.ts'

const found: Partial<Record<string, { seed: number; invariant: string }>> = seeds

test('there are at least eighty planted bugs, and some are rare', () => {
  assert.ok(planted.length >= 80)
  assert.ok(planted.filter(({ name }) => found[name]!.seed > 1).length >= 3)
})

for (const { name, by = 'a gateway', breaks, wrap } of planted) {
  test(`${by} that would ${name} is found out`, { timeout: 600_000 }, async () => {
    const known = found[name]
    assert.ok(known, 'npm run simulate -- --planted found a seed')
    const { broken } = await runWorld({ seed: known.seed, orders: usualOrders, wrap })
    assert.ok(broken && breaks.includes(broken.invariant), `${broken?.invariant}: ${broken?.why}`)
    // Without the bug nothing breaks.
    if (known.seed > cleanSeeds) assert.equal((await runWorld({ seed: known.seed, orders: usualOrders })).broken, undefined)
  })
}
