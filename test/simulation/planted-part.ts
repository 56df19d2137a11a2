import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { planted } from '../../simulation/planted/planted.ts'
import type { Planted } from '../../simulation/planted/planting.ts'
import { found, searchedDigest } from '../../simulation/planted/search.ts'
import { runWorld } from '../../simulation/world/world.ts'
import { simulatedDigest } from '../../tools/simulated.ts'
import { cleanOrders, cleanSeeds } from './clean-seeds.ts'

const parts = 4
/**
 * Tests a part of the planted bugs. They are run only if any code that the simulation runs has
 * changed since all of them were found.
 */
export function testPlanted(part: 1 | 2 | 3 | 4): void {
  const partOf = partsOfWorlds()
  const bugs = planted.filter((bug) => partOf.get(worldOf(bug)) === part - 1)
  if (simulatedDigest(join(import.meta.dirname, '../../..')) !== searchedDigest) bugs.forEach(testBug)
  else
    test(`${bugs.length} planted bugs were found out in exactly this code, and are not run again`, () => {
      for (const { name, breaks } of bugs) assert.ok((breaks as readonly string[]).includes(found[name]!.invariant), name)
    })
}

const worldOf = ({ name, cells }: Planted): string => JSON.stringify({ ...found[name], invariant: undefined, cells })

/**
 * Bugs with the same world are in the same part. The largest worlds come first, each where there
 * is least.
 */
function partsOfWorlds(): Map<string, number> {
  const orders = new Map<string, number>()
  for (const bug of planted) orders.set(worldOf(bug), (orders.get(worldOf(bug)) ?? 0) + (found[bug.name]?.orders ?? 0))
  const sums = Array.from({ length: parts }, () => 0)
  const partOf = new Map<string, number>()
  for (const [world, count] of [...orders].toSorted(([, one], [, other]) => other - one)) {
    const part = sums.indexOf(Math.min(...sums))
    sums[part]! += count
    partOf.set(world, part)
  }
  return partOf
}

/** The worlds in which nothing breaks without a bug; most bugs are found in one of a few. */
const clean = new Set<string>()

function testBug(bug: Planted): void {
  const { name, by = 'a gateway', breaks, wrap, cells } = bug
  test(`${by} that would ${name} is found out`, async () => {
    const known = found[name]
    assert.ok(known, 'npm run simulate -- --planted found a seed')
    const { seed, orders } = known
    const { broken } = await runWorld({ seed, orders, wrap, cells })
    assert.ok(broken && breaks.includes(broken.invariant), `${broken?.invariant}: ${broken?.why}`)
    if ((seed <= cleanSeeds && orders === cleanOrders(seed) && !cells) || clean.has(worldOf(bug))) return
    assert.equal((await runWorld({ seed, orders, cells })).broken, undefined, 'without the bug nothing breaks')
    clean.add(worldOf(bug))
  })
}
