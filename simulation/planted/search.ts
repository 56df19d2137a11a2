import noted from './seeds.json' with { type: 'json' }
import type { Planted } from './planting.ts'
import { runWorld, usualOrders } from '../world/world.ts'

/** A world in which a planted bug was found out; nothing breaks in it without the bug. */
export interface Found {
  seed: number
  orders: number
  /** The first broken promise. */
  invariant: string
}

export const found: Partial<Record<string, Found>> = noted.found

/** The digest of the code that was searched (tools/simulated.ts); empty if a bug was not found. */
export const searchedDigest: string = noted.digest

/** Sizes of the worlds to search for a planted bug, and how many worlds of each to try. */
const searched = [
  { size: 20, seeds: 10 },
  { size: 50, seeds: 20 },
  { size: 100, seeds: 30 },
  { size: usualOrders, seeds: 500 },
]

/** Whether the worlds that were tried without a bug, as JSON, broke nothing. */
const clean = new Map<string, boolean>()

/**
 * Looks for a world in which a planted bug breaks one of its invariants, and nothing breaks without
 * it. The world that is noted comes first, then small ones, because a run of the tests after a
 * change repeats the world found here.
 */
export async function search({ name, breaks, wrap, cells }: Planted): Promise<Found | undefined> {
  const known = found[name]
  for (const { seed, orders } of [...(known ? [known] : []), ...worlds()]) {
    const { broken } = await runWorld({ seed, orders, cells, wrap })
    if (broken && breaks.includes(broken.invariant) && (await isClean({ seed, orders, cells })))
      return { seed, orders, invariant: broken.invariant }
  }
  return undefined
}

function* worlds() {
  for (const { size: orders, seeds } of searched) for (let seed = 1; seed <= seeds; seed++) yield { seed, orders }
}

async function isClean(world: { seed: number; orders: number; cells: number | undefined }): Promise<boolean> {
  const key = JSON.stringify(world)
  if (!clean.has(key)) clean.set(key, (await runWorld(world)).broken === undefined)
  return clean.get(key)!
}
