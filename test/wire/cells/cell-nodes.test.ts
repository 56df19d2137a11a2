import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { order, send, settled, type Way } from '../../conformance/requests/client.ts'
import { citusCatalogs, type CitusCatalogs } from '../../harness/postgres/citus-catalogs.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { startServe } from '../../harness/world/serve.ts'
import { holds, until } from '../../harness/clock/until.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf, run } from '../operator/cli-run.ts'

/**
 * A gateway follows a cell from node to node. Tables stand for the catalogs of Citus, and two lines
 * to one database for two nodes; with a real Citus, `npm run cluster` does the same.
 */

let sandbox: World
let world: World
let catalogs: CitusCatalogs
let shop: Required<Way>
const lines: DatabaseProxy[] = []
const cli = cliOf(() => sandbox)

/** Groups of nodes; 0 is that of the coordinator. */
const [first, second] = [1, 2] as const
const lineOf = (group: number): DatabaseProxy => lines[group - 1]!
const nameOf = (group: number): string => `127.0.0.1:${new URL(lineOf(group).url).port}`

before(async () => {
  sandbox = await openWorld({ own: true })
  await cli.tell(['cell', 'add', '1'])
  shop = await merchantInCell()
  catalogs = await citusCatalogs(sandbox.databaseUrl)
  for (const group of [first, second]) {
    lines.push(closing(await openDatabaseProxy(sandbox.databaseUrl)))
    await catalogs.node(group, { host: '127.0.0.1', port: Number(new URL(lineOf(group).url).port) })
  }
  await moveTo(first)
  world = closing(await startServe(sandbox)).world
  await configurationRead(world)
})

async function merchantInCell(): Promise<Required<Way>> {
  const { control_key: controlKey } = await cli.json<{ control_key: string }>('merchant', 'add', '--login', 'far', '--cell', '1')
  const made = ['endpoint', 'add', '--merchant', 'far', '--currency', 'USD', '--gate', 'sandbox acquirer']
  const { endpoint_id: path } = await cli.json<{ endpoint_id: number }>(...made)
  return { as: { login: 'far', controlKey }, path }
}

async function moveTo(group: number): Promise<void> {
  await catalogs.answer(group)
  await catalogs.place('cell_1', group)
}

interface Ready {
  cells: { cell: number; ready: boolean; node?: string }[]
}
const cellAt = async () => {
  const answer = await send('GET', `${world.operatorUrl}/ready`)
  const { cells } = JSON.parse(answer.body) as Ready
  return cells.find(({ cell }) => cell === 1)
}
const isAt = (node: string) => until(cellAt, (cell) => cell?.ready === true && cell.node === node)
const isLeft = (group: number) => holds(() => lineOf(group).connections() === 0, 'no connection is left')

async function pays(): Promise<void> {
  const made = await order(world, {}, shop)
  assert.equal((await settled(world, made, shop)).status, 'approved')
}

test('a process connects to the node that has the cell, for orders and for its heartbeat', async () => {
  assert.equal((await isAt(nameOf(first)))?.node, nameOf(first))
  await pays()
  assert.ok(lineOf(first).connections() >= 2, `${lineOf(first).connections()} connections`)
  assert.equal(lineOf(second).connections(), 0)
})

test('it notices a move: all connections go to the other node, and no sale is refused, lost or late', async () => {
  const moved = new AbortController()
  const selling = Array.from({ length: 4 }, async () => {
    do await pays()
    while (!moved.signal.aborted)
  })
  await moveTo(second)
  await isAt(nameOf(second))
  await isLeft(first)
  moved.abort()
  await Promise.all(selling)
  assert.ok(lineOf(second).connections() >= 2, `${lineOf(second).connections()} connections`)
  const metric = await metricsOf(world)
  for (const mode of ['late', 'lost']) assert.equal(metric(`tollgate_lease_changes_total{mode="${mode}"}`), 0)
})

test('a dead node is left for its successor', async () => {
  lineOf(second).refuse()
  await moveTo(first)
  await isAt(nameOf(first))
  await pays()
  lineOf(second).accept()
})

test('a node that does not answer is not used before it does', async () => {
  lineOf(second).refuse()
  await moveTo(second)
  for (let sales = 0; sales < 3; sales++) await pays()
  assert.equal((await cellAt())?.node, nameOf(first))
  lineOf(second).accept()
  await isAt(nameOf(second))
  await pays()
})

const list = async () => {
  const { cells } = await cli.json<{ cells: { node?: string; through_coordinator?: boolean }[] }>('cell', 'list')
  return [cells[1]!.node, cells[1]!.through_coordinator]
}
const doctor = async () => (await run({ TOLLGATE_DIR: sandbox.directory }, ['doctor'])).out

test('a node that does not follow the metadata is not written to: the cell is used through the coordinator', async () => {
  assert.deepEqual(await list(), [nameOf(second), false])
  assert.match(await doctor(), /ok +cell 1: node +Citus has it at 127/)
  await catalogs.follow(second, false)
  await isAt(`${nameOf(second)}, through the coordinator`)
  await isLeft(second)
  await pays()
  assert.deepEqual(await list(), [nameOf(second), true])
  assert.match(
    await cli.tell(['cell', 'list']),
    /1 +1 +(?:\d+ +){5}node 127\.0\.0\.1:\d+, through the coordinator, schema cell_1 +ok/,
  )
  assert.match(await doctor(), /warning +cell 1: node +.*through the coordinator\n +→ let the node follow the metadata/)
  await catalogs.follow(second, true)
  await isAt(nameOf(second))
})

test('a server that is not the node under its name is not used', async () => {
  await moveTo(first)
  await isAt(nameOf(first))
  await catalogs.place('cell_1', second)
  await isAt(`${nameOf(second)}, through the coordinator`)
  await Promise.all([isLeft(first), isLeft(second)])
  await pays()
})
