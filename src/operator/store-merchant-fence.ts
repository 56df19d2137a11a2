/**
 * The fence of a merchant that moves, as the commands set it: a row in each of the two cells, with
 * the number of the command that owns the move. A command that has lost it to another one can
 * change nothing more.
 */
import { statement, type Pool, type Runner } from '../storage/pool.ts'
import { transaction } from '../storage/transaction.ts'
import type { CellDesk } from './desk.ts'
import { inCell } from './in-cells.ts'
import { Refused } from './refused.ts'

export type FenceState = 'leaving' | 'left' | 'arriving'

export interface Fence {
  state: FenceState
  otherCell: number
  mover: string
}

/** A merchant, and the command that moves it. */
export interface Mover {
  merchantId: bigint
  mover: string
}

const read = statement<{ state: FenceState; other_cell: number; mover: string }>(
  `select state, other_cell, mover from merchant_move where merchant_id = $1`,
)
const set = statement<object>(`
  insert into merchant_move as v (merchant_id, state, other_cell, mover) values ($1, $2, $3, $4)
  on conflict (merchant_id) do update set state = excluded.state, other_cell = excluded.other_cell, mover = excluded.mover
  where v.state = $5 and v.mover = $6 returning v.merchant_id`)
const takeOver = statement<object>(`update merchant_move set mover = $2 where merchant_id = $1`)
const shut = statement<object>(
  `update merchant_move set state = 'left', mover = $2 where merchant_id = $1 and state = 'arriving' and mover = $3
   returning merchant_id`,
)
const hold = statement<object>(`select from merchant_move where merchant_id = $1 and mover = $2 for update`)
const turnState = statement<object>(
  `update merchant_move set state = $3 where merchant_id = $1 and mover = $2 returning merchant_id`,
)
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

const isOurs = (rows: readonly object[]): void => {
  if (rows.length === 0) throw new Refused({ what: 'move taken over' })
}

/** In place of the one that was there; refuses if that has changed since. */
export const setFence = async (
  pool: Pool,
  { merchantId, mover }: Mover,
  to: Omit<Fence, 'mover'>,
  was: Fence | undefined,
): Promise<void> =>
  isOurs(await pool.run(set, [merchantId, to.state, to.otherCell, mover, was?.state ?? null, was?.mover ?? null]))

/** The command that owned the move can do nothing more. */
export const takeFenceOver = async (pool: Pool, { merchantId, mover }: Mover): Promise<void> => {
  await pool.run(takeOver, [merchantId, mover])
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

export const turnFence = async (pool: Pool, { merchantId, mover }: Mover, state: FenceState): Promise<void> =>
  isOurs(await pool.run(turnState, [merchantId, mover, state]))

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

/** How long a writer that began before the fence may take. */
const barrierMs = 1_500

/**
 * Resolves when every transaction that did not see the fence is over. Each that writes rows of a
 * merchant holds a lock on its table until the end.
 */
export const passBarrier = (pool: Pool): Promise<void> =>
  transaction(pool, async (runner) => {
    await runner.run(waitFor, [String(barrierMs)])
    await runner.run(lock)
  }).catch((error: { code?: string }) => {
    throw tookTooLong.has(error.code ?? '') ? new Refused({ what: 'writers slow', forMs: barrierMs }) : error
  })
/** A lock that is not available, or a statement that is cancelled. */
const tookTooLong = new Set(['55P03', '57014'])
