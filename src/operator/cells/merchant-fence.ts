/**
 * The fence of a merchant that moves, as the commands set it: a row in each of the two cells, with
 * the number of the command that owns the move. A command that has lost it to another one can
 * change nothing more.
 */
import { statement, type Pool, type Runner } from '../../storage/pool.ts'
import { transaction } from '../../storage/transaction.ts'
import type { CellDesk } from '../desk.ts'
import { inCell } from './in-cells.ts'
import { barrierMs, type MoveState } from './merchant-move.ts'
import { Refused } from '../refused.ts'

export interface Fence {
  state: MoveState
  otherCell: number
  mover: string
}

/** A merchant, and the command that moves it. */
export interface Mover {
  merchantId: bigint
  mover: string
}

const read = statement<{ state: MoveState; other_cell: number; mover: string }>(
  `select state, other_cell, mover from merchant_move where merchant_id = $1`,
)
/** Not over a fence that is closed: a command may have been late, and another one finished. */
const leave = statement<object>(`
  insert into merchant_move as m (merchant_id, state, other_cell, mover) values ($1, 'leaving', $2, $3)
  on conflict (merchant_id) do update set other_cell = excluded.other_cell, mover = excluded.mover where m.state = 'leaving'
  returning merchant_id`)
const arrive = statement<object>(`
  insert into merchant_move (merchant_id, state, other_cell, mover) values ($1, 'arriving', $2, $3)
  on conflict (merchant_id) do update set state = excluded.state, other_cell = excluded.other_cell, mover = excluded.mover`)
const takeOver = statement<object>(`update merchant_move set mover = $2 where merchant_id = $1 and state = $3`)
const shut = statement<object>(
  `update merchant_move set state = 'left', mover = $2 where merchant_id = $1 and state = 'arriving' and mover = $3
   returning merchant_id`,
)
const hold = statement<object>(`select from merchant_move where merchant_id = $1 and mover = $2 for update`)
const turn = statement<object>(`update merchant_move set state = $3 where merchant_id = $1 and mover = $2 returning merchant_id`)
const drop = statement<object>(`delete from merchant_move where merchant_id = $1 and mover = $2 returning merchant_id`)
const lock = statement<object>('lock table merchant_move in access exclusive mode')
/** Citus waits for the locks of other nodes without a limit of its own; a statement has one. */
const waitFor = statement<object>(
  `select set_config('lock_timeout', $1, true), set_config('statement_timeout', $1::int + 100 || 'ms', true)`,
)
const takeNotes = statement<{ order_id: bigint | null; invoice_id: string | null }>(
  `delete from merchant_move_note where merchant_id = $1 returning order_id, invoice_id`,
)

export const fenceIn = (cell: CellDesk, merchantId: bigint): Promise<Fence | undefined> =>
  inCell(cell, async ({ pool }) => {
    const [row] = await pool.run(read, [merchantId])
    return row && { state: row.state, otherCell: row.other_cell, mover: row.mover }
  })

/** False if the old cell is closed. */
export const leaveOld = async (pool: Pool, { merchantId, mover }: Mover, to: number): Promise<boolean> =>
  (await pool.run(leave, [merchantId, to, mover])).length > 0

export const arriveInNew = async (pool: Pool, { merchantId, mover }: Mover, from: number): Promise<void> => {
  await pool.run(arrive, [merchantId, from, mover])
}

/** The command that owned the move can do nothing more. */
export const takeFenceOver = async (pool: Pool, { merchantId, mover }: Mover, state: MoveState): Promise<void> => {
  await pool.run(takeOver, [merchantId, mover, state])
}

const isOurs = (rows: readonly object[]): void => {
  if (rows.length === 0) throw new Refused({ what: 'move taken over' })
}

/** The merchant does not arrive. Nothing of it is written there until it is moved there again. */
export const shutFence = async (pool: Pool, { merchantId, mover }: Mover, was: Fence): Promise<void> =>
  isOurs(await pool.run(shut, [merchantId, mover, was.mover]))

/** A transaction in one of the cells, if no other command has taken the move over. */
export const heldIn = <T>(pool: Pool, { merchantId, mover }: Mover, body: (runner: Runner) => Promise<T>): Promise<T> =>
  transaction(pool, async (runner) => {
    isOurs(await runner.run(hold, [merchantId, mover]))
    return body(runner)
  })

/** False if another command has taken the move over. */
export const turnFence = async (pool: Pool, { merchantId, mover }: Mover, state: MoveState): Promise<boolean> =>
  (await pool.run(turn, [merchantId, mover, state])).length > 0

export const dropFence = async (runner: Runner, { merchantId, mover }: Mover): Promise<void> =>
  isOurs(await runner.run(drop, [merchantId, mover]))

/** What was changed since it was last copied. The notes are gone when the transaction commits. */
export async function notesOf(runner: Runner, merchantId: bigint): Promise<{ orders: bigint[]; invoices: string[] }> {
  const notes = await runner.run(takeNotes, [merchantId])
  return {
    orders: [...new Set(notes.flatMap(({ order_id: id }) => (id === null ? [] : [id])))],
    invoices: [...new Set(notes.flatMap(({ invoice_id: id }) => (id === null ? [] : [id])))],
  }
}

/** Each transaction that writes rows of a merchant holds a lock on its table until the end. */
export const passBarrier = (pool: Pool): Promise<void> =>
  transaction(pool, async (runner) => {
    await runner.run(waitFor, [String(barrierMs)])
    await runner.run(lock)
  }).catch((error: { code?: string }) => {
    throw tookTooLong.has(error.code ?? '') ? new Refused({ what: 'writers slow', forMs: barrierMs }) : error
  })
/** A lock that is not available, or a statement that is cancelled. */
const tookTooLong = new Set(['55P03', '57014'])
