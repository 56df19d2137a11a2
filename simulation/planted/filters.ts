import { digestVersion } from '../../src/keys/digest.ts'
import { inOrders, inTables, stepByStep, type Planted } from './planting.ts'

/** Reads the used part of a limit without its lock, so that two batches may see the same. */
const countWithoutALock = inOrders((orders) => ({
  ...stepByStep,
  transaction: (body) =>
    orders.transaction((tables) =>
      body({ ...tables, lockCounts: (places) => orders.transaction((others) => others.lockCounts(places)) }),
    ),
}))

const forgetToCount = inTables(() => ({ saveCounts: () => Promise.resolve() }))

/** Never writes a row with a smaller count than before. */
const forgetToGiveBack = inTables((tables) => {
  const had = new Map<string, number>()
  const keyOf = ({ filterNo, key }: { filterNo: number; key: string }) => `${filterNo}/${key}`
  const ordersIn = (buckets: readonly (readonly [number, number, string])[]) =>
    buckets.reduce((sum, [, orders]) => sum + orders, 0)
  return {
    async lockCounts(places) {
      const rows = await tables.lockCounts(places)
      for (const row of rows) had.set(keyOf(row), ordersIn(row.buckets))
      return rows
    },
    saveCounts: (rows) => tables.saveCounts(rows.filter((row) => ordersIn(row.buckets) >= (had.get(keyOf(row)) ?? 0))),
  }
})

/** A rotation starts every limit again. */
const countUnderTheNewestKey = inTables((tables) => ({
  async lockCounts(places) {
    const rows = await tables.lockCounts(places)
    const versionOf = ({ key }: { key: string }) => digestVersion(Buffer.from(key, 'base64url'))
    const newest = rows.map(versionOf).reduce((a, b) => (b > a ? b : a), 1n)
    return rows.map((row) => (versionOf(row) === newest ? row : { ...row, buckets: [] }))
  },
}))

const exceeded = 'limits are never exceeded'

// oxfmt-ignore
export const plantedInFilters: readonly Planted[] = [
  { name: 'read what is used of a limit without its lock', breaks: [exceeded, 'a limit refuses only what it must'], wrap: countWithoutALock },
  { name: 'forget to count what was let through', breaks: [exceeded], wrap: forgetToCount },
  { name: 'forget to give back what was refused', breaks: ['a limit refuses only what it must'], wrap: forgetToGiveBack },
  { name: 'count a limit under the newest key of digests alone', breaks: [exceeded], wrap: countUnderTheNewestKey },
]
