/** The queries that show whether a copy of the database is whole. They only read. */
import { machine } from '../../order/decide/machine.ts'
import { statusOfState } from '../../order/decide/order.ts'
import { entities, statement, type Runner } from '../../storage/pool.ts'
import { firstId, openBatch, type RowId, type SealedTable } from '../../keys/reseal.ts'
import type { IdName } from '../../storage/ids.ts'
import type { OpenKeys } from './rows.ts'

/** The contents of one cell of the copy. */
export interface CellBooks {
  contents: Contents
  faults: readonly BookFault[]
  /** The highest ids that its rows have. */
  used: readonly UsedIds[]
}

interface Contents extends Record<'orders' | 'transactions' | 'attempts' | 'events' | 'deliveries' | 'invoices', bigint> {
  /** The newest time that anything has. */
  newestAt?: number
}

/** Orders whose rows contradict each other. */
interface BookFault {
  says: string
  count: bigint
  /** The first of them. */
  orderIds: readonly string[]
}

export interface UsedIds {
  name: IdName
  used: bigint
}

export interface IdBlock extends UsedIds {
  /** The next id that will be drawn; undefined if the row is missing. */
  next?: bigint
}

/** Gateways beat every second, so that the newest is the moment of the copy while one ran. */
const contents = entities<Contents>(`
  select (select count(*) from orders) as orders, (select count(*) from all_transactions) as transactions,
    (select count(*) from all_attempts) as attempts, (select count(*) from all_events) as events,
    (select count(*) from delivery) as deliveries, (select count(*) from mobile_invoice) as invoices,
    greatest((select max(created_at) from orders), (select max(at) from order_event),
      (select max(beat_at) from heartbeat)) as newest_at`)

/** The ids of a transaction that has failed no longer count; `$1` has the states of these. */
const sums = `
  select o.order_id from orders o
  left join (
    select merchant_id, order_id, sum(amount_minor) filter (where kind = 'capture') as captured,
      sum(amount_minor) filter (where kind = 'return') as returned
    from transaction where not state = any ($1::text[]) group by merchant_id, order_id) t using (merchant_id, order_id)
  where o.returned_minor <> coalesce(t.returned, 0)
    or o.captured_minor <> case when o.kind <> 'sale' then coalesce(t.captured, 0)
      when o.state = 'approved' then o.authorised_minor else 0 end`

/** An order counts its rows; rows of no order are found too. */
const numbersOfRows = `
  select coalesce(o.order_id, r.order_id) as order_id from orders o
  full join (
    select merchant_id, order_id, sum(t) as t, sum(a) as a, sum(e) as e, sum(d) as d from (
      select merchant_id, order_id, 1 as t, 0 as a, 0 as e, 0 as d from transaction
      union all select merchant_id, order_id, 0, 1, 0, 0 from attempt
      union all select merchant_id, order_id, 0, 0, cardinality(moves), 0 from order_event
      union all select merchant_id, order_id, 0, 0, 0, 1 from delivery) one
    group by merchant_id, order_id) r using (merchant_id, order_id)
  where o.order_id is null or o.transactions <> 1 + coalesce(r.t, 0) or o.events <> coalesce(r.e, 0)
    or o.attempts <> coalesce(r.a, 0) + (o.gate_id is not null)::int or o.deliveries <> coalesce(r.d, 0)
    or not exists (select from order_facts f where f.merchant_id = o.merchant_id and f.order_id = o.order_id)`

/** `$1`: state and step of each move of the machine; `$2` and `$3`: each state with its status. */
const states = `
  select t.order_id from all_transactions t left join orders o
    on t.transaction_no = 1 and o.merchant_id = t.merchant_id and o.order_id = t.order_id
  where not concat_ws('>', t.state, t.step) = any ($1::text[])
    or not exists (select from unnest($2::text[], $3::text[]) as known (state, status)
      where known.state = t.state and (o.status is null or known.status = o.status))`

const lastEvent = `
  select t.order_id from all_transactions t
  left join (
    select distinct on (merchant_id, order_id, transaction_no) merchant_id, order_id, transaction_no, to_state
    from all_events order by merchant_id, order_id, transaction_no, event_no desc) e
    using (merchant_id, order_id, transaction_no)
  where e.to_state is distinct from t.state`

/** A transfer is approved by its credit, which has a transaction of its own. */
const approvalWithoutAnswer = `
  select t.order_id from all_transactions t
  where t.state = 'approved' and not exists (
    select from all_attempts a where a.merchant_id = t.merchant_id and a.order_id = t.order_id
      and a.transaction_no = t.transaction_no and a.outcome = 'approved')`

const known = [...new Set(machine.map(({ to }) => to))]
const failed = known.filter((state) => ['declined', 'error', 'filtered'].includes(statusOfState(state)))
const standing = [...new Set(machine.map(({ to, asks }) => (asks === undefined ? to : `${to}>${asks}`)))]

const found = (rows: string) =>
  entities<Omit<BookFault, 'says'>>(`
    select count(*) as count, (array_agg(order_id order by order_id))[1:5]::text[] as order_ids
    from (select distinct order_id from (${rows}) r) f`)

const rules: readonly (readonly [says: string, ReturnType<typeof found>, ...values: readonly unknown[]])[] = [
  ['the captured or returned amount is not the sum of the transactions', found(sums), failed],
  ['transactions, attempts, events or callbacks are missing or too many', found(numbersOfRows)],
  ['a state, step or status is unknown to this version', found(states), standing, known, known.map(statusOfState)],
  ['the state of a transaction differs from that of its last event', found(lastEvent)],
  ['an approval has no approved attempt at the acquirer', found(approvalWithoutAnswer)],
]

/** The highest ids in a cell, zero if none has one. */
const usedInCell = statement<UsedIds>(`
  select u.name, coalesce(u.used, 0) as used from (values
    ('order', greatest((select max(order_id) from orders), (select max(order_id) from order_key),
      (select max(greatest(order_id, hold_order_id)) from mobile_invoice))),
    ('attempt', (select max(rrn::bigint) from all_attempts where rrn ~ '^[0-9]{12}$')),
    ('process', greatest((select max(process_id) from heartbeat), (select max(lease) from all_transactions)))
  ) as u (name, used)`)
/** `$1` and `$2` have the names and the highest ids of all cells. */
const blocks = entities<IdBlock>(`
  select u.name, coalesce(max(u.used), 0) as used, max(b.next_id) as next from (
    values ('merchant', (select max(merchant_id) from merchant)),
      ('endpoint', greatest((select max(endpoint_id) from endpoint), (select max(group_id) from endpoint_group))),
      ('gate', (select max(gate_id) from gate)),
      ('user', (select max(user_id) from operator_user)),
      ('token', (select max(token_id) from operator_token)),
      ('factor', (select max(factor_id) from operator_factor)),
      ('session', (select max(session_id) from operator_session)),
      ('proposal', (select max(proposal_id) from proposal))
    union all select * from unnest($1::text[], $2::bigint[])) u (name, used)
  left join id_block b on b.name = u.name group by u.name order by u.name`)

/**
 * A counter of attempts makes their RRN, of twelve digits. Beyond those it begins again, and then
 * nothing can be said of it.
 */
const rrns = 10n ** 12n

export const isBehind = ({ name, next, used }: IdBlock): boolean =>
  next === undefined || (next <= used && !(name === 'attempt' && next > rrns))

/** `runner` is a snapshot of a cell, so that all that is compared is of one moment. */
export async function cellBooks(runner: Runner): Promise<CellBooks> {
  const [all] = await runner.run(contents)
  const faults: BookFault[] = []
  for (const [says, sql, ...values] of rules) {
    const [row] = await runner.run(sql, values)
    if (row!.count > 0n) faults.push({ says, ...row! })
  }
  return { contents: all!, faults, used: await runner.run(usedInCell) }
}

/** The ids of the installation and of its cells. */
export const idBlocks = (runner: Runner, ofCells: readonly UsedIds[]): Promise<IdBlock[]> =>
  runner.run(blocks, [ofCells.map(({ name }) => name), ofCells.map(({ used }) => used)])

export interface OpenedTable {
  table: string
  column: string
  opened: number
  /** How many rows have a value that does not open, and the first of them. */
  closed: number
  rows: readonly RowId[]
}

const batch = 1_000
const sampled = 1_000
const mostNamed = 5

const countOf = (table: string, column: string) =>
  statement<{ n: bigint }>(`select count(*) as n from ${table} where ${column} is not null`)

/** Opens the sealed values of these tables: all, or some 1,000 that chance picks in each. */
export async function openSealed(
  runner: Runner,
  from: readonly SealedTable[],
  keys: OpenKeys,
  which: 'all' | 'sample',
): Promise<OpenedTable[]> {
  const tables: OpenedTable[] = []
  for (const sealed of from) {
    const [column] = Object.keys(sealed.sealed)
    const [{ n } = { n: 0n }] = await runner.run(countOf(sealed.table, column!))
    const share = which === 'all' || n <= BigInt(sampled) ? 1 : sampled / Number(n)
    const sum = { opened: 0, closed: 0, rows: [] as RowId[] }
    for (let after: RowId | undefined = firstId(sealed); after;) {
      const looked = await openBatch(runner, sealed, keys, { after, most: batch, share })
      sum.opened += looked.opened
      sum.closed += looked.closed.length
      sum.rows.push(...looked.closed.slice(0, mostNamed - sum.rows.length))
      after = looked.next
    }
    tables.push({ table: sealed.table, column: column!, ...sum })
  }
  return tables
}
