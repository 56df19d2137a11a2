/** Orders that were copied from templates, as it goes to the load process (multiply.ts). */
export interface StoredOrders {
  /** One for each template: its place within a copy, and the endpoint of its payment. */
  templates: readonly { offset: number; endpoint: string }[]
  /** Ids from the first order of a copy to that of the next. */
  span: number
  /** Copies that follow each other, from this id. */
  blocks: readonly { first: number; copies: number }[]
}

/** The name of a copied order, by its id; the database puts it together in the same way. */
export const storedName = 'long-'

export const storedCount = ({ templates, blocks }: StoredOrders): number =>
  templates.length * blocks.reduce((sum, { copies }) => sum + copies, 0)

/** The order at a place from 0 up to their count, in the order of their ids. */
export function storedOrder({ templates, span, blocks }: StoredOrders, place: number) {
  let copy = Math.floor(place / templates.length)
  const { offset, endpoint } = templates[place % templates.length]!
  for (const { first, copies } of blocks) {
    if (copy < copies) {
      const orderid = String(first + copy * span + offset)
      return { orderid, clientOrderid: storedName + orderid, endpoint }
    }
    copy -= copies
  }
  throw new Error(`There is no stored order at place ${place}.`)
}
