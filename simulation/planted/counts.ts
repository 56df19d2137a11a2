import type { OrderTables } from '../../src/order/store/store.ts'
import { inOrders, inTables, stepByStep, type Planted } from './planting.ts'

/** Counts what was decided, whether it was saved or another process was there before. */
const countDecisions = inTables((tables) => {
  let decided: Parameters<OrderTables['save']>[0] = []
  return {
    save: (changes, lease) => tables.save((decided = changes), lease),
    count: (_saved, processId) => tables.count(decided, processId),
  }
})

/** Counts in a commit of its own, after that of the orders. */
const countLater = inOrders((orders) => ({
  ...stepByStep,
  async transaction(body) {
    const later: Parameters<OrderTables['count']>[] = []
    const count: OrderTables['count'] = (...ended) => Promise.resolve(void later.push(ended))
    const result = await orders.transaction((tables) => body({ ...tables, count }))
    for (const ended of later) await orders.transaction((tables) => tables.count(...ended))
    return result
  },
}))

// oxfmt-ignore
export const plantedInCounts: readonly Planted[] = [
  { name: 'count what another process decided', breaks: ['counts are what is stored'], wrap: countDecisions },
  { name: 'count in a commit of its own', breaks: ['counts are what is stored'], wrap: countLater },
]
