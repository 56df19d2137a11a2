import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { openLog } from '../../src/base/log.ts'
import { miscounts, type Miscount } from '../harness/postgres/minute-counts.ts'
import { openPool, statement, type Pool } from '../../src/storage/pool.ts'

/** Where both sides have written down what they did. */
export interface Books {
  databaseUrl: string
  /** The schemas of the cells; the usual one of the user if absent. */
  schemas?: readonly (string | undefined)[]
  admin<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T>
}

/** Everything both sides have written down, read when all is calm. */
export interface State {
  orders: OrderRow[]
  transactions: TransactionRow[]
  attempts: AttemptRow[]
  deliveries: DeliveryRow[]
  /** Cards with a CVV2 that is still kept. */
  cvv2s: bigint[]
  miscounts: Miscount[]
  /** Processes that beat. */
  alive: Set<bigint>
  ledger: Entry[]
  charged: { currency: string; charged_minor: string }[]
  /** Database time in milliseconds since 1970. */
  now: number
}

export interface OrderRow {
  order_id: bigint
  client_orderid: string
  status: string
  currency: string
  amount_minor: bigint
  /**
   * When its request came, and when a batch took it: in between it may have waited for the
   * database.
   */
  created_at: number
  accepted_at: number
  final_at: number | null
}

export interface TransactionRow {
  order_id: bigint
  transaction_no: number
  kind: string
  state: string
  step: string | null
  due_at: number | null
  lease: bigint | null
  alarm: string | null
}

export interface AttemptRow {
  order_id: bigint
  transaction_no: number
  terminal_id: string
  stan: string
  rrn: string
  outcome: string | null
}

export interface DeliveryRow {
  order_id: bigint
  transaction_no: number
  state: string
  due_at: number | null
  lease: bigint | null
  tries: number
  taken: boolean
}

/** An entry of the simulated acquirer's ledger. */
export interface Entry {
  terminal: string
  stan: string
  rrn: string
  orderId: string
  amountMinor: string
  currency: string
  actionCode: string
  state: string
}

const orders = statement<OrderRow>(
  `select o.order_id, o.client_orderid, o.status, o.currency, o.amount_minor, o.created_at, e.at as accepted_at, o.final_at
   from orders o join all_events e on e.merchant_id = o.merchant_id and e.order_id = o.order_id and e.event_no = 1
   order by o.created_at, o.order_id`,
)
const transactions = statement<TransactionRow>(
  `select order_id, transaction_no, kind, state, step, due_at, lease, alarm from all_transactions`,
)
const attempts = statement<AttemptRow>(`select order_id, transaction_no, terminal_id, stan, rrn, outcome from all_attempts`)
const deliveries = statement<DeliveryRow>(`
  select d.order_id, d.transaction_no, d.state, d.due_at, d.lease, d.tries, exists (
    select from all_tries a
    where a.merchant_id = d.merchant_id and a.order_id = d.order_id and a.delivery_no = d.delivery_no
      and a.http_status = 200) as taken
  from delivery d`)
const cvv2s = statement<{ order_id: bigint }>(`select order_id from order_facts where cvv2_sealed is not null`)
const alive = statement<{ process_id: bigint }>(`select process_id from heartbeat where beat_at > now() - interval '4 seconds'`)
const clock = statement<{ now: number }>(`select now() as now`)
const left = statement<{ orders: bigint; steps: bigint; deliveries: bigint }>(`
  select (select count(*) from orders where final_at is null) as orders,
    (select count(*) from all_transactions where step is not null) as steps,
    (select count(*) from delivery where due_at < now() + interval '20 seconds') as deliveries`)

/** Runs `work` with a pool on the database as it is now. */
export async function withPool<T>(
  { databaseUrl }: Pick<Books, 'databaseUrl'>,
  work: (pool: Pool) => Promise<T>,
  schema?: string,
): Promise<T> {
  const log = openLog({ level: 'silent', destination: process.stderr })
  const pool = openPool({ url: databaseUrl, schema, connections: 2, use: 'search', log })
  try {
    return await work(pool)
  } finally {
    await pool.close()
  }
}

/** The same with a pool at each cell. */
const inCells = <T>(books: Books, work: (pool: Pool) => Promise<T>): Promise<T[]> =>
  Promise.all((books.schemas ?? [undefined]).map((schema) => withPool(books, work, schema)))

/**
 * Waits until nothing is left to do. Messages to merchants that are next due later than in 20 s are
 * not waited for.
 */
export async function untilSettled(
  books: Books,
  withinMs: number,
  tell: (text: string) => void,
  ended: AbortSignal,
): Promise<void> {
  await inCells(books, async (pool) => {
    const end = performance.now() + withinMs
    let calmRounds = 0
    while (performance.now() < end && !ended.aborted && calmRounds < 2) {
      await pause(500, undefined, { signal: ended }).catch(() => undefined)
      // Just after a kill the first question may meet the end of a connection.
      const [row] = await pool.run(left).catch(() => [])
      if (!row) continue
      tell(`${row.orders} orders not final, ${row.steps} steps to do, ${row.deliveries} callbacks due`)
      calmRounds = row.orders + row.steps + row.deliveries === 0n ? calmRounds + 1 : 0
    }
  })
}

export async function readState(books: Books): Promise<State> {
  const { entries } = await books.admin<{ entries: Entry[] }>('GET', '/ledger?limit=1000000')
  const { balances } = await books.admin<{ balances: State['charged'] }>('GET', '/ledger/balances')
  const all = await inCells(books, async (pool) => ({
    orders: await pool.run(orders),
    transactions: await pool.run(transactions),
    attempts: await pool.run(attempts),
    deliveries: await pool.run(deliveries),
    cvv2s: await pool.run(cvv2s),
    miscounts: await pool.run(miscounts, [null]),
    alive: await pool.run(alive),
    now: (await pool.run(clock))[0]!.now,
  }))
  return {
    orders: all.flatMap((cell) => cell.orders),
    transactions: all.flatMap((cell) => cell.transactions),
    attempts: all.flatMap((cell) => cell.attempts),
    deliveries: all.flatMap((cell) => cell.deliveries),
    cvv2s: all.flatMap((cell) => cell.cvv2s).map((r) => r.order_id),
    miscounts: all.flatMap((cell) => cell.miscounts),
    alive: new Set(all.flatMap((cell) => cell.alive).map((r) => r.process_id)),
    ledger: entries,
    charged: balances,
    now: Math.min(...all.map((cell) => cell.now)),
  }
}

/** Asks the admin port of the simulated acquirer. Rejects when it is not there or refuses. */
export async function askAdmin<T>(adminUrl: string, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> {
  const reply = await request(adminUrl + path, {
    method,
    headersTimeout: 30_000,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const text = await reply.body.text()
  if (reply.statusCode >= 400) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text)
}

/** CVV2 217: how long the simulated acquirer takes to answer the reversal. */
const slowReversalMs = 3_000

export const hastenReversals = (books: Pick<Books, 'admin'>): Promise<unknown> =>
  books.admin('POST', '/line', { slow_reversal_ms: slowReversalMs })
