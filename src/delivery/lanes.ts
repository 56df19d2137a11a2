import type { Clock } from '../base/clock.ts'

/**
 * Messages queue by origin, so that one merchant who is slow or away delays no other. A lane is in one of three modes:
 *   closed   the usual one: up to `perLane` calls at once
 *   open     after `breakAfter` failures in a row nothing is sent until a pause is over; the pause doubles each time, up to a bound
 *   probing  the pause is over: one call at a time, whose success closes the lane and whose failure opens it again
 */
export interface Lanes<Job> {
  /** Queues a job and starts what may start. False when the lane has no room: the row stays due and is found by a sweep. */
  put(origin: string, job: Job): boolean
  /** Tells how a job of the origin ended; `unsaid` when the reason was ours, which says nothing of the merchant. */
  ended(origin: string, how: 'well' | 'badly' | 'unsaid'): void
  /** Origins whose rows a sweep must leave alone for now. */
  blocked(): string[]
  size(): number
}

export interface LaneSettings<Job> {
  clock: Clock
  perLane: number
  queuePerLane: number
  breakAfter: number
  /** Origins remembered at once. */
  maxLanes: number
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

export function openLanes<Job>(s: LaneSettings<Job>): Lanes<Job> {
  const lanes = new Map<string, Lane<Job>>()
  let size = 0

  /** Lanes without work that are not open remember failures only; the oldest go first. */
  function forget() {
    for (const [origin, lane] of lanes) {
      if (lanes.size <= s.maxLanes) return
      if (lane.active === 0 && lane.queue.length === 0 && !isOpen(lane)) lanes.delete(origin)
    }
  }

  const isOpen = (lane: Lane<Job>) => s.clock.monotonic() < lane.openUntil
  /** One merchant's burst has room; one who fails may not fill the hand. */
  const queueLimit = (lane: Lane<Job>) => (lane.failures > 0 ? Math.max(4, s.queuePerLane / 16) : s.queuePerLane)
  const limit = (lane: Lane<Job>) => (lane.failures >= s.breakAfter ? 1 : s.perLane)

  function run(lane: Lane<Job>) {
    while (!isOpen(lane) && lane.active < limit(lane) && lane.queue.length > 0) {
      lane.active++
      s.start(lane.queue.shift()!)
    }
  }

  return {
    put(origin, job) {
      const lane = lanes.get(origin) ?? { queue: [], active: 0, failures: 0, pauseMs: s.firstPauseMs, openUntil: 0 }
      if (isOpen(lane) || lane.queue.length >= queueLimit(lane)) return false
      lanes.set(origin, lane)
      lane.queue.push(job)
      size++
      run(lane)
      return true
    },
    ended(origin, how) {
      const lane = lanes.get(origin)!
      lane.active--
      size--
      if (how === 'well') {
        lane.failures = 0
        lane.pauseMs = s.firstPauseMs
      } else if (how === 'badly' && ++lane.failures >= s.breakAfter && !isOpen(lane)) {
        lane.openUntil = s.clock.monotonic() + lane.pauseMs
        lane.pauseMs = Math.min(s.longestPauseMs, lane.pauseMs * 2)
        // Their rows stay due in the database; a sweep brings them back when the lane lets it.
        size -= lane.queue.length
        lane.queue.splice(0).forEach(s.drop)
      }
      run(lane)
      if (lane.active > 0 || lane.queue.length > 0) return
      if (lane.failures === 0) lanes.delete(origin)
      else if (lanes.size > s.maxLanes) forget()
    },
    blocked: () =>
      [...lanes].filter(([, lane]) => isOpen(lane) || lane.queue.length >= queueLimit(lane) / 2).map(([origin]) => origin),
    size: () => size,
  }
}
