import { statusOf, statusOfState, type Order } from '../../src/order/decide/order.ts'
import { finalStatuses, kindWords, type Status } from '../../src/spec/words.ts'
import type { Breaks } from './invariant.ts'
import type { Callback } from '../parties/merchants.ts'

/** Watches the stored, shown and reported status of each order: a final one never changes. */
export interface Statuses {
  committed(order: Order): void
  /** A status reply showed this status. */
  shown(orderId: bigint, status: string): void
  /** A callback reached a merchant. */
  calledBack(callback: Callback): void
}

export function watchStatuses(orderOf: (orderId: bigint) => Order | undefined, breaks: Breaks): Statuses {
  const statuses = new Map<bigint, string>()
  const isFinal = (status: string) => finalStatuses.has(status as Status)

  function seen(orderId: bigint, status: string, where: string): void {
    const before = statuses.get(orderId)
    if (before !== undefined && before !== status && isFinal(before))
      breaks('a final status stays', `order ${orderId} was ${before} and is ${status} in ${where}`)
    if (before === undefined || isFinal(status)) statuses.set(orderId, status)
  }

  return {
    committed(order) {
      const status = statusOf(order)
      if (isFinal(status) || statuses.has(order.orderId)) seen(order.orderId, status, 'the store')
    },
    shown(orderId, status) {
      if (isFinal(status)) seen(orderId, status, 'a status reply')
    },
    calledBack({ orderId, status, url, type }) {
      const order = orderOf(BigInt(orderId || '0'))
      const about = order?.transactions.filter((t) => t.origin === 'request' && kindWords[t.kind].callbackType === type)
      if (!order || !about?.some((t) => statusOfState(t.state) === status))
        breaks('a final status stays', `${url} was sent ${status} of the ${type} of order ${orderId}`)
      else if (about[0]!.no === 1) seen(order.orderId, status, 'a callback')
    },
  }
}
