/** Work in one cell, or in several of them side by side. */
import { reasonOf } from '../base/log.ts'
import { statement, type Runner } from '../storage/pool.ts'
import type { CellDesk } from './desk.ts'
import { Refused } from './refused.ts'

/** The database of a cell failed, or its schema is not at this version. */
export class CellFailed extends Error {
  readonly cellNo: number

  constructor(cellNo: number, cause: unknown) {
    super(`cell ${cellNo}: ${reasonOf(cause)}`, { cause })
    this.cellNo = cellNo
  }
}

/** A failure names the cell; cell 0 is in the database of the installation, which needs no name. */
export async function inCell<Cell extends CellDesk, T>(cell: Cell, work: (cell: Cell) => Promise<T>): Promise<T> {
  try {
    return await work(cell)
  } catch (error) {
    if (cell.cellNo === 0 || error instanceof Refused) throw error
    throw new CellFailed(cell.cellNo, error)
  }
}

/** Cells that failed, by their numbers, which were left out from then on. */
export type Missed = Map<number, CellFailed>

/**
 * Work in all cells side by side; the results are in the order of the cells. Fails if one of them
 * does, once the others are done: no cell is passed over, except into `missed`.
 */
export async function inEach<T>(cells: readonly CellDesk[], work: (cell: CellDesk) => Promise<T>, missed?: Missed) {
  const asked = cells.filter(({ cellNo }) => !missed?.has(cellNo))
  return resultsOf(await Promise.allSettled(asked.map((cell) => inCell(cell, work))), missed)
}

/** The same one after the other, for heavy work; those after a cell that failed are done too. */
export async function inTurn<Cell extends CellDesk, T>(cells: readonly Cell[], work: (cell: Cell) => Promise<T>): Promise<T[]> {
  const ended: PromiseSettledResult<T>[] = []
  for (const cell of cells) ended.push(...(await Promise.allSettled([inCell(cell, work)])))
  return resultsOf(ended)
}

const resultsOf = <T>(ended: readonly PromiseSettledResult<T>[], missed?: Missed): T[] =>
  ended.flatMap((one) => {
    if (one.status === 'fulfilled') return [one.value]
    if (!missed || !(one.reason instanceof CellFailed)) throw one.reason
    missed.set(one.reason.cellNo, one.reason)
    return []
  })

/**
 * The first rows of all cells, from the first rows of each; `compare` never calls two rows equal.
 */
export async function firstOfAll<Row>(
  cells: readonly CellDesk[],
  limit: number,
  compare: (a: Row, b: Row) => number,
  work: (cell: CellDesk) => Promise<Row[]>,
  missed?: Missed,
): Promise<Row[]> {
  const rows = (await inEach(cells, work, missed)).flat()
  return cells.length === 1 ? rows : rows.sort(compare).slice(0, limit)
}

/**
 * What one cell alone can have. A cell that fails could have it, and does not matter once another
 * one has.
 */
export async function whereItIs<T>(
  cells: readonly CellDesk[],
  look: (cell: CellDesk) => Promise<T | undefined>,
): Promise<T | undefined> {
  const looks = await Promise.allSettled(cells.map((cell) => inCell(cell, look)))
  const found = looks.find((one) => one.status === 'fulfilled' && one.value !== undefined)
  if (found?.status === 'fulfilled') return found.value
  for (const one of looks) if (one.status === 'rejected') throw one.reason
  return undefined
}

const moving = statement<object>(`select from merchant_mover limit 1`)

/** For a transaction that changes rows of merchants: a move that copies them could miss it. */
export async function refuseWhileMoving(runner: Runner, cellNo: number): Promise<void> {
  if ((await runner.run(moving)).length > 0) throw new Refused({ what: 'cell moving', cellNo })
}
