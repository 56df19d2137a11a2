/**
 * The course of a move of a merchant to another cell, over whatever stores the rows. Its rows are
 * copied while it pays. Then it is closed: nothing is begun for it, and what runs comes to its end.
 * A fence around the old cell, a last copy of what differs, and the configuration names the new
 * cell. At any moment one cell alone can commit something of the merchant.
 *
 *   state      is in   fences       what a command does that finds it so
 *   –          old     any          begins
 *   copying    old     new          starts the copy again: rows already there are only compared
 *   closed     old     new, or both closes it again, waits, copies what differs and goes on
 *   closed     new     old, or both opens the new cell
 *   clearing   new     old          removes the rows in the old cell
 *   clearing   old     new          the same in the new one: the move was given up
 *
 * State and cell are one row of the configuration. A command marks both cells with its number; each
 * of its transactions checks the mark, so that another command can take the move over at any time.
 */
import { sleep, type Clock } from '../../base/clock.ts'
import { counted, spanText } from '../../base/moments.ts'
import { wordsOf, type Worded } from '../../entity/words.ts'
import type { MoveState } from '../../merchant/merchant.ts'
import { Refused } from '../refused.ts'

/** The progress of a move, reported while it runs. */
const stepWords = {
  copying: ({ orders }: { orders: number }) => `${counted(orders, 'order')} compared and copied …`,
  closed: () => 'closed; waiting for running steps …',
  waiting: ({ steps }: { steps: number }) => `${counted(steps, 'step')} still running …`,
  moved: ({ pausedMs }: { pausedMs: number }) => `moved, with a pause of ${spanText(pausedMs)}.`,
  clearing: () => 'removing its orders from the other cell …',
}
export type MoveStep = Worded<typeof stepWords>
export const stepText = wordsOf(stepWords)

export interface Moved {
  /** The cell that it came from; absent if a command before had moved it already. */
  from?: number
  /** How long nothing was begun for it, but for the time until the gateways noticed. */
  pausedMs: number
  /** Orders removed from the old cell. */
  removed: number
}

/** A move as the configuration has it. */
export interface MoveUnderWay {
  from: number
  to: number
  state: MoveState
  /** The cell of the merchant: one of the two. */
  isIn: number
}

/**
 * The rows of a merchant in two cells, and its row in the configuration. Everything rejects with
 * `move taken over` once another command has the move. The simulation replaces this with its model.
 */
export interface MoveTables {
  /** From now on no other command writes in these cells. */
  mark(): Promise<void>
  /** Gateways write nothing of the merchant in the new cell. */
  fenceNew(): Promise<void>
  /**
   * Copies what differs in the new cell; `looked` gets the number of orders so far. True if
   * anything differed.
   */
  copy(looked: (orders: number) => void | Promise<void>): Promise<boolean>
  close(): Promise<void>
  /**
   * Once nothing of the merchant runs, gateways write nothing of it in the old cell. Resolves with
   * how much still runs: then there is no fence.
   */
  fenceOld(): Promise<number>
  /** The merchant stays in the old cell, and is open again. */
  reopen(state: 'copying' | 'clearing'): Promise<void>
  /** The configuration names the new cell. */
  nameNew(): Promise<void>
  /** Removes the fence of the new cell, and opens the merchant. */
  openNew(): Promise<void>
  /** Removes its rows in the cell where it is not; resolves with how many orders there were. */
  removeRows(): Promise<number>
  /** Nothing of the move is left. */
  end(): Promise<void>
}

export interface MoveDesk {
  clock: Clock
  login: string
  /** Begins a move, or takes one over; undefined if the merchant is there and nothing is left. */
  begin(to: number): Promise<MoveUnderWay | undefined>
  between(move: MoveUnderWay): MoveTables
}

/** The move goes on once this has resolved. */
export type ReportMove = (step: MoveStep) => void | Promise<void>

export interface MoveWish {
  to: number
  /** A pause that is longer ends, and the merchant stays. */
  pauseAtMostMs: number
  report: ReportMove
}

/** A comparison within this time is short enough for the pause. */
const quickMs = 500
const mostRounds = 5
/**
 * Every gateway that is not late has read the configuration by then: they look every second. One
 * that is later looks again before it believes what it reads (gateway/guard.ts).
 */
const noticedWithinMs = 1_500
/** Reads that a gateway began in the old cell have ended by then. */
const readWithinMs = 5_000
const lookEveryMs = 100

/** Safe to repeat after a failure, and then goes on. */
export async function runMove(desk: MoveDesk, wish: MoveWish): Promise<Moved> {
  const moved: Moved = { pausedMs: 0, removed: 0 }
  for (;;) {
    const move = await desk.begin(wish.to)
    if (!move) return moved
    const tables = desk.between(move)
    await tables.mark()
    if (move.state === 'copying') await copyToNew(desk, tables, wish)
    if (move.state !== 'clearing') {
      moved.from = move.from
      moved.pausedMs = await pause(desk, tables, move, wish)
    }
    await sleep(desk.clock, readWithinMs)
    moved.removed += await clear(tables, wish.report)
  }
}

/** Ends a move that has not reached the new cell. */
export async function giveUp(move: MoveUnderWay, tables: MoveTables, report: ReportMove): Promise<number> {
  await tables.mark()
  if (move.state !== 'clearing') await tables.reopen('clearing')
  return clear(tables, report)
}

async function clear(tables: MoveTables, report: ReportMove): Promise<number> {
  await report({ is: 'clearing' })
  const removed = await tables.removeRows()
  await tables.end()
  return removed
}

async function copyToNew({ clock, login }: MoveDesk, tables: MoveTables, wish: MoveWish): Promise<void> {
  const { report, pauseAtMostMs } = wish
  // The sweeps over the new cell have to leave the rows alone.
  await sleep(clock, noticedWithinMs)
  await tables.fenceNew()
  for (let round = 1; ; round++) {
    const began = clock.monotonic()
    const differed = await tables.copy((orders) => report({ is: 'copying', orders }))
    const tookMs = clock.monotonic() - began
    if (differed && round < mostRounds && (round === 1 || tookMs > quickMs)) continue
    if (tookMs > pauseAtMostMs) throw new Refused({ what: 'pause too long', login, atMostMs: pauseAtMostMs, steps: 0 })
    return
  }
}

/** Returns how long the pause was. */
async function pause({ clock, login }: MoveDesk, tables: MoveTables, move: MoveUnderWay, wish: MoveWish): Promise<number> {
  const began = clock.monotonic()
  if (move.isIn === move.from) {
    const demandTime = (steps: number) => {
      const { pauseAtMostMs: atMostMs } = wish
      if (clock.monotonic() - began > atMostMs) throw new Refused({ what: 'pause too long', login, atMostMs, steps })
    }
    await tables.close()
    try {
      await quieten(clock, tables, wish.report, demandTime)
      await tables.copy(() => demandTime(0))
    } catch (error) {
      // If that fails too, the merchant stays closed until the command is given again.
      await tables.reopen('copying').catch(() => {})
      throw error
    }
    await tables.nameNew()
  }
  // Before anything new is in the new cell, no process may look for it in the old one.
  await sleep(clock, noticedWithinMs)
  await tables.openNew()
  const pausedMs = Math.round(clock.monotonic() - began)
  await wish.report({ is: 'moved', pausedMs })
  return pausedMs
}

/** Waits until nothing of the merchant runs, and puts the fence around the old cell. */
async function quieten(clock: Clock, tables: MoveTables, report: ReportMove, demandTime: (steps: number) => void): Promise<void> {
  await report({ is: 'closed' })
  await sleep(clock, noticedWithinMs)
  let reportedAt = -Infinity
  for (;;) {
    const steps = await tables.fenceOld()
    if (steps === 0) return
    demandTime(steps)
    if (clock.monotonic() - reportedAt >= 1_000) {
      reportedAt = clock.monotonic()
      await report({ is: 'waiting', steps })
    }
    await sleep(clock, lookEveryMs)
  }
}
