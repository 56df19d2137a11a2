/** How changes are made: each is one transaction with its line in the audit trail. */
import { touchConfig } from '../merchant/rows.ts'
import type { Runner } from '../storage/pool.ts'
import { appendAudit, holdChain, lockTimeoutMs, TrailHeld } from '../storage/audit-rows.ts'
import { transaction } from '../storage/transaction.ts'
import type { CellDesk, Changed, Desk } from './desk.ts'
import { keepChange } from './history/setting-changes.ts'
import { inCell, refuseWhileMoving } from './in-cells.ts'
import { Refused } from './refused.ts'

/** The subject of a change; the desk adds the action. `details` never contains a secret. */
export interface Note {
  /** For example `merchant shop` or `order 1000001`. */
  subject: string
  details?: object
}

/** An entity before a change of its settings and after it. */
export interface Versions<Entity> {
  before: Entity
  after: Entity
}

/** A change of the configuration says of which entity its history gets a row, if of any. */
type Done<T, Touches> = { note: Note; result: T } & (Touches extends 'config' ? { of: Changed | undefined } : unknown)

/**
 * One change by an operator: the change, its row in the history and its line in the audit trail are
 * one transaction, which a dry run rolls back. Changes come one after the other, since each line
 * continues the chain; the end of the chain is held before `body` locks anything.
 * `config`: running gateways reload merchants, endpoints and gates within a second.
 */
export async function change<T, Touches extends 'config' | 'orders'>(
  desk: Desk,
  touches: Touches,
  body: (runner: Runner) => Promise<Done<T, Touches>>,
): Promise<T> {
  const whole = async (runner: Runner) => {
    await holdChain(runner).catch(refuseHeld)
    await desk.dryRun?.(runner)
    const { note, result, of }: Done<T, 'orders'> & { of?: Changed | undefined } = await body(runner)
    if (of) await keepChange(runner, desk, of)
    await appendAudit(runner, { details: {}, ...note, action: desk.action, who: desk.who })
    if (touches === 'config') await touchConfig(runner)
    if (of) await desk.dryRun?.(runner, of)
    return result
  }
  return transaction(desk.pool, whole, desk.dryRun && 'rollback')
}

/**
 * A change of orders in a cell; refused while a merchant of it moves. Its line in the audit trail
 * is written first and names the cell: if the database of the cell then fails, there is a line
 * without a change, never a change without a line.
 */
export const changeInCell = <T>(
  desk: Desk,
  cell: CellDesk,
  body: (runner: Runner) => Promise<{ note: Note; result: T }>,
): Promise<T> => {
  const { cellNo } = cell
  const whole = async (runner: Runner) => {
    await refuseWhileMoving(runner, cellNo)
    return body(runner)
  }
  if (cellNo === 0) return change(desk, 'orders', whole)
  const noted = async (runner: Runner) => {
    const { note, result } = await whole(runner)
    await record(desk, { ...note, details: { ...note.details, cell: cellNo } })
    return result
  }
  return inCell(cell, ({ pool }) => transaction(pool, noted, desk.dryRun && 'rollback'))
}

/**
 * A line of a command that changed nothing: it showed cards, or it was refused. The trail is
 * touched and nothing else, so that gateways reload nothing.
 */
export const record = (desk: Desk, note: Note): Promise<void> =>
  change({ ...desk, pool: desk.trail ?? desk.pool }, 'orders', () => Promise.resolve({ note, result: undefined }))

function refuseHeld(error: unknown): never {
  throw error instanceof TrailHeld ? new Refused({ what: 'audit trail held', forMs: lockTimeoutMs }) : error
}
