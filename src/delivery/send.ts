import { isDeepStrictEqual } from 'node:util'
import { sleep } from '../base/clock.ts'
import { restUntil, startSweep, warningOf, type Sweep } from '../leases/leased.ts'
import type { Judge } from '../leases/silence.ts'
import type { Delivery } from './delivery.ts'
import { openLanes, type Lanes, type PausedOrigin } from './lanes.ts'
import { capacityOf, roomIn, type Capacity } from './capacity.ts'
import type { DeliveryStore } from './store.ts'
import { openTries, type Job, type TrySettings } from './try.ts'
import { openTurns } from './turns.ts'

export interface SenderSettings extends TrySettings {
  store: DeliveryStore
  judge: Judge
  maxInHand: number
  sweepMs: number
}

export type Sender = ReturnType<typeof openSender>

/** A sweep's statements stay short however many messages wait. */
const mostClaimed = 256

/** At most so many paused origins are noted for operators. */
const mostNoted = 1_000

const laneLimits = {
  perLane: 32,
  mostPerLane: 256,
  queuePerLane: 1_024,
  callsOfMerchant: 256,
  maxLanes: 10_000,
  lanesOfMerchant: 1_000,
  breakAfter: 10,
  firstPauseMs: 2_000,
  longestPauseMs: 60_000,
}

/**
 * Sends messages until they are received or given up. A message is tried at least once and, when
 * this process dies between sending and recording it, once more.
 */
export function openSender(s: SenderSettings) {
  const stopping = new AbortController()
  const inHand = new Set<string>()
  const capacity = capacityOf(s.maxInHand)
  let sweeping: Sweep | undefined
  const tries = openTries(s, stopping.signal, ({ merchantId, origin }, how) => lanes.ended(merchantId, origin, how))
  const lanes = openLanes<Job>({
    ...laneLimits,
    clock: s.clock,
    capacity,
    start: (job) => void tries.make(job).finally(() => inHand.delete(keyOf(job.delivery))),
    drop: (job) => inHand.delete(keyOf(job.delivery)),
  })
  const turns = openTurns(s.store, lanes)
  const notePaused = pausesNotedIn(s, lanes)

  async function sweepOnce(): Promise<number> {
    await notePaused()
    const free = capacity.all - lanes.size()
    if (free <= 0 || !s.heartbeat.holding()) return s.sweepMs
    const { turns: due, firstDue } = await turns.next(s.clock.now())
    if (due.length === 0) return restUntil(firstDue, s.clock.now(), s.sweepMs)
    const room = { all: Math.min(mostClaimed, free), common: capacity.common - lanes.size(), few: capacity.few }
    const by = await s.judge()
    const claimed = await s.store.claimDue(by, s.clock.now(), due, room)
    turns.claimed(due, claimed)
    const left = put(claimed.taken.map((delivery) => ({ delivery, render: () => s.kinds[delivery.kind].render(delivery) })))
    await s.store.letGo(left, by.processId, s.clock.now())
    return s.sweepMs
  }

  /** Returns those for which no lane has room. */
  const put = (jobs: readonly Job[]): Delivery[] =>
    jobs.flatMap((job) => {
      const key = keyOf(job.delivery)
      if (inHand.has(key)) return []
      inHand.add(key)
      if (lanes.put(job.delivery.merchantId, job.delivery.origin, job)) return []
      inHand.delete(key)
      return [job.delivery]
    })

  return {
    /**
     * Whether so many messages more of a merchant may be taken in hand, with all those that were
     * granted since this was called.
     */
    room: () => grants(capacity, lanes),
    /** Messages just committed under this process's lease. */
    take: put,
    /** A message was committed without a lease, and is due then. */
    expect: (dueAt: number): void => sweeping?.expect(dueAt),
    sweep(): void {
      const failed = warningOf(s.log, 'the sweep of deliveries failed')
      sweeping = startSweep({ clock: s.clock, everyMs: s.sweepMs, failed }, sweepOnce)
    },
    counts: (): { delivered: number; failed: number; inHand: number } => ({ ...tries.counts, inHand: lanes.size() }),
    async stop(withinMs: number): Promise<void> {
      const swept = sweeping?.stop()
      stopping.abort()
      const end = s.clock.monotonic() + withinMs
      while (inHand.size > 0 && s.clock.monotonic() < end) await sleep(s.clock, 10)
      await swept
      await tries.close()
    },
  }
}

/** Writes down to whom nothing is sent for now, whenever that has changed. */
function pausesNotedIn({ store, heartbeat }: Pick<SenderSettings, 'store' | 'heartbeat'>, lanes: Pick<Lanes<Job>, 'paused'>) {
  let noted: readonly PausedOrigin[] = []
  return async () => {
    const paused = lanes.paused().slice(0, mostNoted)
    if (isDeepStrictEqual(paused, noted)) return
    await store.notePaused(heartbeat.processId, paused)
    noted = paused
  }
}

function grants(capacity: Capacity, lanes: Pick<Lanes<Job>, 'size' | 'held'>) {
  const granted = new Map<bigint, number>()
  let all = 0
  return (merchantId: bigint, messages: number): boolean => {
    const mine = granted.get(merchantId) ?? 0
    if (messages > roomIn(capacity, lanes.size() + all, lanes.held(merchantId) + mine)) return false
    granted.set(merchantId, mine + messages)
    all += messages
    return true
  }
}

const keyOf = (d: Delivery) => `${d.merchantId}/${d.orderId}/${d.deliveryNo}`
