import { Client } from 'pg'
import { order, settled, type Changes, type Merchant, type Order } from '../../conformance/requests/client.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { until } from '../../harness/clock/until.ts'
import { startWorld } from '../../harness/sandbox/start.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf } from '../operator/cli-run.ts'

/** A merchant whose orders are in a cell, with an endpoint in USD. */
export interface CellShop extends Merchant {
  cellNo: number
  endpoint: number
}

/** A sandbox of three cells, with a merchant in each, for what an operator does. */
export interface CellsWorld {
  world: World
  /** By the number of their cells. */
  shops: readonly [CellShop, CellShop, CellShop]
  /** A sale of that shop, final. */
  paid(cellNo: number, changes?: Changes): Promise<Order>
  /** As the owner of the tables, in the schema of a cell. */
  rows<Row extends object>(cellNo: number, sql: string, values?: readonly unknown[]): Promise<Row[]>
  /** Does this while the database of cell 2 is away for the command line. */
  withoutCell2(work: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

export async function startCells(): Promise<CellsWorld> {
  const world = await startWorld({ own: true })
  const { tell, json } = cliOf(() => world)
  const shops: CellShop[] = []
  for (const cellNo of [0, 1, 2]) {
    if (cellNo > 0) await tell(['cell', 'add', String(cellNo)])
    const login = `shop-${cellNo}`
    const { control_key: controlKey } = await json<{ control_key: string }>(
      'merchant',
      'add',
      '--login',
      login,
      '--cell',
      String(cellNo),
    )
    const { endpoint_id: endpoint } = await json<{ endpoint_id: number }>(
      'endpoint',
      'add',
      '--merchant',
      login,
      '--currency',
      'USD',
      '--gate',
      'sandbox acquirer',
      '--plain-http-callbacks',
      'on',
    )
    shops.push({ login, controlKey, endpoint, cellNo })
  }
  await configurationRead(world)
  const databases: Client[] = []
  for (const schema of ['public', 'cell_1', 'cell_2']) {
    const database = new Client({ connectionString: world.databaseUrl, options: `-c search_path=${schema}` })
    await database.connect()
    databases.push(database)
  }
  const rows: CellsWorld['rows'] = async <Row extends object>(cellNo: number, sql: string, values: readonly unknown[] = []) =>
    (await databases[cellNo]!.query<Row>(sql, [...values])).rows
  // A gateway opens a new cell in the background.
  for (const { cellNo } of shops)
    await until(
      () => rows(cellNo, 'select from heartbeat'),
      ({ length }) => length > 0,
    )
  const placeCell2 = (address: string | null) => rows(0, 'update cell set address = $1 where cell_no = 2', [address])
  return {
    world,
    shops: [shops[0]!, shops[1]!, shops[2]!],
    async paid(cellNo, changes = {}) {
      const { endpoint: path, ...as } = shops[cellNo]!
      const made = await order(world, changes, { path, as })
      await settled(world, made, { path, as })
      return made
    },
    rows,
    async withoutCell2(work) {
      await placeCell2('postgres://127.0.0.1:1/away')
      try {
        await work()
      } finally {
        await placeCell2(null)
      }
    },
    async stop() {
      for (const database of databases) await database.end()
      await world.stop()
    },
  }
}

/** Copies an order of a cell this many times, as made at that time, under unused ids. */
export async function copyOrder({ rows }: CellsWorld, cellNo: number, id: number, count: number, at: string): Promise<number[]> {
  const sql = `update public.id_block set next_id = next_id + $1 where name = 'order' returning (next_id - $1)::float8 as first`
  const [{ first } = { first: 0 }] = await rows<{ first: number }>(0, sql, [count])
  for (const table of ['orders', 'order_facts']) {
    const columns = await rows<{ name: string }>(
      cellNo,
      `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and attgenerated = ''`,
      [table],
    )
    const values = columns.map(({ name }) => (name === 'order_id' ? '$2 + n' : name === 'created_at' ? `'${at}'` : name))
    await rows(
      cellNo,
      `insert into ${table} (${columns.map(({ name }) => name).join()})
        select ${values.join()} from ${table}, generate_series(0, $3::int - 1) n where order_id = $1::bigint`,
      [id, first, count],
    )
  }
  return Array.from({ length: count }, (_, i) => first + i)
}

/** Copies of an order under other ids, made after it, of other payers. */
export async function copyForOthers({ rows }: CellsWorld, cellNo: number, orderId: number, count: number): Promise<void> {
  for (const [table, changes] of [
    [
      'orders',
      `'client_orderid', 'copy-' || g, 'serial_number', null, 'created_at', '2024-01-01'::timestamptz + g * interval '1 min'`,
    ],
    ['order_facts', `'request', json_build_object('email', 'other' || g || '@cells.example')`],
  ]) {
    const [{ names }] = (await rows<{ names: string }>(
      cellNo,
      `select string_agg(attname, ', ') as names from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and attgenerated = ''`,
      [table],
    )) as [{ names: string }]
    const copy = `json_populate_record(o, json_build_object('order_id', 5000000 + g, ${changes}))`
    await rows(
      cellNo,
      `insert into ${table} (${names}) select ${names}
      from (select (${copy}).* from ${table} o, generate_series(1, ${count}) g where o.order_id = $1) as copies`,
      [orderId],
    )
  }
}
