/**
 * The duty that keeps card ranges fresh: one process at a time asks each directory server, daily
 * and at most once an hour, and stores the changes.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { below, type Random } from '../base/random.ts'
import { startDuty } from '../leases/duty.ts'
import type { Pool } from '../storage/pool.ts'
import type { Heartbeat } from '../leases/heartbeat.ts'
import type { Judge } from '../leases/silence.ts'
import type { DirectoryClient, RangesAnswer, RangesFailure } from './directory.ts'
import { applyDelta, differenceOf } from './range-changes.ts'
import type { CardRange } from './ranges.ts'
import * as rows from './range-rows.ts'

export interface RefreshParts {
  pool: Pool
  client: Pick<DirectoryClient, 'cardRanges'>
  directories: readonly string[]
  heartbeat: Pick<Heartbeat, 'processId' | 'holding'>
  judge: Judge
  clock: Clock
  random: Random
  log: Log
  /** Asks each directory server at start-up, because the sandbox restarts its own. */
  now: boolean
}

export interface Refresh {
  /** Resolves once nothing is running. Close the outgoing calls first, or this waits for them. */
  stop(): Promise<void>
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
/** A little more than the hour, which the other side measures with another clock. */
const onceMs = hour + minute
const longestMs = 24 * hour
const spreadMs = 2 * hour
/** How long it may take to notice that another process moved a duty forward. */
const lookMs = minute

export function refreshRanges(parts: RefreshParts): Refresh {
  const keepers = parts.directories.map((directory) => keepFresh(directory, parts))
  return { stop: () => Promise.all(keepers.map((stop) => stop())).then(() => undefined) }
}

/** Returns a function that stops. */
const keepFresh = (directory: string, parts: RefreshParts): (() => Promise<void>) =>
  startDuty(parts, {
    about: { directory },
    trouble: 'the card ranges could not be refreshed',
    everyMs: 4 * second,
    atOnce: true,
    longestLookMs: lookMs,
    enter: () => rows.enterDirectory(parts.pool, directory, parts.clock.now(), parts.now),
    claim: async () => rows.claimRefresh(parts.pool, directory, await parts.judge(), parts.clock.now()),
    step: () => refresh(directory, parts),
  })

/** Does the duty, which the caller holds; returns when it is due again. */
async function refresh(directory: string, parts: RefreshParts): Promise<number> {
  const { pool, client, clock, log, random, heartbeat } = parts
  const { processId } = heartbeat
  const state = await rows.readState(pool, directory)
  // Also after a process died while asking: we cannot know whether that request was counted.
  const earliest = (state.askedAt ?? -Infinity) + onceMs
  if (state.loaded && clock.now() < earliest) {
    await rows.putOff(pool, directory, processId, earliest)
    return earliest
  }
  if (!heartbeat.holding()) return clock.now() + second
  const startedAt = clock.monotonic()
  const tries = await rows.beginTry(pool, directory, processId, clock.now())
  if (tries === undefined || !heartbeat.holding(startedAt)) return clock.now() + second

  let asked = 1
  let answer = await understood(directory, parts, await client.cardRanges(directory, state.serialNum))
  if (answer.is === 'failed' && state.serialNum !== undefined && isOutOfStep(answer)) {
    log.warn({ directory, why: answer.why }, 'the changed card ranges do not fit; all of them are asked for')
    await rows.forgetSerialNumber(pool, directory)
    if (!heartbeat.holding(startedAt)) return clock.now() + second
    asked = 2
    answer = await understood(directory, parts, await client.cardRanges(directory, undefined))
  }
  const now = clock.now()
  if (answer.is === 'failed') {
    const { why } = answer
    const due = now + pauseMs(answer, { loaded: state.loaded, asked, tries })
    log.warn({ directory, why, tries, again: new Date(due).toISOString() }, 'the card ranges could not be refreshed')
    await rows.endFailed(pool, directory, processId, { why, unnoticed: answer.how === 'unserved' && asked === 1, due })
    return due
  }
  const { serialNum, speaks, before, ranges, leftOut } = answer
  const change = differenceOf(before, ranges)
  const due = now + longestMs - below(random, spreadMs)
  const stored = await rows.endRefreshed(pool, directory, processId, { change, serialNum, speaks, leftOut, at: now, due })
  const counts = { ranges: ranges.length, written: change.written.length, removed: change.removed.length }
  if (stored && leftOut !== undefined && leftOut.length > 0)
    log.warn({ directory, count: leftOut.length, entries: leftOut.slice(0, 10) }, 'card ranges that cannot be used were left out')
  if (stored) log.info({ directory, ...counts, serialNum }, 'the card ranges are fresh')
  else log.warn({ directory }, 'another process took the card ranges over; what this one got was left')
  return due
}

type Understood =
  | {
      is: 'fresh'
      serialNum: string | undefined
      speaks: { start?: string; end?: string }
      before: CardRange[]
      ranges: CardRange[]
      /** Only for a full load: a delta leaves no entry out. */
      leftOut?: string[]
    }
  | RangesFailure

/** The ranges after an answer; an answer that does not fit the ranges before it is unusable. */
async function understood(directory: string, { pool, log }: RefreshParts, answer: RangesAnswer): Promise<Understood> {
  if (answer.is === 'failed') return answer
  const { serialNum, speaks } = answer
  const before = await rows.rangesOf(pool, directory)
  if (answer.is === 'full') return { is: 'fresh', serialNum, speaks, before, ranges: answer.ranges, leftOut: answer.leftOut }
  const after = applyDelta(before, answer.items)
  if (after.is === 'applied') return { is: 'fresh', serialNum, speaks, before, ranges: after.ranges }
  const { faults } = after
  log.warn({ directory, faults: faults.slice(0, 10), count: faults.length }, 'the card ranges do not fit together')
  return { is: 'failed', how: 'unusable', why: `${faults.length} faults, the first: ${faults[0]}` }
}

/** 307: the directory server does not know the serial number. */
const isOutOfStep = ({ how, errorCode }: RangesFailure) => how === 'unusable' || errorCode === '307'

interface Circumstances {
  loaded: boolean
  /** Requests of this try: the second one is the repair. */
  asked: number
  /** Tries since the last success, including this one. */
  tries: number
}

/**
 * How long to wait after a failure. Without any ranges no card is enrolled, so the pause is short;
 * with them nothing is urgent.
 */
export function pauseMs(
  { how, errorCode }: Pick<RangesFailure, 'how' | 'errorCode'>,
  { loaded, asked, tries }: Circumstances,
): number {
  if (errorCode === '103') return onceMs
  if (!loaded) return Math.min(minute, 2 * second * 2 ** (tries - 1))
  return how === 'unserved' && asked === 1 ? Math.min(onceMs, minute * 2 ** (tries - 1)) : onceMs
}
