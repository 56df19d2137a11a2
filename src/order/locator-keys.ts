import type { Order } from './order.ts'
import { leadsToOrder } from './receipt.ts'

export const receiptKey = (receiptId: string): string => `receipt:${receiptId}`
export const authenticationKey = (threeDSServerTransId: string): string => `3ds:${threeDSServerTransId}`
export const pageKey = (pageToken: string): string => `page:${pageToken}`

/**
 * Keys that find the order without its merchant: the keys of a new authentication, of its page, and
 * of a receipt whose id does not lead to its order.
 */
export const newKeys = (before: Order | undefined, after: Order): string[] =>
  after.transactions.flatMap((t, i) => {
    const old = before?.transactions[i]
    if (t === old) return []
    const { receiptId } = t.result
    const ids = t.authentication
    return [
      ...(receiptId === undefined || receiptId === old?.result.receiptId || leadsToOrder(receiptId)
        ? []
        : [receiptKey(receiptId)]),
      ...(ids === undefined || ids.threeDSServerTransId === old?.authentication?.threeDSServerTransId
        ? []
        : [authenticationKey(ids.threeDSServerTransId), pageKey(ids.pageToken)]),
    ]
  })
