/** Moves a merchant with all its orders to another cell. */
import { uuid } from '../../base/random.ts'
import type { MoveState } from '../../merchant/merchant.ts'
import { touchConfig } from '../../merchant/rows.ts'
import { entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import { ensurePartitionsOf, partitionsByNumber } from '../../storage/partitions.ts'
import { connectedAs } from '../../storage/roles.ts'
import { transaction } from '../../storage/transaction.ts'
import type { CellDesk, OrderDesk } from '../desk.ts'
import { inCell } from '../in-cells.ts'
import { giveUp, runMove, type MoveUnderWay, type Moved, type MoveTables, type MoveWish } from './merchant-move.ts'
import { Refused } from '../refused.ts'
import { change } from '../change.ts'
import { listMerchants, merchantNamed } from '../known.ts'
import { cellNumbered } from '../where.ts'
import { fenceQuiet, heldIn, mark, setFence, unmark } from './merchant-fence.ts'
import { copyRows, removeRows, type RowMove } from './merchant-rows.ts'

/** The row of the configuration, with the command that has the move. */
type MoveRow = MoveUnderWay & { mover: string }

const read = entities<MoveRow>(`
  select v.from_cell as "from", v.to_cell as "to", v.state, m.cell_no as is_in, v.mover
  from merchant_move v join merchant m using (merchant_id) where merchant_id = $1`)
const insert = statement<object>(`
  insert into merchant_move (merchant_id, from_cell, to_cell, state, mover, since)
  select merchant_id, cell_no, $3, 'copying', $4, $5 from merchant where merchant_id = $1 and cell_no = $2
  on conflict do nothing returning merchant_id`)
const takeOver = statement<object>(
  `update merchant_move set mover = $2 where merchant_id = $1 and mover = $3 and state = $4 returning merchant_id`,
)
const hold = statement<{ cell_no: number }>(`
  select m.cell_no from merchant_move v join merchant m using (merchant_id)
  where merchant_id = $1 and v.mover = $2 for update of v`)
const setState = statement<object>(`update merchant_move set state = $2, since = $3 where merchant_id = $1`)
const remove = statement<object>(`delete from merchant_move where merchant_id = $1`)
const setCell = statement<object>(`update merchant set cell_no = $2 where merchant_id = $1`)
const unsealed = statement<object>(`select from resealing where ended_at is null limit 1`)
/** The walks over cards of ended payments begin again, since orders came that they have passed. */
const walkAgain = statement<object>(`update duty set place = null, lease = null, due_at = $1 where name like 'cards of%'`)

/** Needs the owner of the tables. Safe to repeat after a failure, and then goes on. */
export async function moveMerchant(desk: OrderDesk, { login, ...wish }: MoveWish & { login: string }): Promise<Moved> {
  const side = await sideOf(desk, login)
  cellNumbered(side.cells, wish.to)
  const { clock } = desk
  return runMove({ clock, login, begin: (to) => begin(side, to), between: (move) => tablesBetween(side, move) }, wish)
}

/**
 * The merchant stays in its cell, and its orders are removed from the other one. Refuses once the
 * configuration names the new one.
 */
export async function giveUpMove(
  desk: OrderDesk,
  login: string,
  report: MoveWish['report'],
): Promise<{ in: number; removed: number }> {
  const side = await sideOf(desk, login)
  const row = await rowOf(side)
  if (!row) throw new Refused({ what: 'not moving', login, cellNo: (await merchantNamed(desk.pool, login)).cellNo })
  if (row.isIn === row.to) throw new Refused({ what: 'move too far', login, to: row.to })
  const move = await take(side, row, { given_up: true })
  return { in: move.from, removed: await giveUp(move, tablesBetween(side, move), report) }
}

/** A merchant on its way, with the command that moves it. */
interface Side {
  desk: OrderDesk
  cells: readonly CellDesk[]
  login: string
  merchantId: bigint
  mover: string
}

async function sideOf(desk: OrderDesk, login: string): Promise<Side> {
  if (!(await connectedAs(desk.pool)).isOwner) throw new Refused({ what: 'owner needed' })
  const { merchantId } = await merchantNamed(desk.pool, login)
  return { desk, cells: await desk.cells(), login, merchantId, mover: uuid(desk.random) }
}

const rowOf = async ({ desk, merchantId }: Side): Promise<MoveRow | undefined> => (await desk.pool.run(read, [merchantId]))[0]

/** A change of the move, or of the cell of the merchant, with its line in the audit trail. */
const changeMove = (
  { desk, login }: Side,
  touches: 'config' | 'orders',
  details: object,
  body: (runner: Runner) => Promise<void>,
): Promise<void> =>
  change(desk, touches, async (runner) => {
    const result = await body(runner)
    return { note: { subject: `merchant ${login}`, details }, result }
  })

async function begin(side: Side, to: number): Promise<MoveUnderWay | undefined> {
  const { desk, cells, login, merchantId, mover } = side
  const row = await rowOf(side)
  if (row && row.to !== to && row.state !== 'clearing') throw new Refused({ what: 'merchant moving', login, to: row.to })
  if (row) return take(side, row, { begun: true })
  const { cellNo: from } = await merchantNamed(desk.pool, login)
  if (from === to) return undefined
  for (const cellNo of [from, to]) await refuseResealing(cellNumbered(cells, cellNo))
  await changeMove(side, 'config', { from, to, begun: true }, async (runner) =>
    demandOurs(await runner.run(insert, [merchantId, from, to, mover, timestamp(desk.clock.now())])),
  )
  return { from, to, state: 'copying', isIn: from }
}

/** The command that had the move can do nothing more. */
async function take(side: Side, { mover, ...move }: MoveRow, details: object): Promise<MoveUnderWay> {
  const { from, to, state } = move
  await changeMove(side, 'orders', { from, to, ...details }, async (runner) =>
    demandOurs(await runner.run(takeOver, [side.merchantId, side.mover, mover, state])),
  )
  return move
}

function demandOurs(rows: readonly object[]): void {
  if (rows.length === 0) throw new Refused({ what: 'move taken over' })
}

/** A copy could miss what is sealed again meanwhile. It cannot begin once the cells are marked. */
const refuseResealing = (cell: CellDesk): Promise<void> =>
  inCell(cell, async ({ cellNo, pool }) => {
    if ((await pool.run(unsealed)).length > 0) throw new Refused({ what: 'cell resealing', cellNo })
  })

function tablesBetween(side: Side, { from: fromNo, to: toNo }: MoveUnderWay): MoveTables {
  const { desk, cells, merchantId } = side
  const ours = [merchantId, side.mover]
  const [from, to] = [cellNumbered(cells, fromNo), cellNumbered(cells, toNo)]
  /** Holds the row of the configuration: no other command takes the move over meanwhile. */
  const held = <T>(body: (runner: Runner, isIn: number) => Promise<T>): Promise<T> =>
    transaction(desk.pool, async (runner) => {
      const rows = await runner.run(hold, ours)
      demandOurs(rows)
      return body(runner, rows[0]!.cell_no)
    })
  const enter = async (runner: Runner, state: MoveState) => {
    await runner.run(setState, [merchantId, state, timestamp(desk.clock.now())])
    await touchConfig(runner)
  }
  const rows: RowMove = {
    merchantId,
    from: from.pool,
    to: to.pool,
    write: (body) => inCell(to, ({ pool }) => heldIn(pool, side, body)),
  }
  return {
    mark: () =>
      held(async () => {
        for (const cell of [from, to]) await inCell(cell, ({ pool }) => pool.run(mark, ours))
      }),
    fenceNew: () => inCell(to, ({ pool }) => setFence(pool, side, true)),
    async copy(looked) {
      await ensurePartitionsOf(to.pool, await partitionsByNumber(from.pool))
      return copyRows(rows, looked)
    },
    close: () => held((runner) => enter(runner, 'closed')),
    fenceOld: () => inCell(from, ({ pool }) => fenceQuiet(pool, side)),
    reopen: (state) =>
      held(async (runner, isIn) => {
        if (isIn === toNo) throw new Refused({ what: 'move too far', login: side.login, to: toNo })
        await inCell(from, ({ pool }) => setFence(pool, side, false))
        await enter(runner, state)
      }),
    nameNew: () =>
      changeMove(side, 'config', { from: fromNo, to: toNo }, async (runner) => {
        demandOurs(await runner.run(hold, ours))
        await runner.run(setCell, [merchantId, toNo])
      }),
    async openNew() {
      await rows.write((runner) => runner.run(walkAgain, [timestamp(desk.clock.now())]))
      await inCell(to, ({ pool }) => setFence(pool, side, false))
      await held((runner) => enter(runner, 'clearing'))
    },
    async removeRows() {
      const { cellNo } = await merchantNamed(desk.pool, side.login)
      return inCell(cellNo === toNo ? from : to, ({ pool }) => removeRows(pool, merchantId, (body) => heldIn(pool, side, body)))
    },
    async end() {
      await held(async () => {})
      for (const cell of [from, to]) await inCell(cell, ({ pool }) => pool.run(unmark, ours))
      await held(async (runner) => {
        await runner.run(remove, [merchantId])
        await touchConfig(runner)
      })
    },
  }
}

/** The logins of the merchants of a cell, in their order. */
export async function loginsIn({ pool, cells }: OrderDesk, cellNo: number): Promise<string[]> {
  cellNumbered(await cells(), cellNo)
  return (await listMerchants(pool)).filter((merchant) => merchant.cellNo === cellNo).map(({ login }) => login)
}
