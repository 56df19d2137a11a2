import type { Order } from './order.ts'

export const authenticationKey = (threeDSServerTransId: string): string => `3ds:${threeDSServerTransId}`
export const pageKey = (pageToken: string): string => `page:${pageToken}`

/** Keys that find the order without its merchant: of a new authentication, and of its page. */
export const newKeys = (before: Order | undefined, after: Order): string[] =>
  after.transactions.flatMap((t, i) => {
    const old = before?.transactions[i]
    if (t === old) return []
    const ids = t.authentication
    if (ids === undefined || ids.threeDSServerTransId === old?.authentication?.threeDSServerTransId) return []
    return [authenticationKey(ids.threeDSServerTransId), pageKey(ids.pageToken)]
  })
