import { sleep, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Outgoing, Reply } from '../http/outgoing.ts'
import type { TargetPolicy } from '../http/address.ts'
import { openBatch } from '../storage/batch.ts'
import { startSweep, type Sweep } from '../storage/leased.ts'
import type { Heartbeat } from '../storage/store-heartbeat.ts'
import type { Judge } from '../storage/store-silence.ts'
import type { Delivery, DeliveryKind } from './delivery.ts'
import { openLanes } from './lanes.ts'
import { placesOf, roomIn } from './places.ts'
import { nextTryAt } from './schedule.ts'
import type { DeliveryStore, Try, Turn } from './store.ts'

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
  judge: Judge
  log: Log
  timeoutMs: number
  maxInHand: number
  sweepMs: number
}

export interface Sender {
  /**
   * Whether so many messages more of a merchant may be taken in hand, with all those that were
   * granted since this was called.
   */
  room(): (merchantId: bigint, messages: number) => boolean
  /** Messages just committed under this process's lease. */
  take(jobs: Job[]): void
  sweep(): void
  counts(): { delivered: number; failed: number; inHand: number }
  stop(withinMs: number): Promise<void>
}

/** Limits of one sweep: its statements stay short however many messages wait. */
const mostClaimed = 256
const mostMerchants = 256

/**
 * Sends messages until they are received or given up. A message is tried at least once and, when
 * this process dies between sending and noting it, once more.
 */
export function openSender(s: SenderSettings): Sender {
  const stopping = new AbortController()
  const inHand = new Set<string>()
  const places = placesOf(s.maxInHand)
  /** The merchant whom the last sweep came to, while there are more than one sweep looks at. */
  let lastServed = 0n
  /** Where a sweep begins in a merchant's messages while those before are of blocked origins. */
  const lookFrom = new Map<bigint, number>()
  let delivered = 0
  let failed = 0
  let sweeping: Sweep | undefined
  const lanes = openLanes<Job>({
    clock: s.clock,
    places,
    perLane: 32,
    queuePerLane: 512,
    callsOfMerchant: 256,
    maxLanes: 10_000,
    lanesOfMerchant: 1_000,
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
      const reply = message && (await s.outgoing.send({ ...message, timeoutMs: s.timeoutMs, owner: String(delivery.merchantId) }))
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
      lanes.ended(delivery.merchantId, delivery.origin, how)
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
    const free = places.all - lanes.size()
    if (free <= 0 || !s.heartbeat.holding()) return
    const turns = await turnsOf(s.clock.now())
    if (turns.length === 0) return
    const room = { all: Math.min(mostClaimed, free), common: places.common - lanes.size(), few: places.few }
    const { taken, passedOver } = await s.store.claimDue(await s.judge(), s.clock.now(), turns, room)
    // Where everything was blocked, the next sweep goes on behind it; where something was taken, it
    // begins at the same place; otherwise at the oldest.
    const found = new Set(taken.map(({ merchantId }) => merchantId))
    for (const { merchantId } of turns) if (!found.has(merchantId)) lookFrom.delete(merchantId)
    for (const { merchantId, until } of passedOver) lookFrom.set(merchantId, until)
    put(taken.map((delivery) => ({ delivery, render: () => s.kinds[delivery.kind].render(delivery) })))
  }

  /** Merchants with something due. The next sweep goes on behind them, if there are more. */
  async function turnsOf(now: number): Promise<Turn[]> {
    const waiting = await s.store.waiting(lastServed, mostMerchants)
    lastServed = waiting.length < mostMerchants ? 0n : waiting.at(-1)!.merchantId
    return waiting
      .filter(({ dueAt }) => dueAt <= now)
      .map(({ merchantId }) => ({
        merchantId,
        held: lanes.held(merchantId),
        blocked: lanes.blocked(merchantId),
        from: lookFrom.get(merchantId) ?? 0,
      }))
  }

  function put(jobs: Job[]) {
    for (const job of jobs) {
      const key = keyOf(job.delivery)
      if (inHand.has(key)) continue
      inHand.add(key)
      if (!lanes.put(job.delivery.merchantId, job.delivery.origin, job)) inHand.delete(key)
    }
  }

  return {
    room() {
      const granted = new Map<bigint, number>()
      let all = 0
      return (merchantId, messages) => {
        const mine = granted.get(merchantId) ?? 0
        if (messages > roomIn(places, lanes.size() + all, lanes.held(merchantId) + mine)) return false
        granted.set(merchantId, mine + messages)
        all += messages
        return true
      }
    },
    take: put,
    sweep() {
      const noted = (error: unknown) => s.log.warn({ reason: reasonOf(error) }, 'the sweep of deliveries failed')
      sweeping = startSweep({ clock: s.clock, everyMs: s.sweepMs, failed: noted }, sweepOnce)
    },
    counts: () => ({ delivered, failed, inHand: lanes.size() }),
    async stop(withinMs) {
      const swept = sweeping?.stop()
      stopping.abort()
      const end = s.clock.monotonic() + withinMs
      while (inHand.size > 0 && s.clock.monotonic() < end) await sleep(s.clock, 10)
      await swept
      await tries.close()
    },
  }
}

const keyOf = (d: Delivery) => `${d.merchantId}/${d.orderId}/${d.deliveryNo}`
