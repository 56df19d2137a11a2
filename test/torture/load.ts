import { setTimeout as pause } from 'node:timers/promises'
import { isFinal, type Book, type SeenOrder } from './book.ts'
import type { Merchant, Reply, Sale } from './merchant.ts'
import { pick } from './plan.ts'
import type { Receiver } from './receiver.ts'

export interface Load {
  counts: { sales: number; acknowledged: number; repeated: number; askedAgain: number; refusedForLoad: number }
  /** Orders that are asked about until they are final. */
  open(): number
  /**
   * Makes no new sales; resolves when those under way are acknowledged or given up, after
   * `withinMs` at the latest.
   */
  stop(withinMs: number): Promise<void>
  /** Ends everything at once. */
  end(): void
}

interface Parts {
  merchant: Merchant
  receiver: Receiver
  book: Book
  inFlight: number
  draw: () => number
}

/**
 * A sale waits so long for its end before its worker goes on with the next one and leaves the
 * asking to a list.
 */
const patienceMs = 2_500
const listEveryMs = 250
const askedPerRound = 30

/**
 * Merchants at work: sales, some asked for twice at once or again later, and the status of each
 * until it is final.
 */
export function startLoad({ merchant, receiver, book, inFlight, draw }: Parts): Load {
  const counts = { sales: 0, acknowledged: 0, repeated: 0, askedAgain: 0, refusedForLoad: 0 }
  const waiting: { sale: Sale; seen: SeenOrder }[] = []
  const ended: { sale: Sale; seen: SeenOrder }[] = []
  const stopping = new AbortController()
  const over = new AbortController()
  const wait = (ms: number) => pause(ms, undefined, { signal: over.signal }).catch(() => undefined)

  async function ask(sale: Sale, seen: SeenOrder): Promise<boolean> {
    const sentAt = performance.now()
    note(await merchant.status(sale, seen.orderid), sale, sentAt, seen.orderid)
    return seen.final !== undefined
  }

  /** Takes a reply to a status request; undefined when it did not tell a status. */
  function note(reply: Reply, sale: Sale, sentAt: number, orderid?: string): SeenOrder | undefined {
    if (!reply) return undefined
    if (reply['type'] === 'status-response')
      return book.status(reply['gateway-order-id'] ?? '', reply['merchant-order-id'] ?? '', reply['status'] ?? '', sentAt)
    if (reply['type'] === 'error' || (orderid === undefined && reply['error-code'] === '6')) return undefined
    book.broken.push({
      promise: 'acknowledged orders exist',
      says: `status of ${sale.clientOrderid} was answered ${JSON.stringify(reply)}`,
      ...(orderid === undefined ? {} : { orderid }),
    })
    return undefined
  }

  /** Sends the sale, or asks for its status without an order id, until its fate is known. */
  async function acknowledge(sale: Sale): Promise<SeenOrder | undefined> {
    for (let tries = 0; !over.signal.aborted && (tries === 0 || !stopping.signal.aborted || tries < 40); tries++) {
      if (tries > 0) await wait(100 + draw() * 600)
      if (tries > 0 && draw() < 0.5) {
        counts.askedAgain++
        const askedAt = performance.now()
        const found = note(await merchant.status(sale), sale, askedAt)
        if (found) return book.acknowledged(found.orderid, sale.clientOrderid)
      }
      if (tries > 0) counts.repeated++
      const reply = await merchant.send(sale)
      if (reply?.['type'] === 'async-response') {
        counts.acknowledged++
        return book.acknowledged(reply['gateway-order-id'] ?? '', sale.clientOrderid)
      }
      if (reply?.['error-code'] === '20') counts.refusedForLoad++
      if (reply && reply['type'] !== 'error')
        book.break('repeated requests', `sale ${sale.clientOrderid} was refused: ${JSON.stringify(reply)}`)
    }
    return undefined
  }

  async function carry(): Promise<void> {
    const sale = merchant.sale(draw, receiver.url)
    counts.sales++
    const twice = draw() < 0.06
    if (twice) counts.repeated++
    const acknowledged = await Promise.all([acknowledge(sale), ...(twice ? [acknowledge(sale)] : [])])
    const beganAt = performance.now()
    for (const seen of new Set(acknowledged)) {
      if (!seen) continue
      while (!seen.final && !over.signal.aborted && performance.now() - beganAt < patienceMs) {
        await wait(40 + draw() * 120)
        await ask(sale, seen)
      }
      if (seen.final) ended.push({ sale, seen })
      else waiting.push({ sale, seen })
    }
    if (draw() < 0.08 && !stopping.signal.aborted) {
      await wait(draw() * 2_000)
      counts.repeated++
      await acknowledge(sale)
    }
    // What is final has to stay so.
    const old = ended.length > 0 && draw() < 0.1 ? pick(draw, ended) : undefined
    if (old) await ask(old.sale, old.seen)
  }

  async function worker(): Promise<void> {
    while (!stopping.signal.aborted) {
      await carry()
      await wait(100 + draw() * 300)
    }
  }

  async function askAround(): Promise<void> {
    while (!over.signal.aborted) {
      await wait(listEveryMs)
      const round = waiting.splice(0, askedPerRound)
      await Promise.all(
        round.map(async (one) => {
          const known = one.seen.final && isFinal(one.seen.final.status)
          ;((await ask(one.sale, one.seen)) || known ? ended : waiting).push(one)
        }),
      )
    }
  }

  const workers = Promise.all(Array.from({ length: inFlight }, worker))
  const asking = askAround()
  const failed = Promise.all([workers, asking])
  failed.catch((error: Error) => book.break('the torture itself works', error.stack ?? error.message))
  return {
    counts,
    open: () => waiting.length,
    async stop(withinMs) {
      stopping.abort()
      await Promise.race([workers, pause(withinMs, undefined, { ref: false })])
    },
    end() {
      stopping.abort()
      over.abort()
    },
  }
}
