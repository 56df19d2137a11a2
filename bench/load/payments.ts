// Payments without a gateway, a yardstick: what the sandbox's own PostgreSQL server carries of the
// smallest payment there is, two transactions from a client each that does nothing else.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLog } from '../../src/base/log.ts'
import { openPool, statement, type Connection, type Pool } from '../../src/storage/pool.ts'
import { median } from '../figures/figures.ts'
import type { Sandbox } from '../sandbox.ts'

export interface Payments {
  perSecond: number
  by: 'pgbench' | 'pg'
  /** The median of a commit of one row, one after the other on one connection. */
  fsyncP50Ms: number
}

const clients = 32
const schema = 'bench_yardstick'

const create = [
  `drop schema if exists ${schema} cascade`,
  `create schema ${schema}`,
  `create table ${schema}.payment (order_id bigint generated always as identity primary key, merchant_id bigint not null,
     client_orderid text not null, status text not null, amount bigint not null, request text not null,
     created_at timestamptz not null, final_at timestamptz) with (fillfactor = 80)`,
  `create table ${schema}.payment_event (order_id bigint, event_no int, event text not null, facts text not null,
     at timestamptz not null, primary key (order_id, event_no))`,
  `create table ${schema}.one (n int not null)`,
]

const insertPayment = `insert into ${schema}.payment (merchant_id, client_orderid, status, amount, request, created_at)
  values (1, 'b0123456-1234567', 'processing', 1042, repeat('x', 400), now()) returning order_id`
const insertEvent = (id: string, no: number, event: string) =>
  `insert into ${schema}.payment_event values (${id}, ${no}, '${event}', repeat('y', 100), now())`
const updatePayment = (id: string) => `update ${schema}.payment set status = 'approved', final_at = now() where order_id = ${id}`

/** A payment as a script of pgbench. */
const script = `begin;
${insertPayment.replaceAll(/\s+/g, ' ')} \\gset
${insertEvent(':order_id', 1, 'accepted')};
commit;
begin;
${updatePayment(':order_id')};
${insertEvent(':order_id', 2, 'approved')};
commit;
`

export async function measurePayments(sandbox: Sandbox, measureMs: number, signal: AbortSignal): Promise<Payments> {
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const pool = openPool({ url: sandbox.databaseUrl, connections: clients, use: 'admin', log })
  try {
    for (const sql of create) await pool.run(statement(sql))
    const fsyncP50Ms = await fsyncs(pool, measureMs / 3)
    const byPgbench = await pgbench(sandbox, measureMs, signal)
    const perSecond = byPgbench ?? (await ownDriver(pool, measureMs))
    return { perSecond, by: byPgbench === undefined ? 'pg' : 'pgbench', fsyncP50Ms }
  } finally {
    await pool.run(statement(`drop schema if exists ${schema} cascade`)).catch(() => {})
    await pool.close()
  }
}

const insertOne = statement(`insert into ${schema}.one values (1)`)

async function fsyncs(pool: Pool, measureMs: number): Promise<number> {
  const connection = await pool.connect()
  const took: number[] = []
  try {
    for (const end = performance.now() + measureMs; performance.now() < end;) {
      const began = performance.now()
      await connection.run(insertOne)
      took.push(performance.now() - began)
    }
  } finally {
    connection.release(false)
  }
  return median(took)!
}

/** Undefined where there is no pgbench. */
async function pgbench(sandbox: Sandbox, measureMs: number, signal: AbortSignal): Promise<number | undefined> {
  const file = join(sandbox.directory, 'payment.sql')
  writeFileSync(file, script)
  const seconds = String(Math.ceil(measureMs / 1_000))
  const args = ['--no-vacuum', '--client', String(clients), '--time', seconds, '--file', file, sandbox.databaseUrl]
  const child = spawn('pgbench', args, { stdio: ['ignore', 'pipe', 'pipe'], signal })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise<unknown>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? resolve('missing') : reject(error)))
    child.once('close', resolve)
  })
  if (code === 'missing') return undefined
  const rate = rateOfPgbench(output)
  if (code !== 0 || rate === undefined) throw new Error(`pgbench failed:\n${output}`)
  return rate
}

/** The scripts that pgbench ran in a second, by what it prints. */
export function rateOfPgbench(output: string): number | undefined {
  const rate = /^tps = ([\d.]+) \(without initial connection time\)$/m.exec(output)?.[1]
  return rate === undefined ? undefined : Number(rate)
}

const [insert, update] = [statement<{ order_id: bigint }>(insertPayment), statement(updatePayment('$1'))]
const [first, second] = [statement(insertEvent('$1', 1, 'accepted')), statement(insertEvent('$1', 2, 'approved'))]

/** The same two transactions by the driver that the gateway has, on as many connections. */
async function ownDriver(pool: Pool, measureMs: number): Promise<number> {
  let paid = 0
  const connections = await Promise.all(Array.from({ length: clients }, () => pool.connect()))
  const began = performance.now()
  const client = async (connection: Connection) => {
    for (; performance.now() < began + measureMs; paid++) {
      await connection.command('begin')
      const [row] = await connection.run(insert)
      await connection.run(first, [row!.order_id])
      await connection.command('commit')
      await connection.command('begin')
      await connection.run(update, [row!.order_id])
      await connection.run(second, [row!.order_id])
      await connection.command('commit')
    }
  }
  try {
    await Promise.all(connections.map(client))
  } finally {
    for (const connection of connections) connection.release(true)
  }
  return (paid / (performance.now() - began)) * 1_000
}
