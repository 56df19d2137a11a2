import type { Order } from '../../src/order/decide/order.ts'
import { epochMs, farthestJumpMs } from '../world/clock.ts'
import type { Breaks } from './invariant.ts'

/** Watches that no payment waits for the method of a hosted page beyond its time limit. */
export interface HostedPages {
  /** A page began the method. The gateway waits for it until `until`, or not at all. */
  begun(orderId: bigint, until: number | undefined): void
  committed(order: Order): void
}

export function watchHostedPages(
  orderOf: (orderId: bigint) => Order | undefined,
  breaks: Breaks,
  now: () => number,
): HostedPages {
  /** When the wait ends, by threeDSServerTransID. */
  const waitsUntil = new Map<string, number>()
  return {
    begun(orderId, until) {
      const { state, authentication } = orderOf(orderId)?.transactions[0] ?? {}
      if (until === undefined && state === 'awaiting method' && authentication?.methodUntil === undefined)
        breaks('a hosted page does not hold the payment up', `order ${orderId} does not wait for its page alone`)
    },
    committed({ orderId, transactions }) {
      const { state, authentication, dueAt } = transactions[0]!
      if (state !== 'awaiting method' || authentication?.methodUntil === undefined) return
      const { methodUntil, threeDSServerTransId } = authentication
      const until = waitsUntil.get(threeDSServerTransId) ?? methodUntil
      waitsUntil.set(threeDSServerTransId, until)
      // A step that is committed after its time limit is due now, by the clock of the process that
      // decided it.
      const latest = Math.max(until, epochMs + now() + farthestJumpMs)
      if (methodUntil !== until || dueAt === undefined || dueAt > latest)
        breaks('a hosted page does not hold the payment up', `order ${orderId} waits until ${dueAt}, not ${until}`)
    },
  }
}
