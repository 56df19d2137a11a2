import { sleep, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { failureOf, isInternal } from './pool.ts'

/**
 * Gathers single pieces of work into batches that share a commit. The next batch gathers while one
 * is running: under load hundreds share a commit, at rest a piece does not wait.
 * docs/performance.md has the numbers.
 */
export interface Batch<T, R> {
  /**
   * Resolves with the result once it is durable. Rejects if the item itself fails, or at `close`.
   */
  submit(item: T): Promise<R>
  waiting(): number
  /** Batches and items since start-up, for the metrics. */
  counts(): { batches: number; items: number }
  /** Lets running batches finish and refuses the rest. */
  close(): Promise<void>
}

export interface BatchSettings<T, R> {
  name: string
  /**
   * Returns one result per item, in order. Runs again after a failure, so it must be repeatable.
   */
  run: (items: T[]) => Promise<R[]>
  maxItems: number
  /** How many batches may run in parallel. */
  lanes: number
  /** How long the first item waits for others to join; for work without a waiting client. */
  lingerMs?: number
  /**
   * If more items may be about to come: resolves in the next turn of the event loop. A batch of
   * less than 48 items waits for them, for some turns, since a commit costs about the same for few
   * items as for many.
   */
  rush?: () => Promise<void> | undefined
  /** How long to retry on a broken connection before the items fail. */
  patienceMs: number
  clock: Clock
  log: Log
}

interface Waiting<T, R> {
  item: T
  resolve: (result: R) => void
  reject: (reason: unknown) => void
}

/** For single reads and writes that somebody waits for: they share a round trip. */
export const singles = { maxItems: 128, lanes: 2, patienceMs: 5_000 } as const

const answersInTurn = 16
/** How many times a single item is tried after an internal error of the server: about 0.7 s. */
const internalTries = 5
/** The items that are worth a commit while more are about to come. */
const worthwhile = 48
/** The next items may be of another kind, so no item waits longer than this. */
const mostTurns = 16

export function openBatch<T, R>(settings: BatchSettings<T, R>): Batch<T, R> {
  const queue: Waiting<T, R>[] = []
  const closing = new AbortController()
  let busy = 0
  let batches = 0
  let items = 0
  let idle: (() => void) | undefined
  const carry = carrier(settings, closing.signal)

  function start() {
    while (busy < settings.lanes && queue.length > 0) {
      const taken = queue.splice(0, settings.maxItems)
      busy++
      batches++
      items += taken.length
      void carry(taken).finally(() => {
        busy--
        if (busy === 0 && queue.length === 0) idle?.()
        if (queue.length > 0) begin()
      })
    }
  }

  function begin(turns = 0) {
    if (closing.signal.aborted) return queueMicrotask(start)
    if (settings.lingerMs !== undefined) return void settings.clock.after(settings.lingerMs, start)
    const rush = queue.length < worthwhile && turns < mostTurns ? settings.rush?.() : undefined
    if (rush) void rush.then(() => begin(turns + 1))
    else queueMicrotask(start)
  }

  return {
    submit(item) {
      if (closing.signal.aborted) return Promise.reject(new Error(`the ${settings.name} batch is closed`))
      return new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject })
        if (busy < settings.lanes && queue.length === 1) begin()
      })
    },
    waiting: () => queue.length,
    counts: () => ({ batches, items }),
    async close() {
      if (busy > 0 || queue.length > 0) await new Promise<void>((resolve) => (idle = resolve))
      closing.abort()
    },
  }
}

/**
 * Runs a batch to its end: retries after a conflict or lost connection, splits it after bad data.
 */
function carrier<T, R>(settings: BatchSettings<T, R>, closing: AbortSignal): (batch: Waiting<T, R>[]) => Promise<void> {
  async function carry(batch: Waiting<T, R>[]): Promise<void> {
    const began = settings.clock.monotonic()
    for (let tries = 1; ; tries++) {
      try {
        answer(batch, await settings.run(batch.map((w) => w.item)))
        return
      } catch (error) {
        const failure = failureOf(error)
        if (failure === 'data' && !mayPass(batch, error, tries)) return bisect(batch, error)
        const spent = settings.clock.monotonic() - began
        if (closing.aborted || spent > settings.patienceMs) {
          for (const waiting of batch) waiting.reject(error)
          return
        }
        settings.log.warn(
          { batch: settings.name, items: batch.length, tries, failure, reason: reasonOf(error) },
          'a batch is tried again',
        )
        await sleep(settings.clock, failure === 'retry' ? 5 * tries : Math.min(1000, 50 * tries), closing)
      }
    }
  }

  /**
   * An internal error may be of one item or of none: the batch is halved as for bad data, so that
   * one item holds up no other, and whatever is then alone is tried again.
   */
  const mayPass = (batch: Waiting<T, R>[], error: unknown, tries: number): boolean =>
    batch.length === 1 && tries < internalTries && isInternal(error)

  async function bisect(batch: Waiting<T, R>[], error: unknown): Promise<void> {
    if (batch.length === 1) {
      settings.log.error({ batch: settings.name, reason: reasonOf(error) }, 'an item of a batch failed by itself')
      batch[0]!.reject(error)
      return
    }
    const middle = batch.length >> 1
    await carry(batch.slice(0, middle))
    await carry(batch.slice(middle))
  }

  /**
   * What follows from an answer, a reply for instance, takes time during which no other item is
   * served; so others have their turn after every few answers. The next batch does not wait for
   * them.
   */
  function answer(batch: readonly Waiting<T, R>[], results: readonly R[]): void {
    for (let i = 0; i < Math.min(answersInTurn, batch.length); i++) batch[i]!.resolve(results[i]!)
    if (batch.length > answersInTurn)
      settings.clock.after(0, () => answer(batch.slice(answersInTurn), results.slice(answersInTurn)))
  }

  return carry
}
