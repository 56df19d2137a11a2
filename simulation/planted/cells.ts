import type { Merchant } from '../../src/merchant/merchant.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import type { Wraps } from '../world/gateway-parts.ts'
import { IdBlocks } from '../model/id-blocks.ts'
import type { Planted } from './planting.ts'
import type { StoreModel } from '../model/store-model.ts'

/** Bugs around cells and merchants that move between them. */

const inCells = (change: (cell: StoreModel) => void): Wraps => ({ model: change })

/** Leads to a cell that the process serves, wherever the merchant is. */
const leadToOwnCell: Wraps = {
  registry(registry, serves) {
    const led = (merchant: Merchant): Merchant =>
      serves.has(merchant.cellNo) ? merchant : { ...merchant, cellNo: Math.min(...serves) }
    return {
      ...registry,
      merchant(id) {
        const merchant = registry.merchant(id)
        return merchant && led(merchant)
      },
      entry(id, group) {
        const entry = registry.entry(id, group)
        return entry && { ...entry, merchant: led(entry.merchant) }
      },
    }
  },
}

// oxfmt-ignore
const bugs: readonly Planted[] = [
  { name: 'put no fence around the cell that a merchant leaves', breaks: ['a merchant is in one cell'], wrap:
    inCells(({ fence }) => Object.assign(fence, { demand: () => {} })) },
  { name: 'move a merchant while a step of it still runs', breaks: ['a duty is done once at a time'], wrap:
    inCells(({ fence }) => {
      const close = fence.close.bind(fence)
      fence.close = (merchantId) => close(merchantId)
    }) },
  { name: 'move a merchant while a message to it is sent', breaks: ['a duty is done once at a time'], wrap:
    inCells(({ deliveries }) => Object.assign(deliveries, { leasedOf: () => [] })) },
  { name: 'copy an order of a merchant that moves once, whatever is changed later', breaks: ['every order ends', 'a final status stays', 'the books are equal', 'no decision is lost'], wrap:
    inCells((cell) => {
      const put = cell.put.bind(cell)
      cell.put = (order, ...more) => cell.orders.has(orderKeyText(order)) || put(order, ...more)
    }) },
  { name: 'forget the messages of a merchant that moves', breaks: ['every outcome is reported'], wrap:
    inCells(({ deliveries }) => Object.assign(deliveries, { copyOf: () => [] })) },
  { name: 'write on after another command has taken the move over', breaks: ['an acknowledged order exists', 'a merchant is in one cell'], wrap:
    inCells(({ movers }) => Object.assign(movers, { is: () => true })) },
  { name: 'answer a result in the pause as if it was stored', breaks: ['a confirmed result counts'], wrap: {
    results: (results) => ({
      ...results,
      async result(message) {
        const verdict = await results.result(message)
        return verdict.is === 'failed' ? { is: 'accepted' } : verdict
      },
    }) } },
  { name: 'forget the nonces of a merchant that moves', breaks: ['a nonce is good once'], wrap:
    inCells(({ nonces }) => Object.assign(nonces, { ofMerchant: () => new Set() })) },
  { name: 'forget the Idempotency-Keys of a merchant that moves', breaks: ['a request is done once', 'a key names one request', 'the same request has the same answer'], wrap:
    inCells(({ idempotency }) => Object.assign(idempotency, { ofMerchant: () => [] })) },
  { name: 'lead a request to a cell that it serves, wherever the merchant is', breaks: ['a merchant is in one cell'], wrap: leadToOwnCell },
  { name: 'draw the ids of two cells from the same block', breaks: ['an id is drawn once', 'names are used once'], wrap:
    inCells((cell) => {
      const own = new IdBlocks()
      cell.reserve = (name, count) => own.reserve(name, count)
    }) },
]

export const plantedInCells: readonly Planted[] = bugs.map((bug) => ({ ...bug, cells: 8 }))
