import { entities, type Runner } from '../../storage/pool.ts'
import {
  attachPiece,
  detachPiece,
  noteDetached,
  partitionSpans,
  pieceOf,
  withPartitionsHeld,
  type DetachedNote,
  type PartitionPiece,
  type Span,
} from '../../storage/detached.ts'
import { connectedAs } from '../../storage/roles.ts'
import type { CellDesk, OrderDesk } from '../desk.ts'
import { Refused, unfit } from '../refused.ts'
import type { PartitionNeed } from './words.ts'
import { changeInCell } from '../change.ts'
import { needsOf } from './needs.ts'

/** The detached partitions, and those that had to stay. */
export interface DoneAndLeft<Why> {
  done: bigint[]
  left: (Why & { number: bigint })[]
}

/**
 * What has to be off before the second look: an order changes through the row in `orders`, whose
 * version each change checks, and a callback through its own.
 */
const first: ReadonlySet<string> = new Set(['orders', 'delivery'])

/** Runs what only one command does at a time, and only as the owner of the tables. */
export async function asKeeper<T>({ pool }: CellDesk, work: () => Promise<T>): Promise<T> {
  if (!(await connectedAs(pool)).isOwner) throw new Refused({ what: 'owner needed' })
  const done = await withPartitionsHeld(pool, async () => ({ result: await work() }))
  if (!done) throw new Refused({ what: 'partitions held' })
  return done.result
}

/** Partitions before can be detached: returns and disputes of a payment come for about so long. */
const latestAt = (now: number): number => now - 180 * 86_400_000

export function refuseLate(before: number, now: number): void {
  if (before > latestAt(now))
    throw new Refused(unfit('before', 'a time at least 180 days ago: younger payments may still be returned'))
}

/** Detaches what lies before the time, and finishes what an earlier command began. */
export function detachPartitions(
  desk: OrderDesk,
  cell: CellDesk,
  before: number,
): Promise<DoneAndLeft<{ needs: PartitionNeed[] }>> {
  const { pool } = cell
  return asKeeper(cell, async () => {
    const result: DoneAndLeft<{ needs: PartitionNeed[] }> = { done: [], left: [] }
    const spans = await partitionSpans(pool)
    const whole = spans.filter((span) => !isBegun(span))
    const partly = spans.filter((span) => isBegun(span) && span.note === undefined)
    // PostgreSQL hides one partition of a table at a time, so what was interrupted comes first.
    for (const span of [...partly, ...whole]) {
      const times = await timesOf(pool, span)
      if (!times || (!isBegun(span) && times.lastAt >= before)) continue
      const endedBefore = isBegun(span) ? latestAt(desk.clock.now()) : before
      const needs = await detachSpan(desk, cell, span, { endedBefore, times })
      if (needs.length === 0) result.done.push(span.number)
      else result.left.push({ number: span.number, needs })
    }
    return result
  })
}

export const isBegun = ({ pieces }: Span): boolean => pieces.some(({ state }) => state !== 'attached')

/** Without needs it is detached. */
async function detachSpan(
  desk: OrderDesk,
  cell: CellDesk,
  span: Span,
  { endedBefore, times }: { endedBefore: number; times: Times },
): Promise<PartitionNeed[]> {
  const { pool } = cell
  const needs = await needsOf(desk, cell, span, endedBefore)
  if (needs.length > 0 && !isBegun(span)) return needs
  await note(desk, cell, span)
  const isFirst = ({ table }: PartitionPiece) => first.has(table)
  for (const piece of span.pieces.filter(isFirst)) await detachPiece(pool, piece)
  // No process can change these orders now; what began before the first look is over, and is seen.
  const lateNeeds = await needsOf(desk, cell, span, endedBefore)
  if (lateNeeds.length > 0) {
    await putBack(desk, cell, span)
    return lateNeeds
  }
  for (const piece of span.pieces.filter((one) => !isFirst(one))) await detachPiece(pool, piece)
  await note({ ...desk, action: 'partitions detached' }, cell, span, { body: (runner) => noteDetached(runner, span, times) })
  return []
}

async function putBack(desk: OrderDesk, cell: CellDesk, span: Span): Promise<void> {
  const { pool } = cell
  const now = (await partitionSpans(pool)).find(({ number }) => number === span.number)!
  for (const piece of now.pieces) {
    if (piece.state === 'detaching') await detachPiece(pool, piece)
    if (piece.state !== 'attached') await attachPiece(pool, piece, span)
  }
  await note({ ...desk, action: 'partitions attached' }, cell, span)
}

type Times = Pick<DetachedNote, 'firstAt' | 'lastAt'>

/** When the first and the last order was made; undefined without orders. */
async function timesOf(runner: Runner, span: Span): Promise<Times | undefined> {
  const [times] = await runner.run(
    entities<Times>(`
      select min(created_at) as first_at, max(created_at) as last_at from ${pieceOf(span, 'orders').name}
      having min(created_at) is not null`),
  )
  return times
}

/** A line of the audit trail about a partition, with what is done in the same transaction. */
export const note = (
  desk: OrderDesk,
  cell: CellDesk,
  { number, from, to }: Span,
  { body, details }: { body?: (runner: Runner) => Promise<void>; details?: object } = {},
): Promise<void> =>
  changeInCell(desk, cell, async (runner) => {
    await body?.(runner)
    const ids = { from: Number(from), to: Number(to - 1n) }
    return { note: { subject: `partition ${number}`, details: { ...ids, ...details } }, result: undefined }
  })
