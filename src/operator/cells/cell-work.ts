/** The work that there is in a cell, and who does it. */
import type { MoveState } from '../../merchant/merchant.ts'
import { entities, statement, type Pool } from '../../storage/pool.ts'
import { deadAfterMs } from '../../leases/heartbeat.ts'
import { partitionsAhead } from '../../storage/partitions.ts'

/** The work of a cell, and who does it. */
export interface CellWork extends Waiting {
  alive: readonly LeaseFact[]
  /** Processes that fell silent within the last hour, without a stop. */
  silent: readonly { instance: string; beatAt: number; orders: bigint }[]
  nextOrderId: bigint
  /** For each partitioned table the end of its last partition. */
  partitions: readonly { table: string; end: bigint }[]
  /** How long they last, by the orders of the last 30 days. */
  partitionDays: number
  moving: readonly MovingMerchant[]
}

interface Waiting {
  /** Transactions due for more than half a minute. */
  overdue: bigint
  overdueSince?: number
  /**
   * Payments whose cardholder is being authenticated: their time limits are in the future, and no
   * process works on them.
   */
  awaiting: bigint
  /** Orders, and ids of invoices: at most twenty of each. */
  parked: readonly string[]
  parkedInvoices: readonly string[]
  due: bigint
  dueSince?: number
  /** Messages given up in the last day. */
  givenUp: bigint
}

/** A merchant of this cell that is being moved: a command moves it now, or was cut off. */
export interface MovingMerchant {
  login: string
  state: MoveState
  to: number
  /** When it came to this state. */
  since: number
}

/** A live process, and what happened to its lease since it began. */
export interface LeaseFact {
  instance: string
  startedAt: number
  lapses: number
  /** When the last lapse ended, and how many orders were in memory. */
  lapsedAt?: number
  lapsedOrders: number
  /** Orders that it took over from silent processes, and when it last did. */
  takenOver: number
  takenOverAt?: number
}

/**
 * Orders are counted for silent processes only. A leased transaction always has a due_at, so the
 * index of what is due finds them.
 */
const heartbeats = entities<LeaseFact & CellWork['silent'][number] & { alive: boolean }>(`
  select instance, started_at, beat_at, alive, lapses, lapsed_orders, lapsed_at, taken_over, taken_over_at,
    (select count(distinct order_id) from all_transactions t
     where t.due_at is not null and t.lease = h.process_id and not h.alive) as orders
  from (select *, beat_at > now() - $1::int * interval '1 millisecond' as alive from heartbeat) h order by started_at`)
/**
 * What is overdue is found by the index of due rows: a parked transaction is due in the far future
 * or never.
 */
const waiting = entities<Waiting>(`
  select late.n as overdue, late.since as overdue_since, owed.n as due, owed.since as due_since,
    (select count(*) from all_transactions where due_at >= now() and step like 'await %' and alarm is null) as awaiting,
    array(select distinct order_id from all_transactions where alarm is not null order by order_id limit 20)::text[] as parked,
    array(select invoice_id from mobile_invoice where alarm is not null order by created_at limit 20) as parked_invoices,
    (select count(*) from delivery where state = 'given up'
      and created_at > now() - interval '15 days' and done_at > now() - interval '1 day') as given_up
  from (select count(*) as n, min(due_at) as since from all_transactions
      where due_at < now() - interval '30 seconds' and alarm is null) late,
    (select count(*) as n, min(created_at) as since from delivery where due_at is not null) owed`)
/** Every table that has partitions; a bound reads FOR VALUES FROM ('0') TO ('10000000'). */
const partitions = entities<CellWork['partitions'][number]>(`
  select t.relname as "table",
    coalesce(max(substring(pg_get_expr(p.relpartbound, p.oid) from 'TO \\(''?([0-9]+)')::bigint), 0) as "end"
  from pg_partitioned_table pt
  join pg_class t on t.oid = pt.partrelid
  left join pg_inherits i on i.inhparent = t.oid
  left join pg_class p on p.oid = i.inhrelid
  where t.relnamespace = current_schema()::regnamespace group by t.relname order by t.relname`)
const moves = statement<MovingMerchant>(`
  select m.login, v.state, v.to_cell as to, v.since from merchant_move v join merchant m using (merchant_id)
  where m.cell_no = $1 order by merchant_id`)

/** `installation` has the order ids, and the merchants. */
export async function cellWork(pool: Pool, installation: Pool, cellNo: number): Promise<CellWork> {
  const [beats, [waits], ends, { nextOrderId, days }, moving] = await Promise.all([
    pool.run(heartbeats, [deadAfterMs]),
    pool.run(waiting),
    pool.run(partitions),
    partitionsAhead(pool, installation),
    installation.run(moves, [cellNo]),
  ])
  return {
    ...waits!,
    alive: beats.filter((b) => b.alive),
    silent: beats.filter((b) => !b.alive),
    nextOrderId,
    partitions: ends,
    partitionDays: days,
    moving,
  }
}
