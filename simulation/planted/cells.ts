import type { Merchant } from '../../src/merchant/merchant.ts'
import type { Wraps } from '../world/gateway-parts.ts'
import { IdBlocks } from '../model/id-blocks.ts'
import type { Planted } from './planting.ts'
import type { StoreModel } from '../model/store-model.ts'

/** Bugs around cells and merchants that move between them. */

const inCells = (change: (cell: StoreModel) => void): Wraps => ({ model: change })

/** A save does not ask the fence: an outcome that comes late is stored in the old cell. */
const saveBehindTheFence = inCells(({ fence }) => {
  const admit = fence.admit.bind(fence)
  fence.admit = (...asked) => {
    admit(...asked)
    return undefined
  }
})

/** A save that is let in, and committed once the fence has closed, leaves no note. */
const noteInsideTheFence = inCells(({ fence }) => {
  fence.takesNotes = (merchantId) => fence.rows.get(merchantId)?.state === 'leaving'
})

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
  { name: 'save a late outcome in the cell that its merchant has left', breaks: ['a merchant is in one cell'], wrap: saveBehindTheFence },
  { name: 'forget the nonces of a merchant that moves', breaks: ['a nonce is good once'], wrap:
    inCells(({ nonces }) => Object.assign(nonces, { ofMerchant: () => new Set() })) },
  { name: 'forget the Idempotency-Keys of a merchant that moves', breaks: ['a request is done once', 'a key names one request', 'the same request has the same answer'], wrap:
    inCells(({ idempotency }) => Object.assign(idempotency, { ofMerchant: () => [] })) },
  { name: 'copy nothing again that was changed during the copy', breaks: ['every order ends', 'an acknowledged order exists', 'an attempt is recorded before it is sent', 'a final status stays', 'the books are equal', 'no decision is lost'], wrap:
    inCells(({ fence: { notes } }) => Object.assign(notes, { add: () => notes })) },
  { name: 'note no change that is committed once the fence has closed', breaks: ['every order ends', 'an acknowledged order exists', 'an attempt is recorded before it is sent', 'a final status stays', 'the books are equal', 'no decision is lost'], wrap:
    noteInsideTheFence },
  { name: 'take up in the new cell what it still does over the old one', breaks: ['a duty is done once at a time'], wrap: {
    neighbours: (own) => ({ ...own, others: () => [] }) } },
  { name: 'lead a request to a cell that it serves, wherever the merchant is', breaks: ['a merchant is in one cell'], wrap: leadToOwnCell },
  { name: 'draw the ids of two cells from the same block', breaks: ['an id is drawn once', 'names are used once'], wrap:
    inCells((cell) => {
      const own = new IdBlocks()
      cell.reserve = (name, count) => own.reserve(name, count)
    }) },
]

export const plantedInCells: readonly Planted[] = bugs.map((bug) => ({ ...bug, cells: 8 }))
