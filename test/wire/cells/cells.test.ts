import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { order, sale, send, settled, statusOf, type Fields, type Way } from '../../conformance/requests/client.ts'
import { secureOrder } from '../../conformance/three-d-secure/shopper.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { testDatabase, type TestDatabase } from '../../harness/postgres/postgres.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { startServe } from '../../harness/world/serve.ts'
import { until } from '../../harness/clock/until.ts'
import { startWorld } from '../../harness/sandbox/start.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf, run } from '../operator/cli-run.ts'

/**
 * An installation of three cells: cell 0, cell 1 in a schema of the same database, and cell 2 in a
 * database of its own, which can be taken away.
 */

let world: World
let second: TestDatabase
let line: DatabaseProxy
const cli = cliOf(() => world)

before(async () => {
  world = await startWorld({ own: true })
  second = await testDatabase()
  line = await openDatabaseProxy(second.url)
})
after(async () => {
  line?.accept()
  await world?.stop()
  await line?.close()
  await second?.close()
})

const withoutUser = (databaseUrl: string): string => {
  const url = new URL(databaseUrl)
  return Object.assign(url, { username: '', password: '' }).href
}

async function rowsIn<Row extends object>(cellNo: number, sql: string, values: unknown[] = []): Promise<Row[]> {
  const path = cellNo === 0 ? {} : { options: `-c search_path=cell_${cellNo}` }
  const client = new Client({ connectionString: cellNo === 2 ? second.url : world.databaseUrl, ...path })
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** A merchant of this cell with one endpoint. */
async function merchantIn(cellNo: number, more: string[] = []): Promise<Required<Way>> {
  const login = `cell-${cellNo}-${Math.random().toString(36).slice(2, 8)}`
  const { control_key: controlKey } = await cli.json<{ control_key: string }>(
    'merchant',
    'add',
    '--login',
    login,
    '--cell',
    String(cellNo),
  )
  const gates = await cli.json<{ gates: { gate_id: number; name: string }[] }>('gate', 'list')
  const gate = gates.gates.find(({ name }) => name === 'sandbox acquirer')!.gate_id
  const made = ['endpoint', 'add', '--merchant', login, '--currency', 'USD', '--gate', String(gate), ...more]
  const { endpoint_id: path } = await cli.json<{ endpoint_id: number }>(...made)
  await configurationRead(world)
  return { as: { login, controlKey }, path }
}

const isOpen = async (cellNo: number, at = world): Promise<number | undefined> =>
  (await metricsOf(at))(`tollgate_cell_open{cell="${cellNo}"}`)
const served = (cellNo: number, at = world) =>
  until(
    () => isOpen(cellNo, at),
    (open) => open === 1,
  )
const away = (cellNo: number) =>
  until(
    () => isOpen(cellNo),
    (open) => open === 0,
  )
const pays = async (way: Way, at = world): Promise<string> => {
  const made = await order(at, {}, way)
  assert.equal((await settled(at, made, way)).status, 'approved')
  return made.orderid
}
/** A refusal of everything because there are too many requests. */
function turnedAway(reply: Fields): void {
  assert.deepEqual(
    [reply.type, reply['error-code'], reply['gateway-order-id']],
    ['error', '20', undefined],
    JSON.stringify(reply),
  )
}
const readiness = async () => {
  const answer = await send('GET', `${world.operatorUrl}/ready`)
  return { http: answer.httpStatus, ...(JSON.parse(answer.body) as { cells?: { cell: number; ready: boolean }[] }) }
}

test('with only cell 0 no output mentions cells', async () => {
  assert.doesNotMatch(await cli.tell(['doctor']), /cell/)
  const { cells, http } = await readiness()
  assert.deepEqual([http, cells], [200, undefined])
  const list = await cli.json<{ cells: object[] }>('cell', 'list')
  const merchants = (await rowsIn<{ count: number }>(0, 'select count(*)::int as count from merchant'))[0]!.count
  const work = { gateways: 1, silent: 0, overdue: 0, parked: 0, callbacks_owed: 0 }
  assert.deepEqual(list.cells, [{ cell: 0, database_url: null, schema: null, merchants, trouble: null, ...work }])
})

test('a cell that is added is served by a process that runs, in this database or in another', async () => {
  await cli.tell(['cell', 'add', '1'])
  await cli.tell(['cell', 'add', '2', '--database-url', withoutUser(line.url)])
  for (const cellNo of [1, 2]) assert.equal(await served(cellNo), 1)
  const list = await cli.json<{ cells: { cell: number; trouble: string | null }[] }>('cell', 'list')
  assert.deepEqual(
    list.cells.map(({ cell, trouble }) => [cell, trouble]),
    [0, 1, 2].map((cell) => [cell, null]),
  )
})

test('a merchant sells in its cell, and no other cell has a row of it; ids and names never meet', async () => {
  const ways = await Promise.all([0, 1, 2].map((cellNo) => merchantIn(cellNo)))
  const sold = await Promise.all(ways.map((way) => Promise.all(Array.from({ length: 4 }, () => pays(way)))))
  const attempts = await Promise.all(
    [0, 1, 2].map((cellNo) =>
      rowsIn<{ order_id: string; stan: string; rrn: string }>(cellNo, 'select order_id, stan, rrn from all_attempts'),
    ),
  )
  for (const cellNo of [0, 1, 2]) {
    const here = new Set(attempts[cellNo]!.map((row) => row.order_id))
    for (const other of [0, 1, 2])
      assert.deepEqual(
        sold[other]!.filter((id) => here.has(id)),
        cellNo === other ? sold[other] : [],
        `orders of cell ${other} in cell ${cellNo}`,
      )
  }
  const all = attempts.flat()
  for (const name of ['order_id', 'rrn'] as const) assert.equal(new Set(all.map((row) => row[name])).size, all.length)
  const places = await Promise.all(
    [0, 1, 2].map((cellNo) => rowsIn<{ process_id: string }>(cellNo, 'select process_id from heartbeat')),
  )
  const processes = places.flat().map((row) => row.process_id)
  assert.deepEqual([processes.length, new Set(processes).size], [3, 3], 'each cell has a lease of its own')
})

test('a cell whose database is away refuses its merchants with code 20 and disturbs no other', async () => {
  const [here, there] = [await merchantIn(1), await merchantIn(2, ['--three-d-secure', 'on'])]
  const made = await secureOrder(world, 'challenge', {}, there)
  const seen = await until(
    () => statusOf(world, made, there),
    (reply) => reply['redirect-to'] !== undefined,
  )
  const page = seen['redirect-to']!
  line.refuse()
  assert.equal(await away(2), 0)
  turnedAway(await sale(world, {}, there))
  turnedAway(await statusOf(world, made, there))
  assert.equal((await send('GET', page)).httpStatus, 503)
  await pays(here)
  const ready = await readiness()
  assert.deepEqual([ready.http, ready.cells], [200, [0, 1, 2].map((cell) => ({ cell, ready: cell !== 2 }))])
  const list = await run({ TOLLGATE_DIR: world.directory }, ['cell', 'list', '--json'])
  assert.equal(list.code, 1)
  const { cells } = JSON.parse(list.out) as { cells: { cell: number; trouble: string | null }[] }
  assert.deepEqual(
    cells.filter(({ trouble }) => trouble !== null).map(({ cell }) => cell),
    [2],
  )
  const doctor = await run({ TOLLGATE_DIR: world.directory }, ['doctor'])
  assert.equal(doctor.code, 1)
  assert.match(doctor.out, /problem +cell 2: database +\S.*\n +→ its merchants get code 20/)
  assert.match(doctor.out, /ok +cell 1: gateways +\S/)
  line.accept()
  assert.equal(await served(2), 1)
  assert.equal((await send('GET', page)).httpStatus, 200)
  assert.equal((await statusOf(world, made, there)).type, 'status-response')
})

test('a process that loses its lease over one cell starts again in it, and goes on in the others', async () => {
  const [here, there] = [await merchantIn(0), await merchantIn(1)]
  const processOf = async () =>
    (await rowsIn<{ process_id: string }>(1, 'select process_id from heartbeat')).map((row) => row.process_id)
  const first = await processOf()
  await rowsIn(1, 'delete from heartbeat')
  await pays(here)
  const next = await until(processOf, (ids) => ids.length === 1 && ids[0] !== first[0])
  assert.notDeepEqual(next, first)
  assert.equal(await served(1), 1)
  await pays(there)
})

test('a process serves the cells of its setting, and refuses the merchants of others with code 20', async () => {
  const [none, one] = [await merchantIn(0), await merchantIn(1)]
  const gateway = await startServe(world, undefined, { TOLLGATE_CELLS: '1' })
  try {
    assert.deepEqual([await isOpen(0, gateway.world), await isOpen(1, gateway.world)], [undefined, 1])
    await pays(one, gateway.world)
    turnedAway(await sale(gateway.world, {}, none))
  } finally {
    await gateway.stop()
  }
  await assert.rejects(startServe(world, undefined, { TOLLGATE_CELLS: '9' }), /TOLLGATE_CELLS names 9, which this installation/)
  await assert.rejects(startServe(world, undefined, { TOLLGATE_CELLS: 'x' }), /TOLLGATE_CELLS is "x", not the number of a cell/)
})

test('a process that starts while a cell is away serves the others, and that one once it is back', async () => {
  const there = await merchantIn(2)
  line.refuse()
  const gateway = await startServe(world)
  try {
    assert.equal(await isOpen(2, gateway.world), 0)
    turnedAway(await sale(gateway.world, {}, there))
    line.accept()
    assert.equal(await served(2, gateway.world), 1)
    await pays(there, gateway.world)
  } finally {
    line.accept()
    await gateway.stop()
  }
})

test('an invalid cell is refused and changes nothing', async () => {
  const list = async () => {
    const { cells } = await cli.json<{ cells: { cell: number; database_url: string | null }[] }>('cell', 'list')
    return cells.map(({ cell, database_url: databaseUrl }) => [cell, databaseUrl])
  }
  const listed = await list()
  for (const [args, code, words] of [
    [['1'], 1, /There is a cell 1 already/],
    [['0'], 2, /from 1 to 4095/],
    [['4096'], 2, /from 1 to 4095/],
    [['x'], 2, /from 1 to 4095/],
    [['3', '--database-url', 'mysql://db2/t'], 2, /--database-url must be a postgres:\/\/ URL/],
    [['3', '--database-url', 'postgres://ann:x@127.0.0.1/t'], 2, /without user and password/],
    [['3', '--database-url', 'postgres://127.0.0.1/t?user=ann'], 2, /without user and password/],
    [['3', '--database-url', 'postgres://127.0.0.1:1/t'], 1, /The database cannot be reached/],
  ] as const)
    assert.match(await cli.refuse(code, 'cell', 'add', ...args), words)
  assert.match(await cli.refuse(1, 'merchant', 'add', '--login', 'nowhere', '--cell', '3'), /There is no cell 3/)
  assert.deepEqual(await list(), listed)
})

test('migrate looks at every cell, and the second time has nothing to do', async () => {
  const migrate = () => run({ DATABASE_URL: world.databaseUrl }, ['migrate'])
  assert.deepEqual(await migrate(), { code: 0, out: 'The database is up to date.\n', err: '' })
  line.refuse()
  const failed = await migrate()
  line.accept()
  assert.deepEqual([failed.code, /cell 2 could not be migrated/.test(failed.err)], [1, true], failed.err)
})
