import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planted } from '../../simulation/planted.ts'
import seeds from '../../simulation/planted-seeds.json' with { type: 'json' }
import { runWorld, usualOrders } from '../../simulation/world.ts'

const found: Partial<Record<string, { seed: number; invariant: string }>> = seeds

test('there are at least twelve planted bugs', () => {
  assert.ok(planted.length >= 12)
})

for (const { name, breaks, wrap } of planted) {
  test(`a gateway that would ${name} is found out`, { timeout: 60_000 }, async () => {
    const known = found[name]
    assert.ok(known, 'npm run simulate -- --planted found a seed')
    const { broken } = await runWorld({ seed: known.seed, orders: usualOrders, wrap })
    assert.ok(broken && breaks.includes(broken.invariant), `${broken?.invariant}: ${broken?.why}`)
    assert.equal((await runWorld({ seed: known.seed, orders: usualOrders })).broken, undefined, 'without the bug nothing breaks')
  })
}
