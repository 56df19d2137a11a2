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
  /** Ends everything immediately. */
  end(): void
}

interface Parts {
  merchant: Merchant
  receiver: Receiver
  book: Book
  inFlight: number
  draw: () => number
}

/** How long a worker asks about a sale before it goes on and leaves the asking to a list. */
const patienceMs = 2_500
const listEveryMs = 250
const askedPerRound = 30

interface Asked {
  sale: Sale
  seen: SeenOrder
}

/** When the load ends, and how it waits until then. */
interface Run {
  /** Aborted when no new sales are made. */
  stopping: AbortSignal
  /** Aborted when everything ends immediately. */
  over: AbortSignal
  wait: (ms: number) => Promise<void>
}

/**
 * Merchants at work: sales, some sent twice together or again later, and the status of each
 * until it is final.
 */
export function startLoad({ merchant, receiver, book, inFlight, draw }: Parts): Load {
  const counts = { sales: 0, acknowledged: 0, repeated: 0, askedAgain: 0, refusedForLoad: 0 }
  const waiting: Asked[] = []
  const ended: Asked[] = []
  const stopping = new AbortController()
  const over = new AbortController()
  const wait = (ms: number) => pause(ms, undefined, { signal: over.signal }).catch(() => undefined)
  const run: Run = { stopping: stopping.signal, over: over.signal, wait }
  const ask = asker(merchant, book)
  const acknowledge = acknowledger(merchant, book, counts, draw, run)

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
        await ask({ sale, seen })
      }
      ;(seen.final ? ended : waiting).push({ sale, seen })
    }
    if (draw() < 0.08 && !stopping.signal.aborted) {
      await wait(draw() * 2_000)
      counts.repeated++
      await acknowledge(sale)
    }
    // What is final has to stay so.
    const old = ended.length > 0 && draw() < 0.1 ? pick(draw, ended) : undefined
    if (old) await ask(old)
  }

  async function worker(): Promise<void> {
    while (!stopping.signal.aborted) {
      await carry()
      await wait(100 + draw() * 300)
    }
  }

  const workers = Promise.all(Array.from({ length: inFlight }, worker))
  const asking = askAround(waiting, ended, ask, run)
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

/** Asks for the status of an order, and records the reply. Resolves with whether it is final. */
const asker =
  (merchant: Merchant, book: Book) =>
  async ({ sale, seen }: Asked): Promise<boolean> => {
    const sentAt = performance.now()
    recordStatus(await merchant.status(sale, seen.orderid), sale, book, sentAt, seen.orderid)
    return seen.final !== undefined
  }

/** Records the reply to a status request; undefined if it shows no status. */
function recordStatus(reply: Reply, sale: Sale, book: Book, sentAt: number, orderid?: string): SeenOrder | undefined {
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

/** Sends a sale, or asks for its status without an order id, until its fate is known. */
function acknowledger(merchant: Merchant, book: Book, counts: Load['counts'], draw: () => number, { stopping, over, wait }: Run) {
  return async (sale: Sale): Promise<SeenOrder | undefined> => {
    for (let tries = 0; !over.aborted && (tries === 0 || !stopping.aborted || tries < 40); tries++) {
      if (tries > 0) await wait(100 + draw() * 600)
      if (tries > 0 && draw() < 0.5) {
        counts.askedAgain++
        const askedAt = performance.now()
        const found = recordStatus(await merchant.status(sale), sale, book, askedAt)
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
}

/** Goes on asking about the orders that wait, some at a time. */
async function askAround(
  waiting: Asked[],
  ended: Asked[],
  ask: (one: Asked) => Promise<boolean>,
  { over, wait }: Run,
): Promise<void> {
  while (!over.aborted) {
    await wait(listEveryMs)
    const round = waiting.splice(0, askedPerRound)
    await Promise.all(
      round.map(async (one) => {
        const known = one.seen.final && isFinal(one.seen.final.status)
        ;((await ask(one)) || known ? ended : waiting).push(one)
      }),
    )
  }
}
