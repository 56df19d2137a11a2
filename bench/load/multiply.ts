import { ensurePartitions } from '../../src/storage/partitions.ts'
import { statement, type Pool } from '../../src/storage/pool.ts'
import { onDatabase, type Sandbox } from '../sandbox.ts'
import { storedName, type StoredOrders } from './stored-orders.ts'

/** A column of a table of orders, as the catalogs have it. */
export interface Column {
  table: string
  column: string
  type: string
  /** Whether a unique index has it. */
  unique: boolean
}

/** Each table that has rows of orders, with the columns that can be written. */
const columns = statement<Column>(`
  select t.relname as "table", a.attname as "column", format_type(a.atttypid, null) as type,
    exists (select from pg_index i where i.indrelid = t.oid and i.indisunique and a.attnum = any (i.indkey)) as "unique"
  from pg_class t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where t.relnamespace = current_schema::regnamespace and t.relkind in ('r', 'p') and not t.relispartition
    and (select count(*) from pg_attribute k where k.attrelid = t.oid and k.attname in ('merchant_id', 'order_id')) = 2
  order by t.relname, a.attnum`)

const templates = statement<{ order_id: bigint; endpoint_id: bigint }>(
  `select order_id, endpoint_id from orders order by order_id`,
)
const reserve = statement<{ first: bigint }>(
  `update id_block set next_id = next_id + $1 where name = 'order' returning next_id - $1 as first`,
)

/** Orders made in one transaction, about. */
const atOnce = 50_000
/** The orders are spread over so long, the newest last. */
export const spreadDays = 90

/**
 * Writes `orders` orders more, up to a whole copy, as copies of those that are there: under ids,
 * names and keys of their own, and each earlier than the next. It knows no columns, so that it goes
 * on working when they change: it fails where a unique index has none that it can make anew.
 */
export const multiplyOrders = (sandbox: Sandbox, orders: number, tick: (made: number) => void): Promise<StoredOrders> =>
  onDatabase(sandbox, async (pool) => {
    const rows = await pool.run(templates)
    const [first, last] = [rows[0]!.order_id, rows.at(-1)!.order_id]
    const span = Number(last - first) + 1
    const copies = Math.ceil(orders / rows.length)
    const tables = await tablesWithTemplates(pool)
    const step = Math.max(1, Math.floor(atOnce / rows.length))
    const blocks: StoredOrders['blocks'][number][] = []
    for (let done = 0; done < copies; done += step) {
      const count = Math.min(step, copies - done)
      // The partition of the next ids exists before they are drawn.
      await ensurePartitions(pool)
      const [block] = await pool.run(reserve, [count * span])
      const from = { first, last, start: block!.first, done, count, copies }
      await run(pool, ['begin', 'set local synchronous_commit = off', ...tables.map((table) => copyOf(table, from)), 'commit'])
      blocks.push({ first: Number(block!.first), copies: count })
      tick((done + count) * rows.length)
    }
    // As autovacuum would leave them, which otherwise works through the measurements.
    await run(pool, ['vacuum analyze', 'checkpoint'])
    const made = rows.map((row) => ({ offset: Number(row.order_id - first), endpoint: String(row.endpoint_id) }))
    return { templates: made, span, blocks }
  })

async function tablesWithTemplates(pool: Pool): Promise<Column[][]> {
  const all = await pool.run(columns)
  const filled: Column[][] = []
  for (const name of new Set(all.map(({ table }) => table))) {
    const rows = await pool.run(statement(`select from ${quoted(name)} limit 1`))
    if (rows.length > 0) filled.push(all.filter(({ table }) => table === name))
  }
  return filled
}

async function run(pool: Pool, commands: readonly string[]): Promise<void> {
  const connection = await pool.connect()
  let broken = true
  try {
    for (const sql of commands) await connection.command(sql)
    broken = false
  } finally {
    connection.release(broken)
  }
}

interface Copies {
  /** The ids of the templates. */
  first: bigint
  last: bigint
  /** The first new id; then copies `done` up to `done + count` of `copies`. */
  start: bigint
  done: number
  count: number
  copies: number
}

/** The statement that copies the rows of one table. */
export function copyOf(table: readonly Column[], { first, last, start, done, count, copies }: Copies): string {
  const name = table[0]!.table
  const span = last - first + 1n
  const values = table.map((one) => valueOf(one))
  const isNew = table.some((one, i) => one.unique && values[i] !== quoted(one.column))
  if (table.some(({ unique }) => unique) && !isNew)
    throw new Error(`The rows of ${name} cannot be copied: their key is not known.`)
  return `insert into ${quoted(name)} (${table.map(({ column }) => quoted(column)).join(', ')})
    select ${values.join(', ')} from ${quoted(name)}, generate_series(0, ${count - 1}) as copy,
      lateral (select ${start} + copy * ${span} + order_id - ${first} as new_id,
        interval '${spreadDays} days' * (${copies - done} - copy) / ${copies} as earlier) as made
    where order_id between ${first} and ${last}`
}

/** Values that two payments hardly ever share, so that a search by them finds few. */
const id12 = `lpad(new_id::text, 12, '0')`
const cardNo = `lpad((new_id / 4)::text, 12, '0')`
const lastDigits = (many: number) => `right(${id12}, ${many})`
const inJson = (text: string, member: string, value: string) =>
  `regexp_replace(${text}, '"${member}":"[^"]*"', '"${member}":"' || ${value} || '"')`
const unlike: Readonly<Record<string, string>> = {
  order_id: 'new_id',
  client_orderid: `'${storedName}' || new_id`,
  rrn: `case when rrn is not null then ${id12} end`,
  stan: `case when stan is not null then ${lastDigits(6)} end`,
  // A card pays four times.
  card_hash: 'md5(card_hash || new_id / 4)',
  card: `${inJson(inJson('card::text', 'lastFour', `right(${cardNo}, 4)`), 'bin', `'4' || substr(${cardNo}, 4, 5)`)}::json`,
  result: `${inJson(inJson('result::text', 'rrn', id12), 'approvalCode', 'left(md5(new_id::text), 6)')}::json`,
}

function valueOf({ column, type, unique }: Column): string {
  const name = quoted(column)
  if (unlike[column] !== undefined) return unlike[column]
  if (type === 'uuid') return `case when ${name} is not null then gen_random_uuid() end`
  if (type === 'timestamp with time zone') return `${name} - earlier`
  if (type === 'text' && unique) return `md5(${name} || new_id)`
  return name
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
