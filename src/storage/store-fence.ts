/**
 * The fence around a merchant that moves to another cell. Every statement of a gateway that writes
 * rows of a merchant asks it, in the same transaction: whoever writes holds a lock on the table
 * `merchant_move` until the commit, so the mover knows when the last writer that did not see the
 * fence is gone (operator/cells/merchant-move.ts). Without a move the table is empty.
 */
import { columnsOf, onRows, readOf, rowsOf, writes } from './columns.ts'
import { statement, type Runner } from './pool.ts'
import type { Write } from './transaction.ts'

/** The merchant's orders are in another cell, or are about to be. Nothing was written. */
export class MerchantLeft extends Error {
  readonly merchantId: bigint

  constructor(merchantId: bigint) {
    super(`merchant ${merchantId} has left this cell`)
    this.merchantId = merchantId
  }
}

/**
 * Does something for a merchant: `here`, or `there` with the same room of the cell to which the
 * merchant has moved. If `here` rejects with `MerchantLeft`, it waits until the configuration says
 * which cell that is.
 */
export type FollowMerchant<Room> = <Result>(merchantId: bigint, here: () => Result, there: (room: Room) => Result) => Result

/** For a gateway whose merchants never move. */
export const stay: FollowMerchant<never> = (_merchantId, here) => here()

/** SQL that holds for a row whose merchant is in this cell. */
export const isHere = (row: string): string =>
  `not exists (select from merchant_move v where v.merchant_id = ${row}.merchant_id and v.state <> 'leaving')`

/**
 * Notes rows also when the fence has just closed. A writer may look at it twice: `admit` does so in
 * two statements, and Citus may within one. A writer that was let in and left no note would leave
 * its rows behind.
 */
const noting = (id: 'order_id' | 'invoice_id') => (rows: string) =>
  `
  insert into merchant_move_note (merchant_id, ${id})
  select distinct c.merchant_id, c.${id} from ${rows} c
  join merchant_move v on v.merchant_id = c.merchant_id and v.state <> 'arriving'`

/** SQL of an insert that notes the orders in these rows, if their merchant leaves or has left. */
export const noteOrders = noting('order_id')
/** The same for invoices. */
export const noteInvoices = noting('invoice_id')

interface OrderPlace {
  merchantId: bigint
  orderId: bigint
}

const place = columnsOf<OrderPlace>()
const placeRows = rowsOf({ merchant_id: place.int8((p) => p.merchantId), order_id: place.int8((p) => p.orderId) })

/**
 * Notes the orders, and fails by a division by zero if one of the merchants is not here. It is one
 * insert, so that Citus too looks at the fence once. *Rejected:* a `with` for the rows, for which
 * Citus commits each save in two phases.
 */
const admitAll = onRows<OrderPlace>(
  placeRows,
  `insert into merchant_move_note (merchant_id, order_id)
  select distinct n.merchant_id, n.order_id / (v.state = 'leaving')::int
  from ${placeRows.list} join merchant_move v on v.merchant_id = n.merchant_id`,
)
const noteAll = onRows<OrderPlace>(placeRows, noteOrders(`(select * from ${placeRows.list})`))

/** For a transaction that writes these orders: it fails if one of their merchants is not here. */
export const admits = (places: readonly OrderPlace[]): Write[] => writes(admitAll, places)

/**
 * For a transaction that writes these orders in several steps: notes them, or rejects with
 * `MerchantLeft`.
 */
export async function admit(runner: Runner, places: readonly OrderPlace[]): Promise<void> {
  await refuseGone(
    runner,
    places.map(({ merchantId }) => merchantId),
  )
  await readOf(runner, noteAll, places)
}

const moving = statement<object>(`select from merchant_move where state <> 'left' limit 1`)

/** Whether rows of some merchant are on their way from this cell, or into it. */
export const isMerchantMoving = async (runner: Runner): Promise<boolean> => (await runner.run(moving)).length > 0

const gone = statement<{ merchant_id: bigint }>(
  `select merchant_id from merchant_move where merchant_id = any ($1::bigint[]) and state <> 'leaving'`,
)

/** Which of these merchants are not here. */
export async function goneOf(runner: Runner, merchantIds: readonly bigint[]): Promise<Set<bigint>> {
  const rows = merchantIds.length === 0 ? [] : await runner.run(gone, [[...new Set(merchantIds)]])
  return new Set(rows.map((row) => row.merchant_id))
}

/**
 * Rejects with `MerchantLeft` if one of them is not. For readers too that find nothing: the rows of
 * a merchant that has left are removed, and a process that stood still may not know of the move.
 */
export async function refuseGone(runner: Runner, merchantIds: readonly bigint[]): Promise<void> {
  for (const merchantId of await goneOf(runner, merchantIds)) throw new MerchantLeft(merchantId)
}
