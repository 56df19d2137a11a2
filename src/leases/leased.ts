/**
 * Work that waits in rows. A row says when it is due (`due_at`) and whose it is (`lease`, the id of
 * a process): a process claims what is due and free, does it, and lets go or puts it back.
 */
import type { Cancel, Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { failureOf } from '../storage/pool.ts'

/**
 * The process that takes up work, and the other processes that it judges dead by their silence. A
 * process without a row is dead for everybody.
 */
export interface Claimer {
  processId: bigint
  silent: readonly bigint[]
  /** None if absent. */
  spared?: Spared
}

/** Merchants whom a claim spares, because they move to another cell. */
export interface Spared {
  /** Nothing is begun. What a process has owned is carried on, by it or in place of a dead one. */
  resting: readonly bigint[]
  /** Their rows are those of another cell, and are here only to be copied or removed. */
  absent: readonly bigint[]
}

/** Placeholders of a claim, such as `$1`. */
interface ClaimValues {
  /** The caller. */
  me: string
  /** The processes that it judges dead by their silence. */
  silent: string
  /** Milliseconds of database time after which a silent process is dead. */
  deadAfterMs: string
}

/**
 * SQL that holds for a row without a worker. It has no lease, or that of the caller, who knows
 * what it still does, or that of a dead process. A process without a heartbeat is dead; a silent
 * one is dead once its beat is old, and older by `patience` (an interval) where its call may still
 * be answered. Claims that share rows add `for update … skip locked`, so that two of them share the
 * work instead of waiting for each other.
 */
export const isFree = (row: string, { me, silent, deadAfterMs }: ClaimValues, patience = `interval '0'`): string => `
      (${row}.lease is null or ${row}.lease = ${me} or not exists (
        select from heartbeat h where h.process_id = ${row}.lease and (h.process_id <> all (${silent}::bigint[])
          or h.beat_at > now() - ${deadAfterMs}::int * interval '1 millisecond' - ${patience})))`

/** The same for a row of a merchant. The `claimValues` are the parameters from number `from` on. */
export const isTakable = (
  row: string,
  { from, ...values }: Omit<ClaimValues, 'silent'> & { from: number },
  patience?: string,
): string => `
      ${isFree(row, { ...values, silent: `$${from}` }, patience)}
      and (${row}.lease is not null or ${row}.merchant_id <> all ($${from + 1}::bigint[]))
      and ${row}.merchant_id <> all ($${from + 2}::bigint[])`

export const claimValues = ({ silent, spared }: Claimer): bigint[][] =>
  [silent, spared?.resting ?? [], spared?.absent ?? []].map((ids) => [...ids])

export type Sweep = ReturnType<typeof startSweep>

export interface SweepParts {
  clock: Clock
  everyMs: number
  /** Begins now, not after the first pause. */
  atOnce?: true
  failed: (error: unknown) => void
}

/** Logs why something failed that is done again. */
export const warningOf =
  (log: Log, trouble: string, about: object = {}) =>
  (error: unknown): void =>
    log.warn({ ...about, reason: reasonOf(error) }, trouble)

/** The longest pause: rows of other processes may wait for that long after they become free. */
const longestRestMs = 1_000

/**
 * The pause of a sweep while nothing is due. With a short pause always, a gateway without work
 * would spend most of its processor time on looking for some.
 */
export const restUntil = (dueAt: number, now: number, everyMs: number): number =>
  Math.max(everyMs, Math.min(longestRestMs, dueAt - now))

export interface LookParts<Claimed> {
  clock: Clock
  everyMs: number
  /** When the first row is due, whoever has its lease; `Infinity` if there is none. */
  firstDue: () => Promise<number>
  claim: () => Promise<Claimed[]>
  take: (claimed: Claimed[]) => void
}

/** One turn of a sweep: takes the rows that are due and free. Returns the pause after it. */
export async function look<Claimed>({ clock, everyMs, firstDue, claim, take }: LookParts<Claimed>): Promise<number> {
  const dueAt = await firstDue()
  if (dueAt > clock.now()) return restUntil(dueAt, clock.now(), everyMs)
  const claimed = await claim()
  take(claimed)
  return claimed.length > 0 ? everyMs : longestRestMs
}

/**
 * Runs `once` again and again, with a pause of as many milliseconds as it returns. After a failure
 * the pause is the shortest one.
 */
export function startSweep({ clock, everyMs, atOnce, failed }: SweepParts, once: () => Promise<number>) {
  let stopped = false
  let running = Promise.resolve()
  let cancel: Cancel = () => {}
  /** Monotonic time of the next turn; undefined during one. */
  let nextAt: number | undefined
  /** The soonest time that was expected since the last turn began. */
  let expected = Infinity
  const wait = (pauseMs: number) => {
    nextAt = clock.monotonic() + pauseMs
    cancel = clock.after(pauseMs, turn)
  }
  const pauseUntil = (dueAt: number) => Math.max(everyMs, dueAt - clock.now())
  const turn = () => {
    nextAt = undefined
    expected = Infinity
    running = once()
      .catch((error: unknown) => {
        failed(error)
        return everyMs
      })
      .then((pauseMs) => {
        if (!stopped) wait(Math.min(pauseMs, pauseUntil(expected)))
      })
  }
  if (atOnce) turn()
  else wait(everyMs)
  return {
    /** Something was stored since the last look and is due then: the next look comes no later. */
    expect(dueAt: number): void {
      expected = Math.min(expected, dueAt)
      const pauseMs = pauseUntil(dueAt)
      if (stopped || nextAt === undefined || clock.monotonic() + pauseMs >= nextAt) return
      cancel()
      wait(pauseMs)
    },
    /** Begins no more; resolves when what is under way is over. */
    stop(): Promise<void> {
      stopped = true
      cancel()
      return running
    },
  }
}

/** Work that failed this often by itself is left to an operator. */
const parkAfterTries = 8
const longestPauseMs = 60_000

/** No later try can succeed: the work is parked after the first failure. */
export class Hopeless extends Error {}

/** A piece of work that failed. */
export interface FailedWork {
  /** How the log calls it, such as `a step`. */
  kind: string
  /** Facts for the log. */
  about: Readonly<Record<string, unknown>>
  what: string
  /** How often it had failed before. */
  tries: number
  error: unknown
  /** After the first failure; it doubles with each. */
  firstPauseMs: number
}

/**
 * Puts work back that could not be done: later and later, and in the end parked with an alarm, for
 * an operator. While the database is away nothing is parked. Resolves with whether it was.
 */
export async function putBackLater(
  { clock, log }: { clock: Clock; log: Log },
  { kind, about, what, tries, error, firstPauseMs }: FailedWork,
  putBack: (dueAt: number, alarm: string | undefined) => Promise<void>,
): Promise<boolean> {
  const reason = reasonOf(error)
  const parked = error instanceof Hopeless || (tries + 1 >= parkAfterTries && failureOf(error) === 'data')
  const dueAt = clock.now() + Math.min(longestPauseMs, firstPauseMs * 2 ** tries)
  log.error(
    { ...about, what, tries, parked, reason },
    parked ? `${kind} is parked` : `${kind} failed; it is returned to the queue`,
  )
  try {
    await putBack(dueAt, parked ? `${what}: ${reason}` : undefined)
    return parked
  } catch (failure) {
    log.error({ ...about, reason: reasonOf(failure) }, `${kind} could not be returned to the queue; a sweep finds it`)
    return false
  }
}
