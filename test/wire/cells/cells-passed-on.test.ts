import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import {
  encodePairs,
  formType,
  ledger,
  newOrderId,
  order,
  postSale,
  readReply,
  sale,
  send,
  settled,
  signedSale,
  signedStatus,
  statusOf,
  statusUrl,
  type Changes,
  type Fields,
  type Order,
} from '../../conformance/requests/client.ts'
import { initiate, openMobile, perform, type Mobile } from '../../conformance/mobile/mobile.ts'
import {
  approvedOnce,
  atChallenge,
  cardOf,
  passChallenge,
  secureOrder,
  whatNow,
} from '../../conformance/three-d-secure/shopper.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { freePort } from '../../harness/world/port.ts'
import { writeResultsConfig } from '../../harness/three-d-secure/results-config.ts'
import { openNetwork, type Challenged } from '../../harness/three-d-secure/three-d-secure-network.ts'
import { receipt, refusal, said, send as post, type Json } from '../../harness/three-d-secure/three-d-secure-wire.ts'
import { startServe, type GatewayProcess } from '../../harness/world/serve.ts'
import { until } from '../../harness/clock/until.ts'
import { startWorld } from '../../harness/sandbox/start.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf, run } from '../operator/cli-run.ts'

/**
 * Three cells. The merchant of the world was born in cell 0 and has moved to cell 1. `here` serves
 * cell 0, and passes on; `there` serves cells 0 and 1. The sandbox serves all cells and is passed
 * nothing.
 */

let world: World
let database: Client
let mobile: Mobile
let here: GatewayProcess
let there: GatewayProcess
/** Made before the move. */
let old: { page: string; receipt: string }
const cli = cliOf(() => world)

const proxied = { TRUSTED_PROXIES: '127.0.0.1', ACCESS_LIMITS: 'pair=18' }
const peer = { PEER_URL: 'https://127.0.0.1:0' }
const startThere = (more = {}) => startServe(world, undefined, { TOLLGATE_CELLS: '0,1', ...proxied, ...peer, ...more })

before(async () => {
  world = await startWorld({ own: true })
  mobile = await openMobile(world)
  database = new Client({ connectionString: world.databaseUrl })
  await database.connect()
  old = { page: await pageOf(await secureOrder(world, 'challenge')), receipt: await receiptOf(await order(world)) }
  for (const cellNo of ['1', '2']) await cli.tell(['cell', 'add', cellNo])
  await until(
    async () => (await metricsOf(world))('tollgate_cell_open{cell="1"}'),
    (open) => open === 1,
  )
  const moved = await run({ TOLLGATE_DIR: world.directory }, ['merchant', 'move', world.merchant.login, '--to', '1'])
  assert.equal(moved.code, 0, moved.err)
  there = await startThere()
  resultsPort = await freePort()
  const results = { THREE_DS_CONFIG: writeResultsConfig(world, resultsPort).file, PUBLIC_URL: 'https://pay.example' }
  here = await startServe(world, undefined, { TOLLGATE_CELLS: '0', ...proxied, ...peer, ...results })
})
after(async () => {
  for (const gateway of [here, there]) await gateway?.stop()
  await mobile?.shop.close()
  await database?.end()
  await world?.stop()
})

const pem = (name: string) => join(world.directory, 'certificates', name)
let resultsPort: number

const pageOf = async (made: Order) => (await whatNow(world, made))['redirect-to'] ?? ''
const receiptOf = async (made: Order) => (await settled(world, made))['receipt-id'] ?? ''
/** The same address at another process. */
const at = (gateway: GatewayProcess, url: string) => gateway.world.baseUrl + new URL(url).pathname.replace('/gateway', '')
const receiptAt = (gateway: GatewayProcess, id: string) =>
  send('GET', `${gateway.world.baseUrl}/view-receipt/${world.endpoints.plain}/${id}/`)

const figure = async (gateway: GatewayProcess, name: string, result: string) =>
  (await metricsOf(gateway.world))(`tollgate_passed_${name}_total{result="${result}"}`) ?? 0

const orderOf = (reply: Fields): Order => {
  const { 'gateway-order-id': orderid = '', 'merchant-order-id': client_orderid = '' } = reply
  return { ...reply, orderid, client_orderid } as Order
}

function turnedAway(reply: Fields): void {
  const { type, 'error-code': code, 'gateway-order-id': made } = reply
  assert.deepEqual([type, code, made], ['error', '20', undefined], JSON.stringify(reply))
}

test('a sale that comes to a process without its cell is approved once, and the same wherever it is asked for', async () => {
  const earlier = [await figure(here, 'on', 'answered'), await figure(there, 'here', 'answered')]
  const fields = signedSale(here.world)
  const made = orderOf(await postSale(here.world, fields))
  const { orderid } = made
  for (const gateway of [here, there]) assert.equal((await postSale(gateway.world, fields))['gateway-order-id'], orderid)
  assert.equal((await settled(here.world, made)).status, 'approved')
  assert.equal((await ledger(world, orderid)).length, 1)
  const { 'serial-number': _, ...seen } = await statusOf(here.world, made)
  const { 'serial-number': __, ...same } = await statusOf(there.world, made)
  assert.deepEqual(seen, same)
  assert.ok((await figure(here, 'on', 'answered')) - earlier[0]! >= 3)
  assert.ok((await figure(there, 'here', 'answered')) - earlier[1]! >= 3)
  const page = await receiptAt(here, seen['receipt-id'] ?? '')
  assert.deepEqual([page.httpStatus, /Payment approved/.test(page.body)], [200, true])
})

test('a page and a receipt from before a merchant moved are passed on to its new cell', async () => {
  for (const gateway of [here, there]) {
    const page = await send('GET', at(gateway, old.page))
    assert.equal(page.httpStatus, 200)
    assert.equal((await receiptAt(gateway, old.receipt)).httpStatus, 200)
  }
})

test("an app's request is judged in the cell of its merchant", async () => {
  const asked = { ...mobile, world: here.world }
  const made = initiate(mobile, 'sale')
  const told = await perform(asked, made)
  assert.equal(told.httpStatus, 200, JSON.stringify(told))
  const forged = initiate(mobile, 'sale', { 'session.signature': 'f'.repeat(40) })
  const causes = await Promise.all([mobile, asked].map(async (one) => (await perform(one, forged)).json['error'] as Fields))
  assert.ok(causes[0]!['cause'])
  assert.equal(causes[1]!['cause'], causes[0]!['cause'])
})

/** Posts a message as the directory server does, to the process without the cell. */
const postResult = (message: Json) =>
  post(`https://127.0.0.1:${resultsPort}/3ds/results`, message, {
    cert: readFileSync(pem('directory-server.pem'), 'utf8'),
    key: readFileSync(pem('directory-server.key'), 'utf8'),
    ca: readFileSync(pem('ds-ca.pem'), 'utf8'),
  })

async function rowsIn<Row extends object>(cellNo: number, sql: string, values: unknown[] = []): Promise<Row[]> {
  await database.query(`set search_path = ${cellNo === 0 ? 'public' : `cell_${cellNo}`}`)
  return (await database.query<Row>(sql, values)).rows
}

test('the result of a challenge and the browser that brings its CRes may both come to a process without the cell', async () => {
  const network = openNetwork(world)
  await network.issuer({ rreq_missing: true, times: 1 })
  const { made, seen } = await atChallenge(world)
  const { cres } = await passChallenge(seen)
  const [row] = await rowsIn<{
    authentication: Record<'threeDSServerTransId' | 'acsTransId' | 'dsTransId' | 'version' | 'pageToken', string>
  }>(1, 'select authentication from orders where order_id = $1', [made.orderid])
  const { threeDSServerTransId: transId, pageToken, ...ids } = row!.authentication
  const paid = { card: await cardOf(world, 'challenge'), amountMinor: '1050' }
  const rreq = network.rreq({ transId, ...ids, ...paid } as Challenged)
  assert.deepEqual(said(await postResult({ ...rreq, acsTransID: ids.dsTransId })), refusal)
  assert.deepEqual(said(await postResult(rreq)), receipt)
  const page = `${here.world.baseUrl}/3ds/${pageToken}`
  assert.equal((await send('GET', page)).httpStatus, 200)
  const returned = await send('POST', `${page}/challenge`, encodePairs([['cres', cres]]), { 'content-type': formType })
  assert.equal(returned.httpStatus, 303, returned.body)
  await approvedOnce(world, made)
})

test('failures are counted for the address of the client, not for that of the process between', async () => {
  const status = async (address: string, changes: Changes = {}) => {
    const fields = signedStatus(here.world, { client_orderid: 'nobody', ...changes })
    const from = { 'x-forwarded-for': address, 'content-type': formType }
    return readReply(await send('POST', statusUrl(here.world), encodePairs(Object.entries(fields)), from))['error-code']
  }
  // How many may fail depends on how many processes there are.
  await until(
    () => status('198.51.100.1', { control: '0'.repeat(40) }),
    (code) => code === '20',
    60_000,
    1,
  )
  assert.deepEqual([await status('198.51.100.1'), await status('198.51.100.2')], ['20', '6'])
})

test('a cell that no process serves to which requests are passed is refused with code 20, and nothing goes round', async () => {
  const { control_key: controlKey } = await cli.json<{ control_key: string }>('merchant', 'add', '--login', 'far', '--cell', '2')
  const { endpoint_id: path } = await cli.json<{ endpoint_id: number }>(
    'endpoint',
    'add',
    '--merchant',
    'far',
    '--currency',
    'USD',
    '--gate',
    'sandbox acquirer',
  )
  const way = { as: { login: 'far', controlKey }, path }
  const arrived = async () => (await figure(there, 'here', 'answered')) + (await figure(there, 'here', 'not here'))
  const earlier = await arrived()
  for (const gateway of [here, there]) {
    await until(
      () => sale(gateway.world, {}, way),
      (reply) => reply['error-code'] !== '4',
    )
    turnedAway(await sale(gateway.world, {}, way))
    assert.ok((await figure(gateway, 'on', 'nobody')) > 0)
  }
  assert.equal(await arrived(), earlier)
  const { out } = await run({ TOLLGATE_DIR: world.directory }, ['doctor'])
  assert.match(out, /warning +cell 2: gateways +refuse its merchants with code 20: \S+:\d+, \S+:\d+\n.*PEER_URL/)
  assert.doesNotMatch(out, /cell 1: gateways +refuse/)
})

test('strangers at the address for other processes do nothing', async () => {
  const [row] = await rowsIn<{ url: string }>(0, `select url from peer where cells = '{0,1}'`)
  const fields = encodePairs(Object.entries(signedSale(world)))
  const earlier = await figure(there, 'here', 'refused')
  for (const origin of [row!.url, row!.url.replace('https', 'http')])
    for (const path of ['/peer', '/gateway/api/v2/sale/1', '/health'])
      await assert.rejects(fetch(origin + path, { method: 'POST', body: fields }), /fetch failed/)
  await until(
    () => figure(there, 'here', 'refused'),
    (refused) => refused === earlier + 6,
  )
  const all = [world, here.world, there.world].map(({ baseUrl }) => send('POST', `${new URL(baseUrl).origin}/peer`, fields))
  assert.deepEqual(
    (await Promise.all(all)).map(({ httpStatus }) => httpStatus),
    [404, 404, 404],
  )
})

test('a process dies with a request that was passed to it: no answer, and a repeat makes no second payment', async () => {
  const fields = signedSale(here.world, { client_orderid: newOrderId() })
  await rowsIn(1, 'begin')
  await rowsIn(
    1,
    `insert into order_key (merchant_id, client_orderid, order_id, live, digest, created_at, held_until)
     select merchant_id, $1, 0, false, '', now(), now() from orders limit 1`,
    [fields['client_orderid']],
  )
  const lost = assert.rejects(postSale(here.world, fields), /socket hang up|ECONNRESET/)
  await until(
    () =>
      rowsIn<{ n: number }>(
        1,
        `select count(*)::int as n from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))`,
      ),
    ([row]) => row!.n > 0,
  )
  there.child.kill('SIGKILL')
  await lost
  await rowsIn(1, 'rollback')
  assert.ok((await figure(here, 'on', 'lost')) > 0)
  turnedAway(await sale(here.world))
  there = await startThere({
    PROCESSES: '2',
    PORT: String(await freePort()),
    PEER_URL: `https://127.0.0.1:${await twoPorts()}`,
  })
  const repeat = await until(
    () => postSale(here.world, fields),
    (reply) => reply['error-code'] !== '20',
  )
  const made = orderOf(repeat)
  await settled(world, made)
  assert.ok((await ledger(world, made.orderid)).filter(({ state }) => state === 'approved').length <= 1)
})

/** A free port whose next one is free too. */
async function twoPorts(): Promise<number> {
  for (;;) {
    const port = await freePort()
    const next = createServer().listen(port + 1, '127.0.0.1')
    const isFree = await once(next, 'listening').then(
      () => true,
      () => false,
    )
    await new Promise((resolve) => next.close(resolve))
    if (isFree) return port
  }
}

test('each of several processes on a machine has an address of its own, and all of them are passed requests', async () => {
  const beating = `select url from peer where cells = '{0,1}' and beat_at > now() - interval '4 seconds' order by url`
  // The one that was killed may have been seen less than four seconds ago.
  const rows = await until(
    () => rowsIn<{ url: string }>(0, beating),
    ({ length }) => length === 2,
  )
  const [first, second] = rows.map(({ url }) => Number(new URL(url).port))
  assert.equal(second, first! + 1)
  const arrivedAt = async (slot: number) =>
    (await metricsOf(there.world))(`tollgate_passed_here_total{slot="${slot}",result="answered"}`) ?? 0
  const counts = await until(
    async () => {
      await statusOf(here.world, { orderid: '1', client_orderid: 'nobody' } as Order)
      return Promise.all([arrivedAt(0), arrivedAt(1)])
    },
    (all) => all.every((count) => count > 0),
  )
  assert.ok(Math.abs(counts[0] - counts[1]) < 50, String(counts))
})

test('a process that stops takes its address away, and its requests are refused with code 20', async () => {
  await there.stop()
  assert.deepEqual(await rowsIn(0, `select from peer where cells = '{0,1}' and beat_at > now() - interval '4 seconds'`), [])
  turnedAway(await sale(here.world))
  assert.equal((await receiptAt(here, old.receipt)).httpStatus, 503)
})
