import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openConnectors, type Connectors } from '../../src/acquirer/connectors.ts'
import { openIso8583Connector } from '../../src/acquirer/iso8583/connector.ts'
import { nextTurn, systemClock as clock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom as random } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import { openTurns } from '../../src/base/turn.ts'
import { openCell } from '../../src/gateway/cell.ts'
import { openGateway, type Gateway } from '../../src/gateway/open.ts'
import { noDirectories, noRanges } from '../../src/gateway/three-d-secure.ts'
import { usualTuning } from '../../src/gateway/tuning.ts'
import { openOutgoing } from '../../src/http/outgoing.ts'
import { openServer, type Incoming, type Route } from '../../src/http/server.ts'
import { usualLimits } from '../../src/merchant/access-limits.ts'
import { watchRegistry } from '../../src/merchant/store.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openPool, statement, type Pool } from '../../src/storage/pool.ts'
import { openIds } from '../../src/storage/store-ids.ts'
import { fixedKek } from '../../src/storage/key-encryption.ts'
import { openKeyRing } from '../../src/storage/store-keys.ts'
import { order, settled, type Way } from '../conformance/client.ts'
import { testDatabase } from '../harness/postgres.ts'
import { startWorld, type World } from '../harness/world.ts'

/**
 * Two gateways in this process, each over a database of its own. They share the configuration, the
 * lines to the acquirer and the server, which picks one by the endpoint that is called.
 */

const log = openLog({ level: 'silent', destination: process.stdout })
const policy = { plainHttp: true, loopbackAnyPort: true }
const closes: (() => unknown)[] = []
const cells: Pool[] = []
const gateways: Gateway[] = []
let gates: Connectors
/** The world, called by way of these gateways. */
let world: World
const switches = { basePath: '/gateway', steering: false, explains: false, tuning: usualTuning }
const access = { limits: usualLimits, trustedProxies: [] }
const addRefusedAccess = () => Promise.resolve()
const limits = { maxBodiesBytes: 1_000_000, maxConnections: 50 }
const meters = { answered: () => {}, repeated: () => {}, accessRefused: () => {} }

before(async () => {
  const sandbox = await startWorld({ own: true })
  closes.push(() => sandbox.stop())
  const pool = openPool({ url: sandbox.databaseUrl, connections: 4, use: 'oltp', log })
  closes.push(() => pool.close())
  const kek = secret(Buffer.from(readFileSync(join(sandbox.directory, 'keys', 'master.key'), 'utf8'), 'base64'))
  const keys = await openKeyRing(pool, fixedKek(kek, random), clock, random)
  gates = openConnectors(
    (gate) =>
      openIso8583Connector({
        gate: { ...gate.settings, gateId: gate.gateId, ...(gate.secrets && { secrets: gate.secrets }) },
        clock,
        random,
        log,
        limits: {},
        onStray: () => {},
      }),
    () => {},
  )
  closes.push(() => gates.close())
  const configuration = await watchRegistry(pool, keys, clock, log, gates.follow)
  closes.push(() => configuration.stop())
  const outgoing = openOutgoing({ policy, clock })
  closes.push(() => outgoing.close())
  const ground = { clock, random, log, turns: openTurns(nextTurn) }
  const server = await openServer({ host: '127.0.0.1', port: 0, ...limits, ...ground })
  for (const name of ['first', 'second']) {
    const database = await testDatabase()
    closes.push(() => database.close())
    const own = openPool({ url: database.url, connections: 4, use: 'oltp', log })
    closes.push(() => own.close())
    await migrate(own, clock.now(), log)
    cells.push(own)
    const gateway = await openGateway({
      ground,
      stores: {
        registry: {
          current: configuration.current,
          keys,
          ids: (id, block) => openIds(pool, id, block),
          issuerOf: () => undefined,
          ranges: () => noRanges,
          addRefusedAccess,
        },
        cell: openCell({ pool: own, databaseUrl: database.url, keys }, ground),
      },
      transports: { gates, outgoing, directories: noDirectories },
      settings: {
        instance: `${name} of this test`,
        publicUrls: [`http://127.0.0.1:${server.port}`],
        callbackPolicy: policy,
        access,
        ...switches,
      },
      meters,
    })
    gateways.push(gateway)
    closes.push(() => gateway.stop())
  }
  world = { ...sandbox, baseUrl: `http://127.0.0.1:${server.port}/gateway` }
  const pick = ({ params }: Incoming): Gateway => gateways[params.id === String(world.other.endpoint) ? 1 : 0]!
  const picked = (route: Route, at: number): Route => ({
    ...route,
    handle: (request) => pick(request).routes[at]!.handle(request),
  })
  await server.serve(gateways[0]!.routes.map(picked))
  closes.push(() => server.close(1_000))
})
after(async () => {
  for (const close of closes.reverse()) await close()
})

const attempts = statement<{ order_id: bigint; stan: string; rrn: string }>('select order_id, stan, rrn from all_attempts')
const ordersOf = (rows: readonly { order_id: bigint }[]) => new Set(rows.map((row) => row.order_id))
const pay = async (way: Way) => {
  const made = await order(world, {}, way)
  assert.equal((await settled(world, made, way)).status, 'approved')
  return BigInt(made.orderid)
}
const theirs = (): Way => ({ as: world.other, path: world.other.endpoint })

test('merchants of two cells pay over one server and one line, and no cell has an order or a name of the other', async () => {
  const orders = await Promise.all([{}, {}, {}, theirs(), theirs(), theirs()].map(pay))
  const [first, second] = await Promise.all(cells.map((cell) => cell.run(attempts)))
  assert.deepEqual(ordersOf(first!), new Set(orders.slice(0, 3)))
  assert.deepEqual(ordersOf(second!), new Set(orders.slice(3)))
  const names = [...first!, ...second!].flatMap(({ stan, rrn }) => [stan, rrn])
  assert.equal(new Set(names).size, names.length)
})

test('each cell has the lease of its own gateway', async () => {
  const beats = statement<{ process_id: bigint; instance: string }>('select process_id, instance from heartbeat')
  const rows = await Promise.all(cells.map((cell) => cell.run(beats)))
  assert.deepEqual(
    rows,
    ['first', 'second'].map((name, at) => [{ process_id: gateways[at]!.processId, instance: `${name} of this test` }]),
  )
})

test('when one of them stops the other goes on, over lines that stay up', async () => {
  await gateways[0]!.stop()
  await pay(theirs())
  assert.deepEqual(await gateways[1]!.unready(), [])
  assert.deepEqual(await gateways[0]!.unready(), ['the lease of this process is late or lost'])
  assert.ok(gates.states().some(({ up }) => up))
})
