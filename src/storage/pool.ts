import { createHash } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import type { EventEmitter } from 'node:events'
import pg from 'pg'
import { codeOf } from '../base/error-code.ts'
import type { Log } from '../base/log.ts'

/**
 * An SQL statement with its row type, prepared once per connection; its name is derived from its
 * text.
 */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  readonly row?: Row
  readonly entities?: true
}

/** The text of each statement that is made, for the test of our subset of SQL. */
const made = channel('tollgate statement')

export const statement = <Row>(text: string): Statement<Row> => {
  made.publish(text)
  return { name: `t${createHash('sha1').update(text).digest('hex').slice(0, 20)}`, text }
}

/**
 * A statement whose rows are read as entities: the column `order_id` is orderId, and a null is
 * absent. That costs a copy of each row, so the statements of a sale read their rows themselves.
 */
export const entities = <Entity>(text: string): Statement<Entity> => ({ ...statement<Entity>(text), entities: true })

/** Runs statements: the pool, or one connection inside a transaction. */
export interface Runner {
  run<Row>(sql: Statement<Row>, values?: readonly unknown[]): Promise<Row[]>
}

export interface Pool extends Runner {
  connect(): Promise<Connection>
  close(): Promise<void>
}

export interface Connection extends Runner {
  /** Sends plain SQL such as `begin`; returns the command tag of the server. */
  command(sql: string): Promise<string>
  /**
   * Returns the connection to the pool; one that is broken, or leads to a server that takes no
   * writes any more, is closed.
   */
  release(broken: boolean): void
}

export interface PoolSettings {
  url: string
  /** The one schema that statements see; the default one of the database user if absent. */
  schema?: string | undefined
  connections: number
  /**
   * `oltp` serves orders, with planner settings that keep every look-up on its primary key;
   * `heartbeat` abandons a statement when its reply comes too late to renew a lease; `search`
   * serves operators; `admin` changes the schema and has no time limit.
   */
  use: 'oltp' | 'heartbeat' | 'search' | 'admin'
  /** Every transaction is refused what would change something. */
  onlyReads?: true | undefined
  log: Log
}

/**
 * Planner settings of the OLTP pool. On small tables `update … from` a list of rows is planned as a
 * hash join over a sequential scan, and stays so while they grow: 3–5 times slower. Batches always
 * look up by primary key, so the other plans are disabled.
 */
const oltpOptions = ['enable_hashjoin=off', 'enable_mergejoin=off', 'enable_seqscan=off', 'jit=off']

/**
 * Time limits after which a silent server is abandoned for a new connection. A heartbeat retries
 * quickly enough to be seen within a dead-after span once the database can be reached again.
 */
const limitsOf: Record<PoolSettings['use'], { connectMs: number; queryMs?: number }> = {
  oltp: { connectMs: 5_000, queryMs: 20_000 },
  heartbeat: { connectMs: 2_000, queryMs: 3_000 },
  search: { connectMs: 5_000 },
  admin: { connectMs: 5_000 },
}

/** The parameters that PostgreSQL reports at a new connection; the driver has no type for them. */
interface Reporting {
  connection: EventEmitter<{ parameterStatus: [{ parameterName: string; parameterValue: string }] }>
}

/** Knows whether its server is a standby, which PostgreSQL reports at first and when it changes. */
class Client extends pg.Client {
  isOfStandby = false

  constructor(config?: pg.ClientConfig) {
    super(config)
    const { connection } = this as unknown as Reporting
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName === 'in_hot_standby') this.isOfStandby = parameterValue === 'on'
    })
  }
}

/**
 * A gateway takes no connection to a standby, where it could write nothing and would read what is
 * old: a proxy that has just started leads to any server until it has looked at them.
 */
function refuseStandby(client: pg.ClientBase): void {
  if ((client as Client).isOfStandby)
    throw Object.assign(new Error('the database server is a standby'), { code: readOnlyTransaction })
}

const usualParser = pg.types.getTypeParser as (oid: number) => (text: string) => unknown
const int8 = 20
const timestamptz = 1184
const parsers = new Map<number, (text: string) => unknown>([
  [int8, (text) => BigInt(text)],
  [timestamptz, (text) => Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))],
])

export function openPool(settings: PoolSettings): Pool {
  const oltp = oltpOptions.map((o) => `-c ${o}`).join(' ')
  const options = { oltp, heartbeat: '', search: '-c statement_timeout=15000', admin: '' }[settings.use]
  const limits = limitsOf[settings.use]
  const path = settings.schema === undefined ? '' : ` -c search_path=${settings.schema}`
  const reads = settings.onlyReads ? ' -c default_transaction_read_only=on' : ''
  const pool = new pg.Pool({
    connectionString: settings.url,
    max: settings.connections,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: limits.connectMs,
    keepAlive: true,
    ...(limits.queryMs === undefined ? {} : { query_timeout: limits.queryMs }),
    pipeline: true,
    Client,
    ...(settings.use === 'oltp' || settings.use === 'heartbeat' ? { onConnect: refuseStandby } : {}),
    options: `${options}${path}${reads} -c timezone=UTC -c idle_in_transaction_session_timeout=30000`,
    application_name: `tollgate ${settings.use}`,
    types: {
      getTypeParser: (oid: number, format: string) => (format === 'text' && parsers.get(oid)) || usualParser(oid),
    },
  } as pg.PoolConfig)
  // For the life of the connection, besides the handling by its query: an error while it has no
  // user would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', (error) => settings.log.warn({ reason: error.message }, 'an idle database connection broke'))
  return {
    run: (sql, values) => pool.query(queryOf(sql, values)).then(({ rows }) => rowsOf(sql, rows)),
    async connect() {
      const client = await pool.connect()
      let isGone = false
      const noting = (error: unknown): never => {
        isGone ||= failureOf(error) === 'connection'
        throw error
      }
      return {
        run: (sql, values) => client.query(queryOf(sql, values)).then(({ rows }) => rowsOf(sql, rows), noting),
        command: (text) => client.query(text).then((result) => result.command, noting),
        release: (broken) => client.release(broken || isGone),
      }
    },
    close: () => pool.end(),
  }
}

const queryOf = (sql: Statement<unknown>, values: readonly unknown[] = []) => ({
  name: sql.name,
  text: sql.text,
  values: [...values],
})

const memberNames = new Map<string, string>()

function memberOf(column: string): string {
  let name = memberNames.get(column)
  if (name === undefined) {
    name = column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    memberNames.set(column, name)
  }
  return name
}

function rowsOf<Row>({ entities: areEntities }: Statement<Row>, rows: Row[]): Row[] {
  return areEntities ? rows.map((row) => entityOf(row as Record<string, unknown>) as Row) : rows
}

function entityOf(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entity: Record<string, unknown> = {}
  for (const column in row) if (row[column] !== null) entity[memberOf(column)] = row[column]
  return entity
}

/**
 * Rows as one JSON parameter for `json_to_recordset`: one value however many rows, and no escaping
 * of arrays in JavaScript.
 */
export const asJson = (rows: readonly object[]): string => JSON.stringify(rows)

let lastMs = NaN
let lastText = ''

/**
 * A time in milliseconds in PostgreSQL's format; absent stays absent. The rows of a batch share
 * their times, so the last one is cached.
 */
export function timestamp(ms: number | undefined): string | null {
  if (ms === undefined) return null
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString()
    lastMs = ms
  }
  return lastText
}

export const bytea = (bytes: Buffer | undefined): string | null => (bytes === undefined ? null : `\\x${bytes.toString('hex')}`)

const idleInTransaction = '25P03'
const readOnlyTransaction = '25006'

export type DatabaseFailure = 'retry' | 'connection' | 'data'

/**
 * What a database error means for the caller of a transaction: `retry` (serialisation failure,
 * deadlock), `connection` (lost, about to be, or to a server that takes no writes: the outcome of a
 * commit in progress is unknown), or `data` (this work will fail again). A server takes no writes
 * while it is a standby: a primary that was demoted, or one that is being promoted.
 */
export function failureOf(error: unknown): DatabaseFailure {
  const code = codeOf(error)
  if (code === '40001' || code === '40P01' || code === '55P03') return 'retry'
  if (/^(08|57P|53)/.test(code) || sessionCodes.has(code) || socketCodes.has(code)) return 'connection'
  if (!(error instanceof Error)) return 'data'
  return driverSentences.some((sentence) => error.message.startsWith(sentence)) ? 'connection' : 'data'
}

/**
 * Whether the server failed in itself (classes XX and 58), which may pass, and says nothing of the
 * data. Citus reports any failure of an insert of selected rows so, a deadlock as well as a broken
 * constraint. *Rejected:* telling those apart by their texts, which follow the server's language.
 */
export const isInternal = (error: unknown): boolean => /^(XX|58)/.test(codeOf(error))

const sessionCodes = new Set([idleInTransaction, readOnlyTransaction])
const socketCodes = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNABORTED',
])
/**
 * Messages of the driver, without a code, for a connection that is gone or could not be obtained.
 */
const driverSentences = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Cannot use a pool after',
  'Query read timeout',
  'The server closed',
]
