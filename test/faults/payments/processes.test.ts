import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { order, settled, type Order } from '../../conformance/requests/client.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { freePort, isFree } from '../../harness/world/port.ts'
import { gone, pidsOf } from '../../harness/world/processes.ts'
import { startServe, type GatewayProcess } from '../../harness/world/serve.ts'
import { until } from '../../harness/clock/until.ts'

/** Several processes of one gateway on one port, whose processes and whose parent are killed. */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))
// Answers are held. Where processes are killed it is the time until a reversal, and shorter.
await desk.gate({ answerTimeoutMs: 120_000 })
const ports = { PORT: String(await freePort()), OPERATOR_PORT: String(await freePort()) }
const start = async (PROCESSES: string): Promise<GatewayProcess> =>
  closing(await startServe(world, undefined, { ...ports, PROCESSES }))

/** The process in a slot, by its row in the heartbeats. */
async function leaseOf(slot: number): Promise<string | undefined> {
  const [row, ...others] = await desk.rows<{ id: string }>(
    'select process_id::text as id from heartbeat where instance like $1',
    [`%:${ports.PORT}/${slot}`],
  )
  assert.equal(others.length, 0, 'a slot has one process')
  return row?.id
}

/** The orders whose answer a process waits for. */
async function leasedBy(lease: string): Promise<string[]> {
  const waiting = `select order_id::text as id from all_transactions where lease = $1 and state = 'authorising'`
  return (await desk.rows<{ id: string }>(waiting, [lease])).map(({ id }) => id)
}

/** Sells until each of these processes has orders under way; all orders. */
async function sellToAll(gateway: GatewayProcess, leases: readonly string[]): Promise<Order[]> {
  const sold: Order[] = []
  await until(
    async () => {
      sold.push(...(await Promise.all(Array.from({ length: 8 }, () => order(gateway.world)))))
      return Promise.all(leases.map(leasedBy))
    },
    (all) => all.every((ids) => ids.length > 0),
  )
  return sold
}

const endOf = async (sold: Order[]) => desk.ended().then(() => Promise.all(sold.map((one) => settled(world, one))))

const lostLeases = `select order_id::text as id from all_events where event = 'lease lost'`

let gateway: GatewayProcess

test('sales at one port reach both processes, and the operator sees both at one port', async () => {
  gateway = await start('2')
  const sold = async (slot: number) =>
    (await metricsOf(gateway.world))(`tollgate_requests_total{slot="${slot}",operation="sale",outcome="ok"}`) ?? 0
  const made: Order[] = []
  await until(
    async () => {
      made.push(...(await Promise.all(Array.from({ length: 16 }, () => order(gateway.world)))))
      return Promise.all([0, 1].map(sold))
    },
    (counts) => counts.every((count) => count > 0),
  )
  assert.equal((await sold(0)) + (await sold(1)), made.length)
  for (const { status } of await endOf(made)) assert.equal(status, 'approved')
  const ready = async () => (await (await fetch(`${gateway.world.operatorUrl}/ready`)).json()) as { status: string }
  assert.deepEqual(await until(ready, ({ status }) => status === 'ready'), { status: 'ready', reasons: [] })
})

test('a signal to the parent closes the port and stops all in order: orders end, leases go, the exit code is 0', async () => {
  const forget = await desk.script({}, { hold: true })
  const leases = await Promise.all([0, 1].map(leaseOf))
  const sold = await sellToAll(
    gateway,
    leases.map((lease) => lease!),
  )
  const stopped = gateway.stop()
  await until(
    () => isFree(Number(ports.PORT)),
    (free) => free,
  )
  const running = [0, 1].map((slot) => process.kill(pidsOf(gateway, slot).at(-1)!, 0))
  assert.deepEqual(running, [true, true], 'the port is free while they end what they have')
  await forget()
  await stopped
  assert.equal(gateway.child.exitCode, 0, gateway.output())
  assert.deepEqual([await leaseOf(0), await leaseOf(1)], [undefined, undefined])
  for (const slot of [0, 1]) await gone(pidsOf(gateway, slot).at(-1)!)
  for (const { status } of await endOf(sold)) assert.equal(status, 'approved')
})

test('a killed process is restarted and takes over its orders, and the other one keeps its own', async () => {
  await desk.gate({ answerTimeoutMs: 10_000 })
  gateway = await start('2')
  const forget = await desk.script({}, { hold: true })
  const [dead, other] = await Promise.all([leaseOf(0), leaseOf(1)])
  const sold = await sellToAll(gateway, [dead!, other!])
  const pid = pidsOf(gateway, 0)[0]!
  // What it holds is what it held when it stood still.
  process.kill(pid, 'SIGSTOP')
  const [ofDead, ofOther] = await Promise.all([leasedBy(dead!), leasedBy(other!)])
  assert.ok(ofDead.length > 0)
  process.kill(pid, 'SIGKILL')
  await gone(pid)
  // Whoever starts gets no connection before it serves: none of these is refused.
  const sellAndLook = async () => {
    sold.push(await order(gateway.world))
    return pidsOf(gateway, 0).length
  }
  await until(sellAndLook, (starts) => starts === 2, 120_000, 20)
  // A process that fell silent keeps its row for an hour: this one was removed by its successor.
  assert.deepEqual(await desk.rows('select from heartbeat where process_id = $1', [dead]), [])
  assert.equal(await leaseOf(1), other)
  await forget()
  await endOf(sold)
  const taken = new Set((await desk.rows<{ id: string }>(lostLeases)).map(({ id }) => id))
  for (const id of ofDead) assert.ok(taken.has(id), `order ${id} of the dead process was taken over`)
  for (const id of ofOther) assert.ok(!taken.has(id), `order ${id} stayed with its process`)
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  const metric = await metricsOf(gateway.world)
  assert.deepEqual(
    [0, 1].map((slot) => metric(`tollgate_process_starts_total{slot="${slot}"}`)),
    [2, 1],
  )
  assert.equal(metric('tollgate_lease_changes_total{slot="1",mode="lost"}'), 0)
  await gateway.stop()
})

test('when the parent is killed its processes end, and no successor can listen before all have ended', async () => {
  gateway = await start('2')
  const forget = await desk.script({}, { hold: true })
  const [first, second] = [0, 1].map((slot) => pidsOf(gateway, slot)[0]!)
  const leases = await Promise.all([0, 1].map(leaseOf))
  const sold = await sellToAll(
    gateway,
    leases.map((lease) => lease!),
  )
  process.kill(second!, 'SIGSTOP')
  const end = once(gateway.child, 'exit')
  gateway.child.kill('SIGKILL')
  await end
  await gone(first!)
  // Once the second goes on, the answers of its own may be late: a start can take as long.
  const ofFirst = await leasedBy(leases[0]!)
  assert.ok(ofFirst.length > 0)
  await assert.rejects(start('2'), /EADDRINUSE/)
  assert.deepEqual(await Promise.all([0, 1].map(leaseOf)), leases, 'nothing was taken over')
  process.kill(second!, 'SIGCONT')
  await gone(second!)
  await forget()
  gateway = await start('2')
  await endOf(sold)
  const taken = new Set((await desk.rows<{ id: string }>(lostLeases)).map(({ id }) => id))
  for (const id of ofFirst) assert.ok(taken.has(id), `order ${id} was taken over`)
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  await gateway.stop()
})

test('a slot that a later start does not have is found dead by its silence, and its orders end', async () => {
  gateway = await start('3')
  const forget = await desk.script({}, { hold: true })
  const leases = await Promise.all([0, 1, 2].map(leaseOf))
  const sold = await sellToAll(
    gateway,
    leases.map((lease) => lease!),
  )
  const pids = [gateway.child.pid!, ...[0, 1, 2].map((slot) => pidsOf(gateway, slot)[0]!)]
  // None may see another end.
  for (const signal of ['SIGSTOP', 'SIGKILL']) for (const pid of pids) process.kill(pid, signal)
  await Promise.all(pids.map(gone))
  const ofThird = await leasedBy(leases[2]!)
  assert.ok(ofThird.length > 0)
  await forget()
  gateway = await start('2')
  assert.equal(await leaseOf(2), leases[2], 'no process removed its row')
  await endOf(sold)
  const taken = new Set((await desk.rows<{ id: string }>(lostLeases)).map(({ id }) => id))
  for (const id of ofThird) assert.ok(taken.has(id), `order ${id} was taken over`)
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  await gateway.stop()
})
