import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { sale } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { openWorld } from '../../harness/world/opening.ts'

const world = await openWorld({ own: true })

test('/health says that the process serves, /ready that it may be given work', async () => {
  const health = await fetch(`${world.operatorUrl}/health`)
  assert.deepEqual([health.status, await health.json()], [200, { status: 'ok' }])
  // The line to the acquirer is made while it serves already.
  assert.deepEqual(await settled(200), { status: 'ready', reasons: [] })
})

test('/ready is 503 with the reason while no line to an acquirer is up, and 200 again afterwards', async () => {
  await line({ refuse: true, close_now: true })
  const down = await settled(503)
  assert.deepEqual(down.reasons, ['no line to an acquirer is up'])
  await line({ refuse: false })
  await settled(200)
})

test('/metrics counts requests by outcome and changes by batch', async () => {
  await sale(world)
  const metrics = await (await fetch(`${world.operatorUrl}/metrics`)).text()
  assert.match(metrics, /^tollgate_requests_total\{operation="sale",outcome="ok"\} [1-9]/m)
  assert.match(metrics, /^tollgate_batch_items_total\{batch="orders"\} [1-9]/m)
  assert.match(metrics, /^tollgate_gate_up\{gate="\d+"\} 1$/m)
  assert.match(metrics, /^process_cpu_seconds_total /m)
})

test('/metrics counts an answer of the acquirer that belongs to no request', async () => {
  await acquirer('faults', { match: { times: 1 }, do: { wrong_stan: true } })
  await sale(world)
  const strays = async () => (await metricsOf(world))('tollgate_acquirer_strays_total{gate="1",kind="unexpected"}')
  assert.equal(await until(strays, (count) => count === 1), 1)
})

test('the gateway of a sandbox is connected as a user that may serve and owns nothing', async () => {
  const database = new Client({ connectionString: world.databaseUrl })
  await database.connect()
  const { rows } = await database.query(`
    select distinct a.application_name as use, pg_has_role(a.usesysid, 'tollgate_serve', 'usage') as serves,
      u.usesuper as superuser
    from pg_stat_activity a join pg_user u on u.usesysid = a.usesysid
    where a.datname = current_database() and a.application_name in ('tollgate oltp', 'tollgate heartbeat') order by 1`)
  await database.end()
  assert.deepEqual(rows, [
    { use: 'tollgate heartbeat', serves: true, superuser: false },
    { use: 'tollgate oltp', serves: true, superuser: false },
  ])
})

test('a stop with 60 sales at the acquirer loses none, leaves none open and ends', async () => {
  await line({ latency_ms: 380 })
  const replies = await Promise.all(Array.from({ length: 60 }, () => sale(world)))
  const orders = replies.map((reply) => reply['gateway-order-id'])
  const began = Date.now()
  await world.halt()
  // The gateway's own limits sum to under ten seconds; the rest is for a machine that ends five
  // processes.
  assert.ok(Date.now() - began < 40_000, `it took ${Date.now() - began} ms`)
  const database = new Client({ connectionString: world.databaseUrl })
  await database.connect()
  const { rows } = await database.query(
    `select status, count(*)::int as n from orders where order_id = any ($1::bigint[]) group by status`,
    [orders],
  )
  await database.end()
  assert.deepEqual(rows, [{ status: 'approved', n: 60 }])
})

const line = (body: object) => acquirer('line', body)
const acquirer = (path: string, body: object) =>
  fetch(`${world.acquirerAdminUrl}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Asks until /ready answers so; the line's own time-outs bound it. */
async function settled(status: number): Promise<{ status: string; reasons: string[] }> {
  const look = async () => {
    const ready = await fetch(`${world.operatorUrl}/ready`)
    return { status: ready.status, body: (await ready.json()) as { status: string; reasons: string[] } }
  }
  return (await until(look, (ready) => ready.status === status, 120_000)).body
}
