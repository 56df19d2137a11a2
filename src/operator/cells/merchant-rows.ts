/**
 * The rows of a merchant in two cells. They are compared page by page, and pages that differ are
 * copied: as JSON text, which is never read in between, so that no value can change on the way. So
 * a copy needs to know nothing of what was changed, and may be cut off and repeated.
 */
import { orderNames } from '../../order/store/rows.ts'
import { statement, type Pool, type Runner, type Statement } from '../../storage/pool.ts'
import { partitioned } from '../../storage/partitions.ts'

/** All that is read of the rows are texts: keys, digests, and rows in JSON. */
interface Text {
  text: string
}

const textsOf = async (runner: Runner, ask: Statement<Text>, values: unknown[]): Promise<string[]> =>
  (await runner.run(ask, values)).map(({ text }) => text)

function write(table: string, after: string): Statement<object> {
  // PostgreSQL computes another column of orders itself.
  const columns = table === 'orders' ? orderNames.join(', ') : undefined
  return statement<object>(`
    insert into ${table} ${columns ? `(${columns})` : ''} select ${columns ?? '*'}
    from json_populate_recordset(null::${table}, $1::json) n ${after}`)
}
/** Whatever the order in which the rows are read. */
const digestOf = (text: string) => `count(*) || ' ' || coalesce(sum(hashtextextended(${text}, 0)), 0)`

const countKey = `(t.filter_no::text || ' ' || encode(t.key, 'hex'))`

interface Group {
  /** The first table has a row for each key. */
  tables: readonly string[]
  key: string
  type: string
  /** Less than any key. */
  first: string
  atOnce: number
  /** A number keeps its reference forever, and references of cards depend on it. */
  isKept?: true
}

/**
 * What others refer to comes first. The last ones also stay where they were made: a page token has
 * the number of that cell.
 */
// oxfmt-ignore
const rowGroups: readonly Group[] = [
  { tables: ['card_number_ref'], key: 't.number_id',      type: 'bytea',  first: '\\x', atOnce: 2_000, isKept: true },
  { tables: ['card_reference'],  key: 't.card_ref_id',    type: 'bigint', first: '0',   atOnce: 2_000 },
  { tables: partitioned,         key: 't.order_id',       type: 'bigint', first: '0',   atOnce: 500 },
  { tables: ['order_key'],       key: 't.client_orderid', type: 'text',   first: '',    atOnce: 2_000 },
  { tables: ['idempotency_key'], key: 't.key',            type: 'text',   first: '',    atOnce: 2_000 },
  { tables: ['mobile_invoice'],  key: 't.invoice_id',     type: 'text',   first: '',    atOnce: 500 },
  { tables: ['nonce'],           key: 't.nonce',          type: 'text',   first: '',    atOnce: 2_000 },
  { tables: ['filter_count'],    key: countKey,           type: 'text',   first: '',    atOnce: 2_000 },
  { tables: ['minute_count'],    key: 't.minute',         type: 'timestamptz', first: '-infinity', atOnce: 500 },
  { tables: ['hour_count'],      key: 't.hour',           type: 'timestamptz', first: '-infinity', atOnce: 500 },
  { tables: ['locator'],         key: 't.key',            type: 'text',   first: '',    atOnce: 2_000 },
]
const groups = rowGroups.map(statementsOf)

type Statements = ReturnType<typeof statementsOf>

function statementsOf(group: Group) {
  const { tables, key, type } = group
  const [head] = tables
  const named = `t.merchant_id = $1 and ${key} = any ($2::${type}[])`
  return {
    ...group,
    keys: statement<Text>(
      `select ${key}::text as text from ${head} t where t.merchant_id = $1 and ${key} > $2::${type} order by ${key} limit $3`,
    ),
    known: statement<Text>(`select ${key}::text as text from ${head} t where ${named}`),
    ofKeys: statement<Text>(`select ${digestOf(`${key}::text`)} as text from ${head} t where t.merchant_id = $1`),
    ofRows: statement<Text>(
      tables
        .map((table) => `select '${table} ' || ${digestOf('t::text')} as text from ${table} t where ${named}`)
        .join(' union all '),
    ),
    each: tables.map((table) => ({
      read: statement<Text>(`select row_to_json(t)::text as text from ${table} t where ${named}`),
      remove: group.isKept ? undefined : statement<object>(`delete from ${table} t where ${named}`),
      write: write(table, group.isKept ? 'on conflict do nothing' : ''),
    })),
  }
}

/** Tables with rows of merchants that stay. */
export const stayingTables: readonly string[] = ['locator', 'merchant_mover']
/**
 * Those in which nothing is written of a merchant that is in another cell. References come before
 * what they refer to.
 */
export const fencedTables: readonly string[] = groups.flatMap(({ tables }) => tables).toReversed()
/** Every table whose rows move, in the same order. */
export const movedTables: readonly string[] = fencedTables.filter((table) => !stayingTables.includes(table))
const removals = movedTables.map((table) => statement<object>(`delete from ${table} where merchant_id = $1`))

/** A merchant's rows in the cell that it leaves, and in the one that it moves to. */
export interface RowMove {
  merchantId: bigint
  from: Pool
  to: Pool
  /** A transaction in the new cell; rejects if another command has taken the move over. */
  write: <T>(body: (runner: Runner) => Promise<T>) => Promise<T>
}

/** Copies what differs; true if anything did. `looked` gets the number of orders so far. */
export async function copyRows(move: RowMove, looked: (orders: number) => void | Promise<void>): Promise<boolean> {
  let differed = false
  for (const group of groups) {
    if (await removeUnknown(move, group)) differed = true
    let keysSoFar = 0
    for await (const keys of pagesOf(move.from, group, move.merchantId)) {
      if (await copyPage(move, group, keys)) differed = true
      keysSoFar += keys.length
      if (group.tables === partitioned) await looked(keysSoFar)
    }
  }
  return differed
}

async function* pagesOf(pool: Pool, { keys, first, atOnce }: Statements, merchantId: bigint): AsyncGenerator<string[]> {
  for (let after: string = first; ;) {
    const page = await textsOf(pool, keys, [merchantId, after, atOnce])
    if (page.length === 0) return
    yield page
    // Rows made meanwhile are for the next round, or the copy might never end.
    if (page.length < atOnce) return
    after = page.at(-1)!
  }
}

async function isSame(ask: Statement<Text>, { from, to }: RowMove, values: unknown[]): Promise<boolean> {
  const [old, fresh] = await Promise.all([from, to].map((pool) => textsOf(pool, ask, values)))
  return String(old!.sort()) === String(fresh!.sort())
}

/** Rows that an earlier copy left in the new cell and the old one has no more. */
async function removeUnknown(move: RowMove, group: Statements): Promise<boolean> {
  const { merchantId, from, to } = move
  if (group.isKept || (await isSame(group.ofKeys, move, [merchantId]))) return false
  let differed = false
  for await (const keys of pagesOf(to, group, merchantId)) {
    const known = new Set(await textsOf(from, group.known, [merchantId, keys]))
    const unknown = keys.filter((key) => !known.has(key))
    if (unknown.length === 0) continue
    differed = true
    await move.write((runner) => removeNamed(runner, group, merchantId, unknown))
  }
  return differed
}

const removeNamed = async (runner: Runner, { each }: Statements, merchantId: bigint, keys: readonly string[]) => {
  for (const { remove } of each.toReversed()) if (remove) await runner.run(remove, [merchantId, keys])
}

/** In place of what the new cell has of these keys. */
async function copyPage(move: RowMove, group: Statements, keys: readonly string[]): Promise<boolean> {
  const { merchantId, from } = move
  if (await isSame(group.ofRows, move, [merchantId, keys])) return false
  const found = await Promise.all(group.each.map(({ read }) => textsOf(from, read, [merchantId, keys])))
  await move.write(async (runner) => {
    await removeNamed(runner, group, merchantId, keys)
    for (const [at, { write: add }] of group.each.entries())
      if (found[at]!.length > 0) await runner.run(add, [`[${found[at]!.join(',')}]`])
  })
  return true
}

/** Removes the rows of a merchant, in steps; returns how many orders there were. */
export async function removeRows(pool: Pool, merchantId: bigint, inCell: RowMove['write']): Promise<number> {
  let removed = 0
  const orders = groups.find(({ tables }) => tables === partitioned)!
  for await (const keys of pagesOf(pool, orders, merchantId)) {
    await inCell((runner) => removeNamed(runner, orders, merchantId, keys))
    removed += keys.length
  }
  await inCell(async (runner) => {
    for (const removal of removals) await runner.run(removal, [merchantId])
  })
  return removed
}
