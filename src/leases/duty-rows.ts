/** Duties: periodic work that one process does for all. A duty is a row, leased like other work. */
import { isFree, type Claimer } from './leased.ts'
import { statement, timestamp, type Pool } from '../storage/pool.ts'
import { deadAfterMs, leaseLookMs } from './heartbeat.ts'

const enter = statement<object>(`
  insert into duty (name, due_at, lease, tries, error) values ($1, $2, null, 0, null) on conflict do nothing`)
/**
 * Takes a duty if it is due and its lease is free, a dead process's or the caller's own. One
 * statement, so that only one of two processes gets it.
 */
const claim = statement<{ place: unknown }>(`
  with due as (
    select d.name from duty d
    where d.name = $2 and d.due_at <= $3
      and ${isFree('d', { me: '$1', silent: '$6', deadAfterMs: '$5' })}
    for update of d skip locked)
  update duty d set lease = $1, due_at = $4 from due where d.name = due.name
  returning d.place`)
const dueAt = statement<{ due_at: number }>(`select due_at from duty where name = $1`)
/** A process that was taken over notes nothing. */
const note = statement<object>(`
  update duty set place = $3, due_at = $4, lease = case when $5 then null else lease end where name = $1 and lease = $2`)

/** Creates a duty that is not there yet. */
export async function enterDuty(pool: Pool, name: string, at: number): Promise<void> {
  await pool.run(enter, [name, timestamp(at)])
}

export type ClaimedDuty =
  /** `place` is what was noted last; null at the beginning. */
  { is: 'mine'; place: unknown } | { is: 'not due'; lookAt: number }

/** Takes a duty. If it is not due, or a live process owns it, returns when to check again. */
export async function claimDuty(pool: Pool, name: string, { processId, silent }: Claimer, now: number): Promise<ClaimedDuty> {
  const values = [processId, name, timestamp(now), timestamp(now + leaseLookMs), deadAfterMs, [...silent]]
  const [mine] = await pool.run(claim, values)
  if (mine) return { is: 'mine', place: mine.place }
  const [row] = await pool.run(dueAt, [name])
  const due = row?.due_at ?? now
  return { is: 'not due', lookAt: due > now ? due : now + leaseLookMs }
}

/** Notes how far the duty is, and when it goes on. `letGo`: any process may go on then. */
export async function noteDuty(
  pool: Pool,
  name: string,
  processId: bigint,
  { place, due, letGo }: { place: object; due: number; letGo: boolean },
): Promise<void> {
  await pool.run(note, [name, processId, JSON.stringify(place), timestamp(due), letGo])
}
