/** Moves a merchant with all its orders to another cell, while it goes on paying. */
import { uuid } from '../../base/random.ts'
import { statement, timestamp } from '../../storage/pool.ts'
import { ensurePartitionsOf, partitionsByNumber } from '../../storage/partitions.ts'
import { connectedAs } from '../../storage/roles.ts'
import type { CellDesk, OrderDesk } from '../desk.ts'
import { inCell } from './in-cells.ts'
import {
  clearBehind,
  runMove,
  type CellBehind,
  type FenceOfCell,
  type Moved,
  type MoveTables,
  type ReportMove,
} from './merchant-move.ts'
import { Refused } from '../refused.ts'
import { change } from '../audit/rows.ts'
import { listMerchants, merchantNamed } from '../configuration/rows.ts'
import { cellNumbered } from '../orders/logins.ts'
import {
  arriveInNew,
  dropFence,
  fenceIn,
  heldIn,
  leaveOld,
  notesOf,
  passBarrier,
  shutFence,
  takeFenceOver,
  turnFence,
  type Mover,
} from './merchant-fence.ts'
import { endLeases, giveLeasesOn, ownersOf } from './merchant-leases.ts'
import {
  clearRows,
  copyAll,
  copyInvoicesAgain,
  copyOrdersAgain,
  openWholeCopy,
  removeRows,
  type RowMove,
} from './merchant-rows.ts'

const unsealed = statement<object>(`select from resealing where ended_at is null limit 1`)
/** The walks over cards of ended payments begin again, since orders came that they have passed. */
const walkAgain = statement<object>(`update duty set place = null, lease = null, due_at = $1 where name like 'cards of%'`)
const setCell = statement<object>(
  `update merchant set cell_no = $2 where merchant_id = $1 and cell_no = $3 returning merchant_id`,
)

export interface MoveParts {
  login: string
  to: number
  report: ReportMove
}

/** Needs the owner of the tables. Safe to repeat after a failure, and then goes on. */
export async function moveMerchant(desk: OrderDesk, { login, to, report }: MoveParts): Promise<Moved> {
  const { pool, clock, random } = desk
  if (!(await connectedAs(pool)).isOwner) throw new Refused({ what: 'owner needed' })
  const cells = await desk.cells()
  const { merchantId, cellNo } = await merchantNamed(pool, login)
  cellNumbered(cells, to)
  const mover = uuid(random)
  const between = (from: number): MoveTables =>
    tablesBetween({ desk, login, merchantId, from: cellNumbered(cells, from), to: cellNumbered(cells, to), mover })
  const behind = behindOf(desk, cells, { login, merchantId })
  const moving = runMove({ clock, login, placed: () => Promise.resolve(cellNo), between, behind }, to, report)
  return moving.catch((error) => stayAfter(desk, { login, report }, cellNumbered(cells, cellNo), { merchantId, mover }, error))
}

/** A move that cannot be done leaves nothing behind. One that another command took over goes on. */
async function stayAfter(
  desk: OrderDesk,
  { login, report }: Omit<MoveParts, 'to'>,
  from: CellDesk,
  { merchantId, mover }: Mover,
  error: unknown,
): Promise<never> {
  const isRefused = error instanceof Refused && error.refusal.what !== 'move taken over'
  if (isRefused && (await fenceIn(from, merchantId))?.mover === mover) await giveUpMove(desk, { login, report })
  throw error
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
export async function giveUpMove(desk: OrderDesk, { login, report }: Omit<MoveParts, 'to'>): Promise<GivenUp> {
  const { pool, random } = desk
  if (!(await connectedAs(pool)).isOwner) throw new Refused({ what: 'owner needed' })
  const cells = await desk.cells()
  const { merchantId, cellNo } = await merchantNamed(pool, login)
  const here = cellNumbered(cells, cellNo)
  const old = await fenceIn(here, merchantId)
  const fresh = await arrivingIn(cells, merchantId)
  if (!old && !fresh) throw new Refused({ what: 'not moving', login, cellNo })
  if (old?.state === 'left' && !fresh) throw new Refused({ what: 'move too far', login, to: old.otherCell })
  const details = { from: cellNo, to: old?.otherCell ?? fresh!.cell.cellNo, given_up: true }
  await change(desk, 'orders', () =>
    Promise.resolve({ note: { action: 'merchant move', subject: `merchant ${login}`, details }, result: undefined }),
  )
  // First the new cell: from now on no command can open it.
  if (fresh) await shutFence(fresh.cell.pool, { merchantId, mover: uuid(random) }, fresh.fence)
  if (old)
    await heldIn(here.pool, { merchantId, mover: old.mover }, async (runner) => {
      await notesOf(runner, merchantId)
      await dropFence(runner, { merchantId, mover: old.mover })
    })
  return { in: cellNo, removed: await clearBehind(behindOf(desk, cells, { login, merchantId }), cellNo, report) }
}

async function arrivingIn(cells: readonly CellDesk[], merchantId: bigint) {
  for (const cell of cells) {
    const fence = await fenceIn(cell, merchantId)
    if (fence?.state === 'arriving') return { cell, fence }
  }
  return undefined
}

/** The cells in which a merchant may have been before. */
const behindOf =
  ({ pool }: OrderDesk, cells: readonly CellDesk[], { login, merchantId }: { login: string; merchantId: bigint }) =>
  (isIn: number): Promise<CellBehind[]> =>
    Promise.resolve(
      cells
        .filter((cell) => cell.cellNo !== isIn)
        .map((cell) => {
          let mover: string | undefined
          return {
            async hasLeft() {
              const fence = await fenceIn(cell, merchantId)
              // Read after the fence: a merchant that came back would have changed either of them.
              const { cellNo } = await merchantNamed(pool, login)
              mover = fence?.mover
              return fence?.state === 'left' && cellNo === isIn
            },
            removeRows: () => inCell(cell, (at) => removeRows(at.pool, { merchantId, mover: mover! })),
          }
        }),
    )

/** A merchant on its way, with the command that moves it. */
interface Side {
  desk: OrderDesk
  login: string
  merchantId: bigint
  from: CellDesk
  to: CellDesk
  mover: string
}

function tablesBetween(side: Side): MoveTables {
  const { desk, login, merchantId, from, to } = side
  const move: RowMove = {
    merchantId,
    from: from.pool,
    to: to.pool,
    write: (body) => heldIn(to.pool, side, body),
  }
  const details = { from: from.cellNo, to: to.cellNo }
  const note = { action: 'merchant move', subject: `merchant ${login}` } as const
  return {
    from: fenceOf(from, side),
    to: fenceOf(to, side),
    async ownersWithoutNew() {
      const owners = await ownersOf(merchantId, from.pool, to.pool)
      return owners.flatMap(({ owner, there }) => (owner?.alive && !there ? [owner.instance] : []))
    },
    begin: () =>
      change(desk, 'orders', () =>
        Promise.resolve({ note: { ...note, details: { ...details, begun: true } }, result: undefined }),
      ),
    leaveOld: () => leaveOld(from.pool, side, to.cellNo),
    arriveInNew: () => heldIn(from.pool, side, () => arriveInNew(to.pool, side, from.cellNo)),
    async clearNew() {
      await ensurePartitionsOf(to.pool, await partitionsByNumber(from.pool))
      await clearRows(move)
    },
    copyAll: (copied) => copyAll(move, copied),
    copyNotes: () => copyNotes(move, side),
    copyWhole: openWholeCopy(move),
    giveLeasesOn: () => giveLeasesOn(move),
    endLeases: () => heldIn(from.pool, side, (runner) => endLeases(runner, merchantId)),
    openNew: () =>
      heldIn(to.pool, side, async (runner) => {
        await runner.run(walkAgain, [timestamp(desk.clock.now())])
        await dropFence(runner, side)
      }),
    nameNew: () =>
      change(desk, 'config', async (runner) => {
        const moved = await runner.run(setCell, [merchantId, to.cellNo, from.cellNo])
        if (moved.length === 0) throw new Refused({ what: 'move taken over' })
        return { note: { ...note, details }, result: undefined }
      }),
  }
}

function fenceOf(cell: CellDesk, side: Side): FenceOfCell {
  const { cellNo, pool } = cell
  return {
    cellNo,
    read: () => fenceIn(cell, side.merchantId),
    takeOver: (state) => takeFenceOver(pool, side, state),
    turn: (state) => turnFence(pool, side, state),
    passBarrier: () => passBarrier(pool),
    isResealing: () => inCell(cell, async () => (await pool.run(unsealed)).length > 0),
  }
}

/**
 * The notes are removed in the same transaction, so that those of a copy that failed are not lost.
 * Who commits meanwhile writes new ones.
 */
const copyNotes = (move: RowMove, side: Side): Promise<number> =>
  heldIn(side.from.pool, side, async (runner) => {
    const { orders, invoices } = await notesOf(runner, side.merchantId)
    await copyOrdersAgain(move, runner, orders)
    await copyInvoicesAgain(move, runner, invoices)
    return orders.length + invoices.length
  })

/** The logins of the merchants of a cell, in their order. */
export async function loginsIn({ pool, cells }: OrderDesk, cellNo: number): Promise<string[]> {
  cellNumbered(await cells(), cellNo)
  return (await listMerchants(pool)).filter((merchant) => merchant.cellNo === cellNo).map(({ login }) => login)
}
