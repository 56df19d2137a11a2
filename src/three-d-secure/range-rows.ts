import { defined } from '../base/defined.ts'
import type { Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { asJson, entities, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { claimDuty, enterDuty, type ClaimedDuty } from '../leases/duty-rows.ts'
import type { Claimer } from '../leases/leased.ts'
import { transaction } from '../storage/transaction.ts'
import type { RangeChange } from './range-changes.ts'
import { openRanges, type CardRange, type LoadedRanges } from './ranges.ts'

const dutyOf = (directory: string) => `card ranges ${directory}`

const addState = statement<object>(`insert into directory_state (directory, version) values ($1, 0) on conflict do nothing`)
const bringForward = statement<object>(`update duty set due_at = least(due_at, $2) where name = $1`)
const forgetAsked = statement<object>(`update directory_state set asked_at = null where directory = $1`)

const state = entities<StateRow>(`
  select directory, version, serial_num, ds_start_version as start, ds_end_version as "end", asked_at
  from directory_state where directory = any ($1::text[])`)

/**
 * These three write only while the caller holds the lease, and the changes that go with them are
 * skipped otherwise: a process that was taken over changes nothing.
 */
const countTry = statement<{ tries: number }>(`update duty set tries = tries + 1 where name = $1 and lease = $2 returning tries`)
const letGo = statement<object>(`
  update duty set due_at = $3, lease = null, tries = case when $4::text is null then 0 else tries end, error = $4
  where name = $1 and lease = $2 returning name`)
const postpone = statement<object>(`update duty set due_at = $3, lease = null where name = $1 and lease = $2`)

const noteAsked = statement<object>(`update directory_state set asked_at = $2 where directory = $1`)
const forgetSerial = statement<object>(`update directory_state set serial_num = null where directory = $1`)
const noteRefreshed = statement<object>(`
  update directory_state set version = version + $2::int, serial_num = $3, ds_start_version = $4, ds_end_version = $5,
    refreshed_at = $6, left_out_count = coalesce($7, left_out_count), left_out = coalesce($8, left_out)
  where directory = $1`)
const removeRanges = statement<object>(`
  delete from card_range c using json_to_recordset($2) as n (start_range text, end_range text)
  where c.directory = $1 and c.start_range = n.start_range and c.end_range = n.end_range`)
const writeRanges = statement<object>(`
  insert into card_range (directory, start_range, end_range, acs_start_version, acs_end_version,
    ds_start_version, ds_end_version, acs_info_ind, method_url)
  select $1, start_range, end_range, acs_start_version, acs_end_version,
    ds_start_version, ds_end_version, acs_info_ind, method_url
  from json_to_recordset($2) as n (start_range text, end_range text, acs_start_version text, acs_end_version text,
    ds_start_version text, ds_end_version text, acs_info_ind text[], method_url text)
  on conflict (directory, start_range, end_range) do update set acs_start_version = excluded.acs_start_version,
    acs_end_version = excluded.acs_end_version, ds_start_version = excluded.ds_start_version,
    ds_end_version = excluded.ds_end_version, acs_info_ind = excluded.acs_info_ind, method_url = excluded.method_url`)
const readRanges = entities<CardRange>(`
  select directory, start_range, end_range, acs_start_version as acs_start_protocol_version,
    acs_end_version as acs_end_protocol_version, ds_start_version as ds_start_protocol_version,
    ds_end_version as ds_end_protocol_version, acs_info_ind, method_url as "threeDSMethodURL"
  from card_range where directory = $1`)

/** Ranges per statement; a full load of a large network has more than a hundred thousand. */
const chunk = 2_000
/** How many entries that were left out are stored to be shown; the others are only counted. */
const mostKept = 20

interface StateRow extends Interval {
  directory: string
  version: bigint
  serialNum?: string
  askedAt?: number
}

export interface DirectoryState {
  /** At least one full load was stored. */
  loaded: boolean
  serialNum?: string
  /** The versions that the directory server itself speaks, as last reported. */
  speaks: Interval
  /** When it was last asked, as far as it may have noticed. */
  askedAt?: number
}

export interface Interval {
  start?: string
  end?: string
}

/**
 * Creates the rows of a directory server that has none. `now` makes its duty due immediately,
 * whenever it was last asked.
 */
export async function enterDirectory(pool: Pool, directory: string, at: number, now: boolean): Promise<void> {
  await pool.run(addState, [directory])
  await enterDuty(pool, dutyOf(directory), at)
  if (!now) return
  await pool.run(forgetAsked, [directory])
  await pool.run(bringForward, [dutyOf(directory), timestamp(at)])
}

/** Takes the duty of a directory server. */
export const claimRefresh = (pool: Pool, directory: string, by: Claimer, now: number): Promise<ClaimedDuty> =>
  claimDuty(pool, dutyOf(directory), by, now)

export async function readState(pool: Pool, directory: string): Promise<DirectoryState> {
  const [row] = await pool.run(state, [[directory]])
  return {
    loaded: (row?.version ?? 0n) > 0n,
    speaks: intervalOf(row),
    ...defined({ serialNum: row?.serialNum, askedAt: row?.askedAt }),
  }
}

/**
 * Records, before the request, that the directory server is asked. Returns the number of tries
 * since the last success, or undefined if another process owns the lease by now.
 */
export const beginTry = (pool: Pool, directory: string, processId: bigint, now: number): Promise<number | undefined> =>
  transaction(pool, async (runner) => {
    const [row] = await runner.run(countTry, [dutyOf(directory), processId])
    if (row) await runner.run(noteAsked, [directory, timestamp(now)])
    return row?.tries
  })

/**
 * From now on all ranges are requested from the directory server; the stored ranges stay until it
 * answers.
 */
export async function forgetSerialNumber(pool: Pool, directory: string): Promise<void> {
  await pool.run(forgetSerial, [directory])
}

/** Postpones the duty without a try. */
export async function putOff(pool: Pool, directory: string, processId: bigint, due: number): Promise<void> {
  await pool.run(postpone, [dutyOf(directory), processId, timestamp(due)])
}

/** Ends a try that failed. `unnoticed`: the directory server certainly did not count it. */
export const endFailed = (
  pool: Pool,
  directory: string,
  processId: bigint,
  failure: { why: string; unnoticed: boolean; due: number },
): Promise<void> =>
  transaction(pool, async (runner) => {
    const [mine] = await runner.run(letGo, [dutyOf(directory), processId, timestamp(failure.due), failure.why])
    if (mine && failure.unnoticed) await runner.run(forgetAsked, [directory])
  })

export interface Refreshed {
  change: RangeChange
  serialNum: string | undefined
  speaks: Interval
  /** Entries of a full load that cannot be used, each with the reason; undefined for a delta. */
  leftOut?: readonly string[] | undefined
  at: number
  /** When to ask it next. */
  due: number
}

/**
 * Stores the changes of a full load or a delta, and the end of the duty, in one transaction. False
 * if another process owns the lease by now; then nothing is stored.
 */
export const endRefreshed = (
  pool: Pool,
  directory: string,
  processId: bigint,
  { change, serialNum, speaks, leftOut, at, due }: Refreshed,
): Promise<boolean> =>
  transaction(pool, async (runner) => {
    const [mine] = await runner.run(letGo, [dutyOf(directory), processId, timestamp(due), null])
    if (!mine) return false
    const [before] = await runner.run(state, [[directory]])
    for (const some of inChunks(change.removed)) await runner.run(removeRanges, [directory, asJson(some.map(rowOf))])
    for (const some of inChunks(change.written)) await runner.run(writeRanges, [directory, asJson(some.map(rowOf))])
    const then = intervalOf(before)
    const isChange = change.removed.length + change.written.length > 0 || then.start !== speaks.start || then.end !== speaks.end
    await runner.run(noteRefreshed, [
      directory,
      isChange ? 1 : 0,
      serialNum ?? null,
      speaks.start ?? null,
      speaks.end ?? null,
      timestamp(at),
      leftOut?.length ?? null,
      leftOut?.slice(0, mostKept) ?? null,
    ])
    return true
  })

const inChunks = (ranges: readonly CardRange[]): CardRange[][] =>
  Array.from({ length: Math.ceil(ranges.length / chunk) }, (_, i) => ranges.slice(i * chunk, (i + 1) * chunk))

/** The ranges of one directory server as it sent them. */
export const rangesOf = (runner: Runner, directory: string): Promise<CardRange[]> => runner.run(readRanges, [directory])

const rowOf = (range: CardRange) => ({
  start_range: range.startRange,
  end_range: range.endRange,
  acs_start_version: range.acsStartProtocolVersion,
  acs_end_version: range.acsEndProtocolVersion,
  ds_start_version: range.dsStartProtocolVersion,
  ds_end_version: range.dsEndProtocolVersion,
  acs_info_ind: range.acsInfoInd,
  method_url: range.threeDSMethodURL,
})

const intervalOf = (row: Interval | undefined): Interval => defined({ start: row?.start, end: row?.end })

export interface LiveRanges {
  current(): LoadedRanges
  /** Loads now what was stored since the last read. */
  refresh(): Promise<void>
  stop(): void
}

/**
 * Keeps the ranges of these directory servers in memory: reads their versions every second, and the
 * ranges of a directory server when its version has risen. If a read fails, the old ranges stay.
 */
export async function watchRanges(pool: Pool, clock: Clock, log: Log, directories: readonly string[]): Promise<LiveRanges> {
  const known = new Map<string, { version: bigint; ranges: CardRange[] }>()
  let current = liveOf(known)
  let stopped = false
  await look()
  let cancel = clock.after(1_000, tick)

  function tick() {
    void look()
      .catch((error) => log.warn({ reason: reasonOf(error) }, 'the card ranges could not be read again'))
      .finally(() => {
        if (!stopped) cancel = clock.after(1_000, tick)
      })
  }

  async function look() {
    const rows = await pool.run(state, [[...directories]])
    const changed = rows.filter((row) => row.version !== (known.get(row.directory)?.version ?? 0n))
    if (changed.length === 0) return
    // The version was read first: ranges that are newer than it are loaded once more next time.
    for (const row of changed)
      known.set(row.directory, { version: row.version, ranges: filledIn(await rangesOf(pool, row.directory), intervalOf(row)) })
    current = liveOf(known)
  }

  return {
    current: () => current,
    refresh: look,
    stop() {
      stopped = true
      cancel()
    },
  }
}

const liveOf = (known: ReadonlyMap<string, { version: bigint; ranges: CardRange[] }>) => {
  const loaded = new Set(known.keys())
  return {
    ...openRanges([...known.values()].flatMap(({ ranges }) => ranges)),
    loaded: (directory: string) => loaded.has(directory),
  }
}

/**
 * If a range has no versions of the directory server, those that the directory server reported for
 * itself are used.
 */
const filledIn = (ranges: readonly CardRange[], { start, end }: Interval): CardRange[] =>
  ranges.map((range) => ({
    ...defined({ dsStartProtocolVersion: start, dsEndProtocolVersion: end }),
    ...range,
  }))
