import { setTimeout as pause } from 'node:timers/promises'
import type { Book } from '../torture/book.ts'
import type { Merchant } from '../torture/merchant.ts'
import { pick } from '../torture/plan.ts'
import type { Receiver } from '../torture/receiver.ts'
import type { Timeline } from './gaps.ts'
import type { Installation } from './installation.ts'

const everyMs = 200
const lookEveryMs = 500

interface Parts {
  cellNo: number
  merchant: Merchant
  receiver: Receiver
  book: Book
  draw: () => number
  ended: AbortSignal
}

/**
 * A sale to each gateway every 200 ms, however long the earlier ones take: the time line that tells
 * how long there was no service. Returns when each gateway acknowledged one.
 */
export function startProbes(origins: readonly string[], { cellNo, merchant, receiver, book, draw, ended }: Parts): Timeline[] {
  return origins.map((origin) => {
    const acknowledgedAt: number[] = []
    const probe = async () => {
      const sale = merchant.sale(draw, receiver.url)
      const reply = await merchant.send(sale, origin)
      if (reply?.['type'] !== 'async-response') return
      acknowledgedAt.push(performance.now())
      book.acknowledged(reply['gateway-order-id'] ?? '', sale.clientOrderid)
    }
    const timer = setInterval(() => void probe(), everyMs)
    ended.addEventListener('abort', () => clearInterval(timer))
    return { cellNo, acknowledgedAt }
  })
}

/** Chooses for each request a gateway that says it is ready, as a load balancer does. */
export function rotate({ origins, ready }: Installation, draw: () => number, ended: AbortSignal): () => string {
  let isReady: readonly boolean[] = origins.map(() => true)
  void (async () => {
    while (!ended.aborted) {
      isReady = await ready()
      await pause(lookEveryMs, undefined, { signal: ended }).catch(() => undefined)
    }
  })()
  return () => {
    const good = origins.filter((_, at) => isReady[at])
    return pick(draw, good.length > 0 ? good : origins)
  }
}
