/** What the doctor looks at in each cell. */
import type { MoveState } from '../../merchant/merchant.ts'
import { entities, statement, type Pool } from '../../storage/pool.ts'
import { deadAfterMs } from '../../leases/heartbeat.ts'
import { partitionsAhead } from '../../storage/partitions.ts'

/** The work of a cell, and who does it. */
export interface CellWork {
  alive: readonly LeaseFact[]
  /** Processes that fell silent within the last hour, without a stop. */
  silent: readonly { instance: string; beatAt: number; orders: bigint }[]
  /** Transactions due for more than half a minute. */
  overdue: bigint
  overdueSince?: number
  /**
   * Payments whose cardholder is being authenticated: their time limits are in the future, and no
   * process works on them.
   */
  awaiting: bigint
  parked: readonly bigint[]
  /** The ids of parked invoices, at most twenty. */
  parkedInvoices: readonly string[]
  due: bigint
  dueSince?: number
  /** Messages given up in the last day. */
  givenUp: bigint
  nextOrderId: bigint
  /** For each partitioned table the end of its last partition. */
  partitions: readonly { table: string; end: bigint }[]
  /** How long they last, by the orders of the last 30 days. */
  partitionDays: number
  moving: readonly MovingMerchant[]
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
/** Uses the index of due rows. A parked transaction is due in the far future or never. */
const overdue = entities<{ n: bigint; since?: number }>(`
  select count(*) as n, min(due_at) as since from all_transactions
  where due_at < now() - interval '30 seconds' and alarm is null`)
const awaiting = statement<{ n: bigint }>(`
  select count(*) as n from all_transactions where due_at >= now() and step like 'await %' and alarm is null`)
const parked = entities<{ orderId: bigint }>(
  `select distinct order_id from all_transactions where alarm is not null order by order_id limit 20`,
)
const parkedInvoices = entities<{ invoiceId: string }>(
  `select invoice_id from mobile_invoice where alarm is not null order by created_at limit 20`,
)
const dueDeliveries = entities<{ n: bigint; since?: number }>(
  `select count(*) as n, min(created_at) as since from delivery where due_at is not null`,
)
const givenUp = statement<{ n: bigint }>(`
  select count(*) as n from delivery
  where state = 'given up' and created_at > now() - interval '15 days' and done_at > now() - interval '1 day'`)
/** Every table that has partitions; a bound reads FOR VALUES FROM ('0') TO ('10000000'). */
const partitions = statement<{ name: string; bound: string | null }>(`
  select t.relname as name, pg_get_expr(p.relpartbound, p.oid) as bound
  from pg_partitioned_table pt
  join pg_class t on t.oid = pt.partrelid
  left join pg_inherits i on i.inhparent = t.oid
  left join pg_class p on p.oid = i.inhrelid
  where t.relnamespace = current_schema()::regnamespace`)
const moves = statement<MovingMerchant>(`
  select m.login, v.state, v.to_cell as to, v.since from merchant_move v join merchant m using (merchant_id)
  where m.cell_no = $1 order by merchant_id`)

/** `installation` has the order ids, and the merchants. */
export async function cellWork(pool: Pool, installation: Pool, cellNo: number): Promise<CellWork> {
  const [beats, late, waiting, stuck, stuckInvoices, owed, lost, parts, ahead, moving] = await Promise.all([
    pool.run(heartbeats, [deadAfterMs]),
    pool.run(overdue),
    pool.run(awaiting),
    pool.run(parked),
    pool.run(parkedInvoices),
    pool.run(dueDeliveries),
    pool.run(givenUp),
    pool.run(partitions),
    partitionsAhead(pool, installation),
    installation.run(moves, [cellNo]),
  ])
  return {
    alive: beats.filter((b) => b.alive),
    silent: beats.filter((b) => !b.alive),
    overdue: late[0]!.n,
    ...(late[0]!.since !== undefined && { overdueSince: late[0]!.since }),
    awaiting: waiting[0]!.n,
    parked: stuck.map((r) => r.orderId),
    parkedInvoices: stuckInvoices.map((r) => r.invoiceId),
    due: owed[0]!.n,
    ...(owed[0]!.since !== undefined && { dueSince: owed[0]!.since }),
    givenUp: lost[0]!.n,
    nextOrderId: ahead.nextOrderId,
    partitions: endsOf(parts),
    partitionDays: ahead.days,
    moving,
  }
}

function endsOf(rows: readonly { name: string; bound: string | null }[]): { table: string; end: bigint }[] {
  const ends = new Map<string, bigint>()
  for (const { name, bound } of rows) {
    const end = BigInt(/TO \('?(\d+)'?\)/.exec(bound ?? '')?.[1] ?? 0)
    if (end >= (ends.get(name) ?? 0n)) ends.set(name, end)
  }
  return [...ends].map(([table, end]) => ({ table, end })).sort((a, b) => (a.table < b.table ? -1 : 1))
}
