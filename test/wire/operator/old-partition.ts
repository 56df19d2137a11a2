import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Client } from 'pg'
import { refOf, register } from '../../conformance/cards/card.ts'
import { accepted, order, postSale, settled, signedSale } from '../../conformance/requests/client.ts'
import { ends, openMobile } from '../../conformance/mobile/mobile.ts'
import { ended, follow } from '../../harness/world/follow.ts'
import { closing, openWorld, openDirectory } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf, run, type Ran } from './cli-run.ts'

/** A world whose first partition is of long ago, and the command that lets it go. */

export const world = await openWorld({ own: true })
const { json } = cliOf(() => world)
export const mobile = await openMobile(world)
closing(mobile.shop)
const connected = async () => {
  const client = closing(new Client({ connectionString: world.databaseUrl }))
  await client.connect()
  return client
}
const database = await connected()
/** Another operator, or whoever else holds something up. */
export const other = await connected()
export const sql = <Row extends object = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> =>
  database.query<Row>(text, values).then(({ rows }) => rows)
export const directory = openDirectory('old')
export const files = join(directory, 'old')

export const actor = 'Ann Example'
const keeper = { TOLLGATE_DIR: world.directory, TOLLGATE_ACTOR: actor }
export const partitions = (...args: string[]) => run(keeper, ['partitions', ...args])
export const before = ['--before', '200d']
export const detach = () => partitions('detach', ...before)
export function done({ code, out, err }: Ran): string {
  assert.equal(code, 0, `${out}${err}`)
  return out
}
export function stays({ code, out, err }: Ran, why: RegExp): void {
  assert.equal(code, 1, `${out}${err}`)
  assert.match(err, why)
}

interface Listed {
  number: number
  state: string
  first_order_at: string | null
  tables: { table: string; name: string; state: string; rows: number; bytes: number }[]
}
export const listed = async () => (await json<{ partitions: Listed[] }>('partitions', 'list')).partitions
export const stateOf = async (number: number) => (await listed()).find((one) => one.number === number)?.state

export async function ago(table: string, from: number, to: number, days: number, ...columns: string[]): Promise<void> {
  const set = columns.map((column) => `${column} = ${column} - ${days} * interval '1 day'`).join(', ')
  await sql(`update ${table} set ${set} where order_id >= $1 and order_id < $2`, [from, to])
}

// Four orders of long ago, whose descriptions have what COPY has to escape.
export const soldFields = signedSale(world, {
  order_desc: 'Back\\slash, "quotes" \\N',
  server_callback_url: `${world.merchantServerUrl}/callback`,
})
export const sold = accepted(await postSale(world, soldFields))
export const kept = await order(world)
const declined = await order(world, { cvv2: '116' })
for (const one of [sold, kept, declined]) await settled(world, one)
export const ref = refOf(await register(world, kept))
const returned = accepted(await follow(world, 'return', sold, { amount: '1.00' }))
await ended(world, sold, returned.serial)
export const app = await ends(mobile, 'APPROVED', 'sale')
await until(
  () => sql('select state from delivery'),
  (rows) => rows.length > 0 && rows.every(({ state }) => state !== 'due'),
)
export const width = 10_000_000
await world.crash(async () => {
  await sql(`update id_block set next_id = $1 where name = 'order'`, [width])
  await ago('orders', 0, width, 400, 'created_at', 'final_at')
  await ago('transaction', 0, width, 400, 'created_at', 'final_at')
  await sql('truncate idempotency_key')
  await sql('analyze orders')
})
