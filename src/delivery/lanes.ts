import { Lane, type CallEnd, type LaneLimits } from './lane.ts'
import { roomIn, type Capacity } from './capacity.ts'

/**
 * Messages queue by merchant and origin, so that a merchant whose server is slow or down delays no
 * other. The lanes of a merchant take turns once he has reached his limit of calls.
 */
export interface Lanes<Job> {
  /**
   * Queues a job and starts whatever can be started. False if the merchant or the lane has no room:
   * the row stays due, and a sweep finds it.
   */
  put(merchantId: bigint, origin: string, job: Job): boolean
  /** Reports how the call of a job ended. */
  ended(merchantId: bigint, origin: string, how: CallEnd): void
  /** Origins of a merchant whose rows a sweep must leave alone for now. */
  blocked(merchantId: bigint): string[]
  /** Lanes that are open or probing. */
  paused(): PausedOrigin[]
  /** Jobs queued or started, in total and for a merchant. */
  size(): number
  held(merchantId: bigint): number
}

/** An origin to which a process sends nothing until then, and afterwards one message at a time. */
export interface PausedOrigin {
  merchantId: bigint
  origin: string
  until: number
}

export interface LaneSettings<Job> extends LaneLimits {
  capacity: Capacity
  /** A merchant's parallel calls, over all lanes: the number of connections he can hold. */
  callsOfMerchant: number
  /** How many origins are remembered, for all merchants and for each. */
  maxLanes: number
  lanesOfMerchant: number
  start: (job: Job) => void
  /** A queued job that will not be started, because its lane opened. */
  drop: (job: Job) => void
}

interface Merchant<Job> {
  lanes: Map<string, Lane<Job>>
  /** Lanes that may start a call as soon as the merchant may, in order of waiting time. */
  ready: Set<Lane<Job>>
  held: number
  active: number
}

export function openLanes<Job>(s: LaneSettings<Job>): Lanes<Job> {
  const merchants = new Map<bigint, Merchant<Job>>()
  let size = 0
  let remembered = 0

  function forget(merchantId: bigint, merchant: Merchant<Job>, origin: string): void {
    if (!merchant.lanes.delete(origin)) return
    remembered--
    if (merchant.lanes.size === 0) merchants.delete(merchantId)
  }

  /**
   * Idle lanes that are not open only remember failures. The oldest are dropped first, the
   * merchant's own before those of others.
   */
  function forgetBeyond(merchantId: bigint, merchant: Merchant<Job>): void {
    const isOver = (of: Merchant<Job>) => of.lanes.size > s.lanesOfMerchant || remembered > s.maxLanes
    if (!isOver(merchant)) return
    for (const [id, other] of [[merchantId, merchant] as const, ...merchants])
      for (const [origin, lane] of other.lanes) {
        if (!isOver(other)) break
        if (lane.isIdle && !lane.isOpen) forget(id, other, origin)
      }
  }

  return {
    put(merchantId, origin, job) {
      const merchant = merchants.get(merchantId) ?? { lanes: new Map(), ready: new Set(), held: 0, active: 0 }
      const known = merchant.lanes.get(origin)
      const lane = known ?? new Lane<Job>(s)
      if (roomIn(s.capacity, size, merchant.held) === 0 || lane.isOpen || lane.fill >= 1) return false
      if (!known) remembered++
      merchants.set(merchantId, merchant)
      merchant.lanes.set(origin, lane)
      lane.queue(job)
      merchant.held++
      size++
      startNext(merchant, lane, s)
      return true
    },
    ended(merchantId, origin, how) {
      const merchant = merchants.get(merchantId)!
      const lane = merchant.lanes.get(origin)!
      const dropped = lane.ended(how)
      merchant.active--
      merchant.held -= 1 + dropped.length
      size -= 1 + dropped.length
      dropped.forEach(s.drop)
      startNext(merchant, lane, s)
      if (!lane.isIdle) return
      if (lane.hasFailed) forgetBeyond(merchantId, merchant)
      else forget(merchantId, merchant, origin)
    },
    blocked(merchantId) {
      const lanes = [...(merchants.get(merchantId)?.lanes ?? [])]
      return lanes.filter(([, lane]) => lane.isOpen || lane.fill >= 1 / 2).map(([origin]) => origin)
    },
    paused: () =>
      [...merchants].flatMap(([merchantId, { lanes }]) =>
        [...lanes].flatMap(([origin, { pausedUntil: until }]) => (until === undefined ? [] : [{ merchantId, origin, until }])),
      ),
    size: () => size,
    held: (merchantId) => merchants.get(merchantId)?.held ?? 0,
  }
}

/** Starts whatever can be started after a change in one of the merchant's lanes. */
function startNext<Job>(merchant: Merchant<Job>, lane: Lane<Job>, { callsOfMerchant, start }: LaneSettings<Job>): void {
  if (lane.mayStart) merchant.ready.add(lane)
  for (const next of merchant.ready) {
    if (merchant.active >= callsOfMerchant) return
    merchant.ready.delete(next)
    if (!next.mayStart) continue
    merchant.active++
    start(next.start())
    if (next.mayStart) merchant.ready.add(next)
  }
}
