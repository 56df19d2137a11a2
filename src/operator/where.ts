/**
 * Where merchants and orders are, and whose a row is. The registry and a cell are never joined in
 * SQL.
 */
import type { OrderKey } from '../order/decide/change.ts'
import { entities, type Runner } from '../storage/pool.ts'
import type { CellDesk, Databases } from './desk.ts'
import { whereItIs } from './in-cells.ts'
import { merchantNamed } from './known.ts'
import { orUnknown } from './refused.ts'

export interface Logins {
  /** Where the orders of a merchant are. */
  cellOf(merchantId: bigint): number
  /** All merchants, or those whose orders are in a cell. */
  merchantIds(cellNo?: number): readonly bigint[]
  /** A row with the login of its merchant. */
  named<Row extends { merchantId: bigint }>(row: Row): Row & { login: string }
}

const merchants = entities<{ merchantId: bigint; login: string; cellNo: number }>(
  `select merchant_id, login, cell_no from merchant order by merchant_id`,
)

export async function loginsIn(registry: Runner): Promise<Logins> {
  const rows = await registry.run(merchants)
  const byId = new Map(rows.map((row) => [row.merchantId, row]))
  const rowOf = (merchantId: bigint) => {
    const row = byId.get(merchantId)
    if (row === undefined) throw new Error(`merchant ${merchantId} is not in the registry`)
    return row
  }
  return {
    cellOf: (merchantId) => rowOf(merchantId).cellNo,
    merchantIds: (cellNo) => rows.flatMap((row) => (cellNo === undefined || row.cellNo === cellNo ? [row.merchantId] : [])),
    named: (row) => ({ ...row, login: rowOf(row.merchantId).login }),
  }
}

/** Undefined is every merchant. */
export const merchantIdOf = async (registry: Runner, login: string | undefined): Promise<bigint | undefined> =>
  login === undefined ? undefined : (await merchantNamed(registry, login)).merchantId

/** The cell of a merchant, or all cells. */
export async function cellsFor({ cells }: Databases, logins: Logins, merchantId?: bigint): Promise<readonly CellDesk[]> {
  const all = await cells()
  return merchantId === undefined ? all : [cellNumbered(all, logins.cellOf(merchantId))]
}

export function cellNumbered<Cell extends { cellNo: number }>(cells: readonly Cell[], cellNo: number): Cell {
  const found = cells.find((one) => one.cellNo === cellNo)
  return orUnknown(found, 'cell', cellNo)
}

/** As two parameters. */
export const keysOf = (orderKeys: readonly OrderKey[]) => [
  orderKeys.map(({ merchantId }) => merchantId),
  orderKeys.map(({ orderId }) => orderId),
]

/** The primary key begins with the merchant, so an order is looked up for each merchant. */
const order = entities<Omit<DatedOrder, 'cell'>>(`
  select o.merchant_id, o.order_id, o.created_at
  from unnest($2::bigint[]) m (merchant_id) join orders o on o.merchant_id = m.merchant_id and o.order_id = $1`)

export interface DatedOrder extends OrderKey {
  cell: CellDesk
  createdAt: number
}

/** Finds an order in one of these cells by its id alone. */
export const orderById = (cells: readonly CellDesk[], logins: Logins, orderId: bigint): Promise<DatedOrder | undefined> =>
  whereItIs(cells, async (cell) => {
    const [row] = await cell.pool.run(order, [orderId, logins.merchantIds(cell.cellNo)])
    return row && { cell, ...row }
  })

/** An order that is needed; `thing` is how a refusal calls it. */
export const orderOf = async (
  cells: readonly CellDesk[],
  logins: Logins,
  orderId: bigint,
  thing: 'order' | 'order to resume' | 'order of page' = 'order',
): Promise<DatedOrder> => orUnknown(await orderById(cells, logins, orderId), thing, orderId)
