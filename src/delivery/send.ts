import { sleep, type Cancel, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Outgoing, Reply } from '../http/outgoing.ts'
import type { TargetPolicy } from '../http/address.ts'
import { openBatch } from '../storage/batch.ts'
import type { Heartbeat } from '../storage/store-heartbeat.ts'
import type { Delivery, DeliveryKind } from './delivery.ts'
import { openLanes } from './lanes.ts'
import { nextTryAt } from './schedule.ts'
import type { DeliveryStore, Try } from './store.ts'

/** What a reply means. `never`: it will not be taken, however often it comes. */
export type Judged = 'received' | 'again' | 'never'

/** A message ready to go. */
export interface Rendered {
  method: 'GET' | 'POST'
  url: string
  headers?: Record<string, string>
  body?: string
  policy: TargetPolicy
  /** Judges the reply by what was sent, in place of its kind. */
  judge?: (reply: Reply) => Judged
}

/** What main knows about a kind of message: how it reads, and which replies count as received. */
export interface Kind {
  /** Undefined when there is nothing to tell any more; the message is then given up. */
  render: (delivery: Delivery) => Promise<Rendered | undefined>
  judge: (reply: Reply) => Judged
  /** Given up after so many; as a callback unless said. */
  maxTries?: number
}

export interface Job {
  delivery: Delivery
  render: () => Promise<Rendered | undefined>
}

export interface SenderSettings {
  store: DeliveryStore
  outgoing: Outgoing
  kinds: Record<DeliveryKind, Kind>
  clock: Clock
  random: Random
  heartbeat: Heartbeat
  log: Log
  timeoutMs: number
  maxInHand: number
  sweepMs: number
}

export interface Sender {
  /** How many messages may still be taken in hand. */
  room(): number
  /** Messages just committed under this process's lease. */
  take(jobs: Job[]): void
  sweep(): void
  counts(): { delivered: number; failed: number; inHand: number }
  stop(withinMs: number): Promise<void>
}

/** Sends messages until they are received or given up. A message is tried at least once and, when this process dies between sending and noting it, once more. */
export function openSender(s: SenderSettings): Sender {
  const stopping = new AbortController()
  const inHand = new Set<string>()
  let delivered = 0
  let failed = 0
  let cancel: Cancel = () => {}
  const lanes = openLanes<Job>({
    clock: s.clock,
    perLane: 32,
    queuePerLane: 512,
    maxLanes: 10_000,
    breakAfter: 10,
    firstPauseMs: 2_000,
    longestPauseMs: 60_000,
    start: (job) => void attempt(job).finally(() => inHand.delete(keyOf(job.delivery))),
    drop: (job) => inHand.delete(keyOf(job.delivery)),
  })
  const tries = openBatch<Try, void>({
    name: 'deliveries',
    run: async (items) => {
      await s.store.saveTries(items, s.heartbeat.processId)
      return items.map(() => undefined)
    },
    maxItems: 256,
    lanes: 1,
    lingerMs: 10,
    patienceMs: 60_000,
    clock: s.clock,
    log: s.log,
  })

  async function attempt({ delivery, render }: Job): Promise<void> {
    let how: 'well' | 'badly' | 'unsaid' = 'unsaid'
    try {
      const at = s.clock.now()
      const message = stopping.signal.aborted || !s.heartbeat.holding() ? undefined : await render()
      if (stopping.signal.aborted || !s.heartbeat.holding()) return
      const reply = message && (await s.outgoing.send({ ...message, timeoutMs: s.timeoutMs }))
      const judged = message && reply ? (message.judge ?? s.kinds[delivery.kind].judge)(reply) : 'never'
      // Who refuses a message for good has answered as well as he can.
      if (reply) how = judged === 'again' ? 'badly' : 'well'
      await tries.submit(tryOf(delivery, at, reply, judged))
      if (judged === 'received') delivered++
      else failed++
    } catch (error) {
      s.log.error(
        { order: String(delivery.orderId), reason: reasonOf(error) },
        'a delivery could not be carried out; it stays due',
      )
    } finally {
      lanes.ended(delivery.origin, how)
    }
  }

  function tryOf(delivery: Delivery, at: number, reply: Reply | undefined, judged: Judged): Try {
    const made = { delivery, at, durationMs: reply?.durationMs ?? 0 }
    if (!reply) return { ...made, state: 'given up', failure: 'there is nothing to tell' }
    const said = reply.is === 'answered' ? { httpStatus: reply.status } : { failure: `${reply.kind}: ${reply.why}` }
    if (judged === 'received') return { ...made, ...said, state: 'delivered' }
    const { maxTries } = s.kinds[delivery.kind]
    const dueAt = judged === 'never' ? undefined : nextTryAt(delivery.tries + 1, s.clock.now(), s.random, maxTries)
    return dueAt === undefined ? { ...made, ...said, state: 'given up' } : { ...made, ...said, state: 'due', dueAt }
  }

  async function sweepOnce(): Promise<void> {
    const limit = Math.min(256, s.maxInHand - lanes.size())
    if (limit <= 0 || !s.heartbeat.holding()) return
    const due = await s.store.claimDue(s.heartbeat.processId, s.clock.now(), limit, lanes.blocked())
    put(due.map((delivery) => ({ delivery, render: () => s.kinds[delivery.kind].render(delivery) })))
  }

  function put(jobs: Job[]) {
    for (const job of jobs) {
      const key = keyOf(job.delivery)
      if (inHand.has(key)) continue
      inHand.add(key)
      if (!lanes.put(job.delivery.origin, job)) inHand.delete(key)
    }
  }

  function sweep() {
    cancel = s.clock.after(s.sweepMs, () => {
      if (stopping.signal.aborted) return
      void sweepOnce()
        .catch((error) => s.log.warn({ reason: reasonOf(error) }, 'the sweep of deliveries failed'))
        .then(sweep)
    })
  }

  return {
    room: () => Math.max(0, s.maxInHand - lanes.size()),
    take: put,
    sweep,
    counts: () => ({ delivered, failed, inHand: lanes.size() }),
    async stop(withinMs) {
      cancel()
      stopping.abort()
      const end = s.clock.monotonic() + withinMs
      while (inHand.size > 0 && s.clock.monotonic() < end) await sleep(s.clock, 10)
      await tries.close()
    },
  }
}

const keyOf = (d: Delivery) => `${d.merchantId}/${d.orderId}/${d.deliveryNo}`
