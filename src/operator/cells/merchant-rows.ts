/**
 * The rows of a merchant in a cell, as a move copies them: as JSON text, which is never read in
 * between, so that no value can change on the way.
 */
import { orderNames } from '../../order/store/rows.ts'
import { statement, type Pool, type Runner, type Statement } from '../../storage/pool.ts'
import { partitioned } from '../../storage/partitions.ts'
import { transaction } from '../../storage/transaction.ts'

interface RowText {
  row: string
}

const read = (table: string, where: string) =>
  statement<RowText>(`select row_to_json(t)::text as row from ${table} t where t.merchant_id = $1 and ${where}`)

/** All columns, except that of orders which PostgreSQL computes. */
const columns = (table: string): string => (table === 'orders' ? orderNames.join(', ') : '*')
const into = (table: string) => (table === 'orders' ? `orders (${columns(table)})` : table)
const given = (table: string) => `json_populate_recordset(null::${table}, $1::json) n`
const write = (table: string, after = '') =>
  statement<object>(`insert into ${into(table)} select ${columns(table)} from ${given(table)} ${after}`)
const removeAll = (table: string) => statement<object>(`delete from ${table} where merchant_id = $1`)

/** The tables whose rows belong to one order, and are found by it. */
const ofOrders = [...partitioned, 'card_reference'].map((table) => ({
  read: read(table, 't.order_id = any ($2::bigint[])'),
  remove: statement<object>(`delete from ${table} where merchant_id = $1 and order_id = any ($2::bigint[])`),
  write: write(table),
}))
const readIdempotencyKeys = read('idempotency_key', 't.order_id = any ($2::bigint[])')

/**
 * The rows of a table whose keys are named in rows of these orders. In two statements, since
 * PostgreSQL plans a join badly in a cell that was just filled and is not yet analyzed: it ran for
 * minutes.
 */
function namedBy(naming: string, table: string, key: string, type: string) {
  const names = statement<{ name: string }>(`
    select distinct ${key}::text as name from ${naming}
    where merchant_id = $1 and order_id = any ($2::bigint[]) and ${key} is not null`)
  const rows = read(table, `t.${key} = any ($2::${type}[])`)
  return async (from: Runner, merchantId: bigint, ids: readonly bigint[]): Promise<RowText[]> => {
    const found = await from.run(names, [merchantId, ids])
    return found.length === 0 ? [] : from.run(rows, [merchantId, found.map(({ name }) => name)])
  }
}
const keysNamed = namedBy('orders', 'order_key', 'client_orderid', 'text')
const numbersNamed = namedBy('card_reference', 'card_number_ref', 'number_id', 'bytea')
const readInvoices = read('mobile_invoice', 't.invoice_id = any ($2::text[])')

/**
 * Tables with a key of their own, copied page by page, or row by row in place of an older one. What
 * others refer to comes first.
 */
const keyed = {
  order_key: keyedBy('order_key', 'client_orderid', 'text', ''),
  idempotency_key: keyedBy('idempotency_key', 'key', 'text', ''),
  card_number_ref: keyedBy('card_number_ref', 'number_id', 'bytea', '\\x'),
  card_reference: keyedBy('card_reference', 'card_ref_id', 'bigint', '0'),
  mobile_invoice: keyedBy('mobile_invoice', 'invoice_id', 'text', ''),
} as const
type Keyed = keyof typeof keyed

function keyedBy(table: string, key: string, type: string, first: string) {
  return {
    first,
    page: statement<RowText & { at: string }>(`
      select row_to_json(t)::text as row, t.${key}::text as at from ${table} t
      where t.merchant_id = $1 and t.${key} > $2::${type} order by t.${key} limit $3`),
    remove: statement<object>(
      `delete from ${table} t using ${given(table)} where t.merchant_id = n.merchant_id and t.${key} = n.${key}`,
    ),
    write: write(table),
  }
}

/** Tables that are compared as a whole: their rows are few, and every request may change some. */
const whole = [
  { table: 'nonce', id: 't.nonce', same: 't.nonce = n.nonce' },
  { table: 'filter_count', id: `t.filter_no || ' ' || t.key`, same: 't.filter_no = n.filter_no and t.key = n.key' },
].map(({ table, id, same }) => ({
  table,
  readAll: statement<RowText & { id: string }>(
    `select row_to_json(t)::text as row, ${id} as id from ${table} t where t.merchant_id = $1`,
  ),
  remove: statement<object>(`delete from ${table} t using ${given(table)} where t.merchant_id = n.merchant_id and ${same}`),
  write: write(table),
}))

/** Every table with rows of merchants that move; references come before what they refer to. */
export const movedTables: readonly string[] = [
  ...partitioned,
  ...Object.keys(keyed).reverse(),
  ...whole.map(({ table }) => table),
]
/** Tables with rows of merchants that stay: page tokens lead through the cell of their birth. */
export const stayingTables: readonly string[] = ['locator', 'merchant_move', 'merchant_move_note']
const removals = movedTables.map(removeAll)

const orderIds = statement<{ order_id: bigint }>(
  `select order_id from orders where merchant_id = $1 and order_id > $2 and order_id <= $4 order by order_id limit $3`,
)
const lastOrder = statement<{ order_id: bigint }>(
  `select order_id from orders where merchant_id = $1 order by order_id desc limit 1`,
)

/** A merchant's rows on their way from one cell to another. */
export interface RowMove {
  merchantId: bigint
  from: Pool
  to: Pool
  /** A transaction in the new cell; rejects if another command has taken the move over. */
  write: <T>(body: (runner: Runner) => Promise<T>) => Promise<T>
}

const ordersAtOnce = 500
const rowsAtOnce = 2_000

/** Removes what an earlier copy left in the new cell. */
export const clearRows = ({ merchantId, write: inNewCell }: RowMove): Promise<void> =>
  inNewCell(async (runner) => {
    for (const removal of removals) await runner.run(removal, [merchantId])
  })

/**
 * Copies everything that is there now; `copied` gets the number of orders so far. Orders that are
 * made meanwhile are noted, or the end could run away from the copy.
 */
export async function copyAll(move: RowMove, copied: (orders: number) => void | Promise<void>): Promise<void> {
  for (const table of Object.keys(keyed) as Keyed[]) await copyKeyed(move, table)
  const [last] = await move.from.run(lastOrder, [move.merchantId])
  if (!last) return
  for (let after = -1n, orders = 0; ;) {
    const values = [move.merchantId, after, ordersAtOnce, last.order_id]
    const ids = (await move.from.run(orderIds, values)).map((row) => row.order_id)
    if (ids.length === 0) return
    await copyOrders(move, move.from, ids)
    after = ids.at(-1)!
    await copied((orders += ids.length))
  }
}

async function copyKeyed(move: RowMove, table: Keyed): Promise<void> {
  const { first, page } = keyed[table]
  for (let after: string = first; ;) {
    const rows = await move.from.run(page, [move.merchantId, after, rowsAtOnce])
    if (rows.length === 0) return
    await move.write((runner) => replace(runner, keyed[table], rows))
    after = rows.at(-1)!.at
  }
}

/** In place of what the new cell has of these orders. */
async function copyOrders(move: RowMove, from: Runner, ids: readonly bigint[]): Promise<void> {
  const { merchantId } = move
  const numbers = await numbersNamed(from, merchantId, ids)
  const found = await Promise.all(ofOrders.map((table) => from.run(table.read, [merchantId, ids])))
  await move.write(async (runner) => {
    if (numbers.length > 0) await runner.run(addNumbers, [arrayOf(numbers)])
    for (const [at, table] of ofOrders.entries()) {
      await runner.run(table.remove, [merchantId, ids])
      if (found[at]!.length > 0) await runner.run(table.write, [arrayOf(found[at]!)])
    }
  })
}

/** Copies these orders again, with the keys that they have taken or given back. */
export async function copyOrdersAgain(move: RowMove, from: Runner, ids: readonly bigint[]): Promise<void> {
  for (let at = 0; at < ids.length; at += ordersAtOnce) {
    const some = ids.slice(at, at + ordersAtOnce)
    await copyOrders(move, from, some)
    const names = await keysNamed(from, move.merchantId, some)
    const keys = await from.run(readIdempotencyKeys, [move.merchantId, some])
    await move.write(async (runner) => {
      await replace(runner, keyed.order_key, names)
      await replace(runner, keyed.idempotency_key, keys)
    })
  }
}

export async function copyInvoicesAgain(move: RowMove, from: Runner, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += ordersAtOnce) {
    const rows = await from.run(readInvoices, [move.merchantId, ids.slice(at, at + ordersAtOnce)])
    await move.write((runner) => replace(runner, keyed.mobile_invoice, rows))
  }
}

/** Copies what has changed in nonces and used limits since the call before. */
export function openWholeCopy(move: RowMove): () => Promise<void> {
  const sent = whole.map(() => new Map<string, string>())
  return async () => {
    for (const [at, { readAll, ...statements }] of whole.entries()) {
      const known = sent[at]!
      const rows = (await move.from.run(readAll, [move.merchantId])).filter(({ id, row }) => known.get(id) !== row)
      for (let first = 0; first < rows.length; first += rowsAtOnce)
        await move.write((runner) => replace(runner, statements, rows.slice(first, first + rowsAtOnce)))
      for (const { id, row } of rows) known.set(id, row)
    }
  }
}

async function replace(
  runner: Runner,
  { remove, write: add }: { remove: Statement<object>; write: Statement<object> },
  rows: readonly RowText[],
): Promise<void> {
  if (rows.length === 0) return
  const all = [arrayOf(rows)]
  await runner.run(remove, all)
  await runner.run(add, all)
}

/** A number keeps its reference for ever, and references of other orders may hold on to it. */
const addNumbers = write('card_number_ref', 'on conflict do nothing')

const arrayOf = (rows: readonly RowText[]): string => `[${rows.map(({ row }) => row).join(',')}]`

const highest = 2n ** 63n - 1n

/** Held until the commit: meanwhile the merchant cannot begin to come back. */
const holdLeft = statement<object>(
  `select from merchant_move where merchant_id = $1 and mover = $2 and state = 'left' for update`,
)

/**
 * Removes the rows of a merchant that has left, in steps; returns how many orders there were. Ends
 * early if another command than `mover` moves the merchant again: then the rows are that command's.
 */
export async function removeRows(pool: Pool, { merchantId, mover }: { merchantId: bigint; mover: string }): Promise<number> {
  const step = (body: (runner: Runner) => Promise<number>): Promise<number | undefined> =>
    transaction(pool, async (runner) => ((await runner.run(holdLeft, [merchantId, mover])).length > 0 ? body(runner) : undefined))
  let orders = 0
  for (;;) {
    const removed = await step(async (runner) => {
      const ids = (await runner.run(orderIds, [merchantId, -1n, ordersAtOnce, highest])).map((row) => row.order_id)
      if (ids.length > 0) for (const { remove } of [...ofOrders].reverse()) await runner.run(remove, [merchantId, ids])
      return ids.length
    })
    if (removed === undefined) return orders
    if (removed === 0) break
    orders += removed
  }
  await step(async (runner) => {
    for (const removal of removals) await runner.run(removal, [merchantId])
    return 0
  })
  return orders
}
