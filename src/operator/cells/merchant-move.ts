/**
 * The course of a move of a merchant to another cell, over whatever stores the rows. Rows are
 * copied first; what changes meanwhile is noted by whoever changes it (storage/store-fence.ts) and
 * copied again. The end is a fence in the old cell: nothing is committed there any more, the last
 * notes are copied, and the configuration names the new cell. The merchant's requests wait that
 * long.
 *
 *   old cell     new cell    configuration   what a command does that finds it so
 *   no fence     –           old             begins
 *   leaving      – or        old             begins anew: nobody knows what the copy lacks
 *                arriving
 *   left         arriving    old             goes on: copies the last notes and opens the new cell
 *   left         no fence    old             goes on: changes the configuration
 *   left         no fence    new             removes the rows in the old cell
 *
 * To give a move up, the fence of the new cell turns to `left` and that of the old one is removed.
 * That is possible until the new cell has no fence: from then on it works for the merchant.
 */
import { sleep, type Clock } from '../../base/clock.ts'
import { Refused } from '../refused.ts'

export type MoveState = 'leaving' | 'left' | 'arriving'

/** The progress of a move, reported while it runs. */
export type MoveStep =
  | { is: 'copying'; orders: number }
  | { is: 'catching up'; changed: number }
  | { is: 'moved'; pausedMs: number }
  | { is: 'clearing' }

export interface Moved {
  /** The cell that it came from; absent if a command before had moved it already. */
  from?: number
  /** How long its requests had to wait at most, but for the time until the gateways noticed. */
  pausedMs: number
  /** Orders removed from the old cell. */
  removed: number
}

/** The fence around one merchant in one cell, for one command. */
export interface FenceOfCell {
  cellNo: number
  read(): Promise<{ state: MoveState; otherCell: number } | undefined>
  /** From now on no other command writes, if the fence is in this state. */
  takeOver(state: MoveState): Promise<void>
  /** False if another command has taken the move over. */
  turn(state: MoveState): Promise<boolean>
  /**
   * Resolves when every transaction that did not see the fence is over; rejects if one of them
   * takes longer than `barrierMs`.
   */
  passBarrier(): Promise<void>
  isResealing(): Promise<boolean>
}

/**
 * The rows of a merchant on their way between two cells. What writes rejects if another command has
 * taken the move over. The simulation replaces this with its model.
 */
export interface MoveTables {
  from: FenceOfCell
  to: FenceOfCell
  /** Processes that work on the merchant's orders, and do not serve the new cell. */
  ownersWithoutNew(): Promise<string[]>
  /** Writes into the audit trail that a move begins. */
  begin(): Promise<void>
  /**
   * The old cell notes changes from now on. False if another command has closed it: then that one
   * may have opened the new cell, which has the only copy of what was paid there since.
   */
  leaveOld(): Promise<boolean>
  /**
   * Nothing is written in the new cell but the copy. Holds the old one, so that nobody closes it.
   */
  arriveInNew(): Promise<void>
  /** Removes what an earlier copy left in the new cell. */
  clearNew(): Promise<void>
  /** Copies everything that is there now; `copied` gets the number of orders so far. */
  copyAll(copied: (orders: number) => void | Promise<void>): Promise<void>
  /** Copies again what was noted; returns how much. */
  copyNotes(): Promise<number>
  /** Copies what has changed, since the call before, in tables that are compared as a whole. */
  copyWhole(): Promise<void>
  /** The same processes go on with the merchant's rows in the new cell. */
  giveLeasesOn(): Promise<void>
  /** In the old cell nobody works on them any more. */
  endLeases(): Promise<void>
  openNew(): Promise<void>
  /** The configuration names the new cell; rejects if it no longer names the old one. */
  nameNew(): Promise<void>
}

export interface MoveDesk {
  clock: Clock
  login: string
  /** The cell in which the configuration has the merchant. */
  placed(): Promise<number>
  between(from: number, to: number): MoveTables
  /** Cells in which the merchant may have been before. */
  behind(isIn: number): Promise<readonly CellBehind[]>
}

export interface CellBehind {
  hasLeft(): Promise<boolean>
  /**
   * Removes the rows of the merchant, unless it comes back meanwhile; returns how many orders there
   * were. The fence stays.
   */
  removeRows(): Promise<number>
}

/** The move goes on once this has resolved. */
export type ReportMove = (step: MoveStep) => void | Promise<void>

/** A round of changes that is copied within this time is short enough for the pause. */
const quickMs = 500
const mostRounds = 50
/** How long a writer that began before the fence may take. */
export const barrierMs = 1_500
/** Every gateway has read the configuration by then: they look every second. */
const readWithinMs = 5_000

/** Safe to repeat after a failure, and then goes on. */
export async function runMove(desk: MoveDesk, to: number, report: ReportMove): Promise<Moved> {
  const from = await desk.placed()
  if (from === to) return { pausedMs: 0, removed: await clearBehind(desk.behind, to, report) }
  const tables = desk.between(from, to)
  const fences = { from: await tables.from.read(), to: await tables.to.read() }
  refuseOtherMove(fences, { login: desk.login, from, to })
  // A move that was cut off in its pause goes on whatever is under way: the merchant waits for it.
  if (fences.from?.state === 'left') await goOn(tables)
  else await copyToNew(desk, tables, report)
  const pausedMs = await close(desk, tables, report)
  await sleep(desk.clock, readWithinMs)
  return { from, pausedMs, removed: await clearBehind(desk.behind, to, report) }
}

type Fences = Record<'from' | 'to', Awaited<ReturnType<FenceOfCell['read']>>>

/** A fence that is left from an earlier move into the other direction is none. */
function refuseOtherMove(
  { from: old, to: fresh }: Fences,
  { login, from, to }: { login: string; from: number; to: number },
): void {
  const other = old?.state === 'leaving' || old?.state === 'left' ? old.otherCell : undefined
  if (other !== undefined && other !== to) throw new Refused({ what: 'merchant moving', login, to: other })
  if (fresh?.state === 'arriving' && fresh.otherCell !== from) throw new Refused({ what: 'merchant moving', login, to })
}

/**
 * Refuses while values are sealed again, because a copy would miss some, and while a process works
 * on the merchant's orders that does not serve the new cell, because it could not store their
 * outcomes.
 */
async function refuseUnfit(tables: MoveTables): Promise<void> {
  for (const cell of [tables.from, tables.to])
    if (await cell.isResealing()) throw new Refused({ what: 'cell resealing', cellNo: cell.cellNo })
  const processes = await tables.ownersWithoutNew()
  if (processes.length > 0) throw new Refused({ what: 'cell not served', cellNo: tables.to.cellNo, processes })
}

/** A command before this one closed the old cell: everything is copied but the last notes. */
async function goOn({ from, to }: MoveTables): Promise<void> {
  await from.takeOver('left')
  await to.takeOver('arriving')
}

async function copyToNew({ clock, login }: MoveDesk, tables: MoveTables, report: ReportMove): Promise<void> {
  await refuseUnfit(tables)
  await tables.begin()
  if (!(await tables.leaveOld())) throw new Refused({ what: 'move taken over' })
  await tables.arriveInNew()
  await tables.from.passBarrier()
  await tables.clearNew()
  await tables.copyAll((orders) => report({ is: 'copying', orders }))
  for (let round = 0; round < mostRounds; round++) {
    const began = clock.monotonic()
    const changed = await tables.copyNotes()
    await report({ is: 'catching up', changed })
    if (clock.monotonic() - began < quickMs) return refuseUnfit(tables)
  }
  throw new Refused({ what: 'merchant too busy', login })
}

/** The pause. Returns how long it was. */
async function close({ clock }: MoveDesk, tables: MoveTables, report: ReportMove): Promise<number> {
  const { from, to } = tables
  const isOpened = (await to.read())?.state !== 'arriving'
  if (!isOpened) await tables.copyWhole()
  const began = clock.monotonic()
  await turn(from, 'left')
  if (!isOpened) {
    await from.passBarrier().catch((error) => reopen(from, error))
    await tables.copyNotes()
    await tables.copyWhole()
    await tables.giveLeasesOn()
    await tables.endLeases()
    await tables.openNew()
  }
  await tables.nameNew()
  const pausedMs = Math.round(clock.monotonic() - began)
  await report({ is: 'moved', pausedMs })
  return pausedMs
}

async function turn(cell: FenceOfCell, state: MoveState): Promise<void> {
  if (!(await cell.turn(state))) throw new Refused({ what: 'move taken over' })
}

/** A writer takes too long: the merchant goes on in the old cell, and the move is tried again. */
async function reopen(from: FenceOfCell, error: unknown): Promise<never> {
  await turn(from, 'leaving')
  throw error
}

/** Removes the rows of a merchant from every cell that it has left. */
export async function clearBehind(behind: MoveDesk['behind'], isIn: number, report: ReportMove): Promise<number> {
  let removed = 0
  for (const cell of await behind(isIn)) {
    if (!(await cell.hasLeft())) continue
    await report({ is: 'clearing' })
    removed += await cell.removeRows()
  }
  return removed
}
