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
 *
 * To give a move up, the fence of the new cell turns to `left` and that of the old one is removed.
 * That is possible until the new cell has no fence: from then on it works for the merchant.
 */
import { sleep } from '../base/clock.ts'
import { uuid } from '../base/random.ts'
import { statement, timestamp } from '../storage/pool.ts'
import { ensurePartitionsOf, partitionsByNumber } from '../storage/store-partitions.ts'
import { connectedAs } from '../storage/store-roles.ts'
import type { CellDesk, OrderDesk } from './desk.ts'
import { inCell } from './in-cells.ts'
import { Refused } from './refused.ts'
import { change } from './store-audit.ts'
import { listMerchants, merchantNamed } from './store-config.ts'
import { cellNumbered } from './store-logins.ts'
import {
  dropFence,
  fenceIn,
  heldIn,
  notesOf,
  passBarrier,
  setFence,
  shutFence,
  takeFenceOver,
  turnFence,
  type Fence,
} from './store-merchant-fence.ts'
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
/** Every gateway has read the configuration by then: they look every second. */
const readWithinMs = 5_000

/** Needs the owner of the tables. Safe to repeat after a failure, and then goes on. */
export async function moveMerchant(desk: OrderDesk, { login, to: toNo, report }: MoveParts): Promise<Moved> {
  const { pool, clock, random } = desk
  if (!(await connectedAs(pool)).isOwner) throw new Refused({ what: 'owner needed' })
  const cells = await desk.cells()
  const { merchantId, cellNo } = await merchantNamed(pool, login)
  const to = cellNumbered(cells, toNo)
  if (cellNo === toNo) return { pausedMs: 0, removed: await clearBehind(desk, login, toNo, report) }
  const from = cellNumbered(cells, cellNo)
  const side = { desk, login, merchantId, from, to, mover: uuid(random) }
  const begun = await fencesOf(side)
  refuseOtherMove(begun, side)
  const pausedMs = await moveOver(side, begun, report).catch((error) => stayAfter(side, report, error))
  await sleep(clock, readWithinMs)
  return { from: cellNo, pausedMs, removed: await clearBehind(desk, login, toNo, report) }
}

export interface GivenUp {
  /** The cell in which the merchant stays. */
  in: number
  /** Orders removed from the other cell. */
  removed: number
}

/**
 * Ends a move that was cut off: the merchant stays in its cell. Refuses if the other cell works for
 * it already; then the move has to go on. Needs the owner of the tables.
 */
export async function giveUpMove(desk: OrderDesk, login: string, report: MoveParts['report']): Promise<GivenUp> {
  const { pool, random } = desk
  if (!(await connectedAs(pool)).isOwner) throw new Refused({ what: 'owner needed' })
  const cells = await desk.cells()
  const { merchantId, cellNo } = await merchantNamed(pool, login)
  const mover = { merchantId, mover: uuid(random) }
  const here = cellNumbered(cells, cellNo)
  const old = await fenceIn(here, merchantId)
  const fresh = await arrivingIn(cells, merchantId)
  if (!old && !fresh) throw new Refused({ what: 'not moving', login, cellNo })
  if (old?.state === 'left' && !fresh) throw new Refused({ what: 'move too far', login, to: old.otherCell })
  const details = { from: cellNo, to: old?.otherCell ?? fresh!.cell.cellNo, given_up: true }
  await change(desk, 'orders', () =>
    Promise.resolve({ note: { action: 'merchant move', subject: `merchant ${login}`, details }, result: undefined }),
  )
  if (fresh) await shutFence(fresh.cell.pool, mover, fresh.fence)
  if (old)
    await heldIn(here.pool, { merchantId, mover: old.mover }, async (runner) => {
      await notesOf(runner, merchantId)
      await dropFence(runner, { merchantId, mover: old.mover })
    })
  return { in: cellNo, removed: await clearBehind(desk, login, cellNo, report) }
}

async function arrivingIn(cells: readonly CellDesk[], merchantId: bigint) {
  for (const cell of cells) {
    const fence = await fenceIn(cell, merchantId)
    if (fence?.state === 'arriving') return { cell, fence }
  }
  return undefined
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

interface Fences {
  from: Fence | undefined
  to: Fence | undefined
}

const fencesOf = async ({ merchantId, from, to }: Side): Promise<Fences> => ({
  from: await fenceIn(from, merchantId),
  to: await fenceIn(to, merchantId),
})

/** A fence that is left from an earlier move into the other direction is none. */
function refuseOtherMove({ from: old, to: fresh }: Fences, { login, from, to }: Side): void {
  const other = old?.state === 'leaving' || old?.state === 'left' ? old.otherCell : undefined
  if (other !== undefined && other !== to.cellNo) throw new Refused({ what: 'merchant moving', login, to: other })
  if (fresh?.state === 'arriving' && fresh.otherCell !== from.cellNo)
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

async function moveOver(side: Side, begun: Fences, report: MoveParts['report']): Promise<number> {
  // A move that was cut off in its pause goes on whatever is under way: the merchant waits for it.
  if (begun.from?.state === 'left') await goOn(side)
  else await copyToNew(side, begun, report)
  return close(side, report)
}

/** A move that cannot be done leaves nothing behind. One that another command owns goes on. */
async function stayAfter(
  { desk, login, merchantId, from, mover }: Side,
  report: MoveParts['report'],
  error: unknown,
): Promise<never> {
  const isOurs = error instanceof Refused && (await fenceIn(from, merchantId))?.mover === mover
  if (isOurs) await giveUpMove(desk, login, report)
  throw error
}

const rowMove = ({ merchantId, from, to, mover }: Side): RowMove => ({
  merchantId,
  from: from.pool,
  to: to.pool,
  write: (body) => heldIn(to.pool, { merchantId, mover }, body),
})

/** A command before this one closed the old cell: everything is copied but the last notes. */
async function goOn({ merchantId, from, to, mover }: Side): Promise<void> {
  for (const { pool } of [from, to]) await takeFenceOver(pool, { merchantId, mover })
}

async function copyToNew(side: Side, begun: Fences, report: MoveParts['report']): Promise<void> {
  const { desk, login, from, to } = side
  await refuseUnfit(side)
  await change(desk, 'orders', () =>
    Promise.resolve({
      note: { action: 'merchant move', subject: `merchant ${login}`, details: { from: from.cellNo, to: to.cellNo, begun: true } },
      result: undefined,
    }),
  )
  // First the old cell: whoever has that fence is the only command that can open the new one.
  await setFence(from.pool, side, { state: 'leaving', otherCell: to.cellNo }, begun.from)
  await setFence(to.pool, side, { state: 'arriving', otherCell: from.cellNo }, await fenceIn(to, side.merchantId))
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
    const { orders, invoices } = await notesOf(runner, side.merchantId)
    await copyOrdersAgain(rowMove(side), runner, orders)
    await copyInvoicesAgain(rowMove(side), runner, invoices)
    return orders.length + invoices.length
  })

/** The pause. Returns how long it was. */
async function close(side: Side, report: MoveParts['report']): Promise<number> {
  const { desk, login, merchantId, from, to } = side
  const { clock } = desk
  const copyWhole = openWholeCopy(rowMove(side))
  const isOpened = (await fenceIn(to, merchantId))?.state !== 'arriving'
  if (!isOpened) await copyWhole()
  const began = clock.monotonic()
  await turnFence(from.pool, side, 'left')
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

/** A writer takes too long: the merchant goes on in the old cell, and the move is tried again. */
async function reopen(side: Side, error: unknown): Promise<never> {
  await turnFence(side.from.pool, side, 'leaving')
  throw error
}

async function openNew(side: Side): Promise<void> {
  const { desk, merchantId, from, to } = side
  await heldIn(from.pool, side, (runner) => endLeases(runner, merchantId))
  await heldIn(to.pool, side, async (runner) => {
    await runner.run(walkAgain, [timestamp(desk.clock.now())])
    await dropFence(runner, side)
  })
}

/** Removes the rows of a merchant from every cell that it has left. The fence stays. */
async function clearBehind(desk: OrderDesk, login: string, isIn: number, report: MoveParts['report']): Promise<number> {
  let removed = 0
  for (const cell of (await desk.cells()).filter(({ cellNo }) => cellNo !== isIn)) {
    const { merchantId } = await merchantNamed(desk.pool, login)
    const fence = await fenceIn(cell, merchantId)
    // Read after the fence: a command that brought the merchant back would have changed either.
    const { cellNo } = await merchantNamed(desk.pool, login)
    if (fence?.state !== 'left' || cellNo !== isIn) continue
    await report({ is: 'clearing' })
    removed += await inCell(cell, ({ pool }) =>
      removeRows({ pool, merchantId, write: (body) => heldIn(pool, { merchantId, mover: fence.mover }, body) }),
    )
  }
  return removed
}

/** The logins of the merchants of a cell, in their order. */
export async function loginsIn({ pool, cells }: OrderDesk, cellNo: number): Promise<string[]> {
  cellNumbered(await cells(), cellNo)
  return (await listMerchants(pool)).filter((merchant) => merchant.cellNo === cellNo).map(({ login }) => login)
}
