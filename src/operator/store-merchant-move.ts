/**
 * Moves a merchant with all its orders to another cell, while it goes on paying. Rows are copied
 * first; what changes meanwhile is noted by whoever changes it (storage/store-fence.ts) and copied
 * again. The end is a fence in the old cell: nothing is committed there any more, the last notes
 * are copied, and the configuration names the new cell. The merchant's requests wait that long.
 *
 *   old cell     new cell    configuration   what a command does that finds it so
 *   no fence     –           old             begins
 *   leaving      arriving    old             begins anew: nobody knows what the copy lacks
 *   left         arriving    old             goes on: copies the last notes and opens the new cell
 *   left         no fence    old             goes on: changes the configuration
 *   left         no fence    new             removes the rows in the old cell
 */
import { sleep } from '../base/clock.ts'
import { uuid } from '../base/random.ts'
import { statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { ensurePartitionsOf, partitionsByNumber } from '../storage/store-partitions.ts'
import { connectedAs } from '../storage/store-roles.ts'
import { transaction } from '../storage/transaction.ts'
import type { CellDesk, OrderDesk } from './desk.ts'
import { inCell } from './in-cells.ts'
import { Refused } from './refused.ts'
import { change } from './store-audit.ts'
import { listMerchants, merchantNamed } from './store-config.ts'
import { cellNumbered } from './store-logins.ts'
import { endLeases, giveLeasesOn, ownersOf } from './store-merchant-leases.ts'
import {
  clearRows,
  copyAll,
  copyInvoicesAgain,
  copyOrdersAgain,
  openWholeCopy,
  removeRows,
  type RowMove,
} from './store-merchant-rows.ts'

type MoveState = 'leaving' | 'left' | 'arriving'

const fenceOf = statement<{ state: MoveState; other_cell: number }>(
  `select state, other_cell from merchant_move where merchant_id = $1`,
)
const setFence = statement<object>(`
  insert into merchant_move (merchant_id, state, other_cell, mover) values ($1, $2, $3, $4)
  on conflict (merchant_id) do update set state = excluded.state, other_cell = excluded.other_cell, mover = excluded.mover`)
const takeOver = statement<object>(`update merchant_move set mover = $2 where merchant_id = $1`)
const hold = statement<object>(`select from merchant_move where merchant_id = $1 and mover = $2 for update`)
const turnState = statement<object>(
  `update merchant_move set state = $3 where merchant_id = $1 and mover = $2 returning merchant_id`,
)
const dropFence = statement<object>(`delete from merchant_move where merchant_id = $1 and mover = $2 returning merchant_id`)
const lockFence = statement<object>('lock table merchant_move in access exclusive mode')
const waitFor = statement<object>(`select set_config('lock_timeout', $1, true)`)
const takeNotes = statement<{ order_id: bigint | null; invoice_id: string | null }>(
  `delete from merchant_move_note where merchant_id = $1 returning order_id, invoice_id`,
)

const unsealed = statement<object>(`select from resealing where ended_at is null limit 1`)
/** The walks over cards of ended payments begin again, since orders came that they have passed. */
const walkAgain = statement<object>(`update duty set place = null, lease = null, due_at = $1 where name like 'cards of%'`)
const setCell = statement<object>(
  `update merchant set cell_no = $2 where merchant_id = $1 and cell_no = $3 returning merchant_id`,
)

/** The progress of a move, reported while it runs. */
export type MoveStep =
  | { is: 'copying'; orders: number }
  | { is: 'catching up'; changed: number }
  | { is: 'moved'; pausedMs: number }
  | { is: 'clearing' }

export interface MoveParts {
  login: string
  to: number
  /** The move goes on once this has resolved. */
  report: (step: MoveStep) => void | Promise<void>
}

export interface Moved {
  /** The cell that it came from; absent if a command before had moved it already. */
  from?: number
  /** How long its requests had to wait at most, but for the time until the gateways noticed. */
  pausedMs: number
  /** Orders removed from the old cell. */
  removed: number
}

/** A round of changes that is copied within this time is short enough for the pause. */
const quickMs = 500
const mostRounds = 50
/** How long a writer that began before the fence may take. */
const barrierMs = 1_500
/** Every gateway has read the configuration by then: they look every second. */
const readWithinMs = 5_000

/** Needs the owner of the tables. Safe to repeat after a failure, and then goes on. */
export async function moveMerchant(desk: OrderDesk, { login, to: toNo, report }: MoveParts): Promise<Moved> {
  const { pool, clock, random } = desk
  if (!(await connectedAs(pool)).isOwner) throw new Refused({ what: 'owner needed' })
  const cells = await desk.cells()
  const { merchantId, cellNo } = await merchantNamed(pool, login)
  const to = cellNumbered(cells, toNo)
  if (cellNo === toNo) return { pausedMs: 0, removed: await clearBehind(cells, merchantId, toNo, report) }
  const from = cellNumbered(cells, cellNo)
  const side = { desk, login, merchantId, from, to, mover: uuid(random) }
  const begun = await fencesOf(side)
  refuseOtherMove(begun, side)
  // A move that was cut off in its pause goes on whatever is under way: the merchant waits for it.
  if (begun.from?.state === 'left') await goOn(side)
  else await copyToNew(side, report)
  const pausedMs = await close(side, report)
  await sleep(clock, readWithinMs)
  return { from: cellNo, pausedMs, removed: await clearBehind(cells, merchantId, toNo, report) }
}

/** A merchant on its way, with the command that moves it. */
interface Side {
  desk: OrderDesk
  login: string
  merchantId: bigint
  from: CellDesk
  to: CellDesk
  mover: string
}

const fenceIn = (cell: CellDesk, merchantId: bigint) =>
  inCell(cell, async ({ pool }) => (await pool.run(fenceOf, [merchantId]))[0])

const fencesOf = async ({ merchantId, from, to }: Side) => ({
  from: await fenceIn(from, merchantId),
  to: await fenceIn(to, merchantId),
})

/** A fence that is left from an earlier move into the other direction is none. */
function refuseOtherMove({ from: old, to: fresh }: Awaited<ReturnType<typeof fencesOf>>, { login, from, to }: Side): void {
  const other = old?.state === 'leaving' || old?.state === 'left' ? old.other_cell : undefined
  if (other !== undefined && other !== to.cellNo) throw new Refused({ what: 'merchant moving', login, to: other })
  if (fresh?.state === 'arriving' && fresh.other_cell !== from.cellNo)
    throw new Refused({ what: 'merchant moving', login, to: to.cellNo })
}

/**
 * Refuses while values are sealed again, because a copy would miss some, and while a process works
 * on the merchant's orders that does not serve the new cell, because it could not store their
 * outcomes.
 */
async function refuseUnfit(side: Side): Promise<void> {
  const { from, to } = side
  for (const cell of [from, to])
    if ((await inCell(cell, ({ pool }) => pool.run(unsealed))).length > 0)
      throw new Refused({ what: 'cell resealing', cellNo: cell.cellNo })
  const missing = (await ownersOf(side.merchantId, from.pool, to.pool)).filter(({ owner, there }) => owner?.alive && !there)
  if (missing.length > 0)
    throw new Refused({ what: 'cell not served', cellNo: to.cellNo, processes: missing.map(({ owner }) => owner!.instance) })
}

const rowMove = ({ merchantId, from, to, mover }: Side): RowMove => ({
  merchantId,
  from: from.pool,
  to: to.pool,
  write: (body) => heldIn(to.pool, { merchantId, mover }, body),
})

/** A transaction in one of the cells, if no other command has taken the move over. */
const heldIn = <T>(
  pool: Pool,
  { merchantId, mover }: Pick<Side, 'merchantId' | 'mover'>,
  body: (runner: Runner) => Promise<T>,
): Promise<T> =>
  transaction(pool, async (runner) => {
    if ((await runner.run(hold, [merchantId, mover])).length === 0) throw new Refused({ what: 'move taken over' })
    return body(runner)
  })

/** A command before this one closed the old cell: everything is copied but the last notes. */
async function goOn({ merchantId, from, to, mover }: Side): Promise<void> {
  await from.pool.run(takeOver, [merchantId, mover])
  await to.pool.run(takeOver, [merchantId, mover])
}

async function copyToNew(side: Side, report: MoveParts['report']): Promise<void> {
  const { desk, login, merchantId, from, to, mover } = side
  await refuseUnfit(side)
  await change(desk, 'orders', () =>
    Promise.resolve({
      note: { action: 'merchant move', subject: `merchant ${login}`, details: { from: from.cellNo, to: to.cellNo, begun: true } },
      result: undefined,
    }),
  )
  await to.pool.run(setFence, [merchantId, 'arriving', from.cellNo, mover])
  await from.pool.run(setFence, [merchantId, 'leaving', to.cellNo, mover])
  await passBarrier(from.pool)
  const move = rowMove(side)
  await ensurePartitionsOf(to.pool, await partitionsByNumber(from.pool))
  await clearRows(move)
  await copyAll(move, (orders) => report({ is: 'copying', orders }))
  for (let round = 0; round < mostRounds; round++) {
    const began = desk.clock.monotonic()
    const changed = await copyNotes(side)
    await report({ is: 'catching up', changed })
    if (desk.clock.monotonic() - began < quickMs) return refuseUnfit(side)
  }
  throw new Refused({ what: 'merchant too busy', login })
}

/**
 * Copies again what was noted; returns how much. The notes are removed in the same transaction, so
 * that those of a copy that failed are not lost. Who commits meanwhile writes new ones.
 */
const copyNotes = (side: Side): Promise<number> =>
  heldIn(side.from.pool, side, async (runner) => {
    const notes = await runner.run(takeNotes, [side.merchantId])
    const orders = [...new Set(notes.flatMap(({ order_id: id }) => (id === null ? [] : [id])))]
    const invoices = [...new Set(notes.flatMap(({ invoice_id: id }) => (id === null ? [] : [id])))]
    await copyOrdersAgain(rowMove(side), runner, orders)
    await copyInvoicesAgain(rowMove(side), runner, invoices)
    return orders.length + invoices.length
  })

/**
 * Resolves when every transaction that did not see the fence is over. Each that writes rows of a
 * merchant holds a lock on its table until the end.
 */
const passBarrier = (pool: Pool): Promise<void> =>
  transaction(pool, async (runner) => {
    await runner.run(waitFor, [String(barrierMs)])
    await runner.run(lockFence)
  }).catch((error: { code?: string }) => {
    throw error.code === lockNotAvailable ? new Refused({ what: 'writers slow', forMs: barrierMs }) : error
  })
const lockNotAvailable = '55P03'

/** The pause. Returns how long it was. */
async function close(side: Side, report: MoveParts['report']): Promise<number> {
  const { desk, login, merchantId, from, to } = side
  const { clock } = desk
  const copyWhole = openWholeCopy(rowMove(side))
  const isOpened = (await fenceIn(to, merchantId))?.state !== 'arriving'
  if (!isOpened) await copyWhole()
  const began = clock.monotonic()
  await turn(from.pool, side, 'left')
  if (!isOpened) {
    await passBarrier(from.pool).catch((error) => reopen(side, error))
    await copyNotes(side)
    await copyWhole()
    await giveLeasesOn(rowMove(side))
    await openNew(side)
  }
  await change(desk, 'config', async (runner) => {
    const moved = await runner.run(setCell, [merchantId, to.cellNo, from.cellNo])
    if (moved.length === 0) throw new Refused({ what: 'move taken over' })
    const details = { from: from.cellNo, to: to.cellNo }
    return { note: { action: 'merchant move', subject: `merchant ${login}`, details }, result: undefined }
  })
  const pausedMs = Math.round(clock.monotonic() - began)
  await report({ is: 'moved', pausedMs })
  return pausedMs
}

async function turn(pool: Pool, { merchantId, mover }: Side, state: MoveState): Promise<void> {
  if ((await pool.run(turnState, [merchantId, mover, state])).length === 0) throw new Refused({ what: 'move taken over' })
}

/** A writer takes too long: the merchant goes on in the old cell, and the move is tried again. */
async function reopen(side: Side, error: unknown): Promise<never> {
  await turn(side.from.pool, side, 'leaving')
  throw error
}

async function openNew(side: Side): Promise<void> {
  const { desk, merchantId, from, to, mover } = side
  await heldIn(from.pool, side, (runner) => endLeases(runner, merchantId))
  await heldIn(to.pool, side, async (runner) => {
    await runner.run(walkAgain, [timestamp(desk.clock.now())])
    await runner.run(dropFence, [merchantId, mover])
  })
}

/** Removes the rows of a merchant from every cell that it has left. The fence stays. */
async function clearBehind(
  cells: readonly CellDesk[],
  merchantId: bigint,
  isIn: number,
  report: MoveParts['report'],
): Promise<number> {
  let removed = 0
  for (const cell of cells.filter(({ cellNo }) => cellNo !== isIn)) {
    if ((await fenceIn(cell, merchantId))?.state !== 'left') continue
    await report({ is: 'clearing' })
    removed += await inCell(cell, ({ pool }) => removeRows(pool, merchantId))
  }
  return removed
}

/** The logins of the merchants of a cell, in their order. */
export async function loginsIn({ pool, cells }: OrderDesk, cellNo: number): Promise<string[]> {
  cellNumbered(await cells(), cellNo)
  return (await listMerchants(pool)).filter((merchant) => merchant.cellNo === cellNo).map(({ login }) => login)
}
