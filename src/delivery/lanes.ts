import type { Clock } from '../base/clock.ts'
import { roomIn, type Places } from './places.ts'

/**
 * Messages queue by merchant and origin, so that who is slow or away delays no other. A lane is in
 * one of three modes:
 *   closed   the usual one: up to `perLane` calls at once
 *   open     after `breakAfter` failures in a row: nothing is sent until a pause is over, which
 *            doubles each time, up to a bound
 *   probing  after the pause: one call at a time; a success closes the lane, a failure opens it
 * The lanes of a merchant take turns while he has as many calls as he may.
 */
export interface Lanes<Job> {
  /**
   * Queues a job and starts what may start. False when the merchant or the lane has no room: the
   * row stays due and is found by a sweep.
   */
  put(merchantId: bigint, origin: string, job: Job): boolean
  /** Reports how a job ended; `unsaid` for a reason of ours, which says nothing of the merchant. */
  ended(merchantId: bigint, origin: string, how: 'well' | 'badly' | 'unsaid'): void
  /** Origins of a merchant whose rows a sweep must leave alone for now. */
  blocked(merchantId: bigint): string[]
  /** Jobs queued or started, of all and of a merchant. */
  size(): number
  held(merchantId: bigint): number
}

export interface LaneSettings<Job> {
  clock: Clock
  places: Places
  perLane: number
  queuePerLane: number
  /** Calls of a merchant at once, over all lanes: as many connections he holds at most. */
  callsOfMerchant: number
  breakAfter: number
  /** Origins remembered at once, of all merchants and of each. */
  maxLanes: number
  lanesOfMerchant: number
  firstPauseMs: number
  longestPauseMs: number
  start: (job: Job) => void
  /** A queued job that will not be started, because its lane opened. */
  drop: (job: Job) => void
}

interface Lane<Job> {
  queue: Job[]
  active: number
  failures: number
  pauseMs: number
  /** While the clock is before it the lane is open. */
  openUntil: number
}

interface Merchant<Job> {
  lanes: Map<string, Lane<Job>>
  /** Lanes that may start a call as soon as the merchant may; who waits longest comes first. */
  ready: Set<Lane<Job>>
  held: number
  active: number
}

export function openLanes<Job>(s: LaneSettings<Job>): Lanes<Job> {
  const merchants = new Map<bigint, Merchant<Job>>()
  let size = 0
  let remembered = 0

  const isOpen = (lane: Lane<Job>) => s.clock.monotonic() < lane.openUntil
  /** One merchant's burst has room; one who fails may not fill the hand. */
  const queueLimit = (lane: Lane<Job>) => (lane.failures > 0 ? Math.max(4, s.queuePerLane / 16) : s.queuePerLane)
  const limit = (lane: Lane<Job>) => (lane.failures >= s.breakAfter ? 1 : s.perLane)
  const mayStart = (lane: Lane<Job>) => !isOpen(lane) && lane.active < limit(lane) && lane.queue.length > 0
  const isIdle = (lane: Lane<Job>) => lane.active === 0 && lane.queue.length === 0

  /** Starts what may start of a merchant after something changed in a lane of his. */
  function run(merchant: Merchant<Job>, lane: Lane<Job>) {
    if (mayStart(lane)) merchant.ready.add(lane)
    for (const next of merchant.ready) {
      if (merchant.active >= s.callsOfMerchant) return
      merchant.ready.delete(next)
      if (!mayStart(next)) continue
      next.active++
      merchant.active++
      s.start(next.queue.shift()!)
      if (mayStart(next)) merchant.ready.add(next)
    }
  }

  function forget(merchantId: bigint, merchant: Merchant<Job>, origin: string): void {
    if (!merchant.lanes.delete(origin)) return
    remembered--
    if (merchant.lanes.size === 0) merchants.delete(merchantId)
  }

  /**
   * Lanes without work that are not open remember failures only; the oldest go first, the
   * merchant's own before those of others.
   */
  function forgetBeyond(merchantId: bigint, merchant: Merchant<Job>): void {
    const isOver = (of: Merchant<Job>) => of.lanes.size > s.lanesOfMerchant || remembered > s.maxLanes
    if (!isOver(merchant)) return
    for (const [id, other] of [[merchantId, merchant] as const, ...merchants])
      for (const [origin, lane] of other.lanes) {
        if (!isOver(other)) break
        if (isIdle(lane) && !isOpen(lane)) forget(id, other, origin)
      }
  }

  return {
    put(merchantId, origin, job) {
      const merchant = merchants.get(merchantId) ?? { lanes: new Map(), ready: new Set(), held: 0, active: 0 }
      const known = merchant.lanes.get(origin)
      const lane = known ?? { queue: [], active: 0, failures: 0, pauseMs: s.firstPauseMs, openUntil: 0 }
      const isFull = roomIn(s.places, size, merchant.held) === 0
      if (isFull || isOpen(lane) || lane.queue.length >= queueLimit(lane)) return false
      if (!known) remembered++
      merchants.set(merchantId, merchant)
      merchant.lanes.set(origin, lane)
      lane.queue.push(job)
      merchant.held++
      size++
      run(merchant, lane)
      return true
    },
    ended(merchantId, origin, how) {
      const merchant = merchants.get(merchantId)!
      const lane = merchant.lanes.get(origin)!
      lane.active--
      merchant.active--
      let gone = 1
      if (how === 'well') {
        lane.failures = 0
        lane.pauseMs = s.firstPauseMs
      } else if (how === 'badly' && ++lane.failures >= s.breakAfter && !isOpen(lane)) {
        lane.openUntil = s.clock.monotonic() + lane.pauseMs
        lane.pauseMs = Math.min(s.longestPauseMs, lane.pauseMs * 2)
        // Their rows stay due in the database; a sweep brings them back when the lane lets it.
        gone += lane.queue.length
        lane.queue.splice(0).forEach(s.drop)
      }
      merchant.held -= gone
      size -= gone
      run(merchant, lane)
      if (!isIdle(lane)) return
      if (lane.failures === 0) forget(merchantId, merchant, origin)
      else forgetBeyond(merchantId, merchant)
    },
    blocked(merchantId) {
      const lanes = [...(merchants.get(merchantId)?.lanes ?? [])]
      return lanes.filter(([, lane]) => isOpen(lane) || lane.queue.length >= queueLimit(lane) / 2).map(([origin]) => origin)
    },
    size: () => size,
    held: (merchantId) => merchants.get(merchantId)?.held ?? 0,
  }
}
