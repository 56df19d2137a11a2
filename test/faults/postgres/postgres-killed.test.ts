import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { accepted, newOrderId, sale, status, type Fields, type Order } from '../../conformance/requests/client.ts'
import { ownDirectory } from '../../harness/postgres/embedded.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { startServe } from '../../harness/world/serve.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** kill -9 of the sandbox's own PostgreSQL, under its supervisor, while sales are made. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld({ embedded: true })

/** The postmaster writes its pid into its data directory; 0 while there is none. */
function postmaster(directory = world.directory): number {
  const file = join(directory, 'postgres', 'postmaster.pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0
}

/** How long the database may be silent before the gateway refuses requests. */
const patienceMs = 10_000
const kills: { pid: number; at: number }[] = []

/**
 * On a slow machine the server may be back later: merchants are refused then, and ask again once it
 * is there.
 */
async function sell(name: string): Promise<Fields> {
  for (;;) {
    const reply = await sale(world, { client_orderid: name, server_callback_url: `${merchant.origin}/${name}` })
    const last = kills.at(-1)
    if (reply.type === 'async-response' || !last || performance.now() - last.at < patienceMs) return reply
    await until(
      () => postmaster(),
      (pid) => pid > 0 && pid !== last.pid,
    )
  }
}

test('killed twice under load: each acknowledged sale ends, with at most one callback; the books are equal', async () => {
  const desk = closing(await openFaultDesk(world))
  const names = Array.from({ length: 600 }, () => newOrderId())
  const acknowledged: Order[] = []
  const refusedFor = new Set<string>()
  const killAt = [150, 400]
  let next = 0
  const shop = async () => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) {
      const reply = await sell(name)
      if (reply.type === 'async-response') acknowledged.push(accepted(reply))
      else refusedFor.add(`${reply.type} ${reply['error-code']}`)
      if (acknowledged.length >= (killAt[0] ?? Infinity)) {
        killAt.shift()
        kills.push({ pid: postmaster(), at: performance.now() })
        process.kill(kills.at(-1)!.pid, 'SIGKILL')
      }
    }
  }
  await Promise.all(Array.from({ length: 32 }, shop))
  assert.equal(new Set(kills.map(({ pid }) => pid)).size, 2, 'it was started again in between, and killed again')
  assert.deepEqual([...refusedFor], [], 'requests wait until it is back')

  await desk.ended()
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  for (const { client_orderid, orderid } of acknowledged)
    assert.equal((await status(world, { client_orderid }))['gateway-order-id'], orderid)
  const entries = await desk.entries()
  assert.equal(new Set(entries.map(({ orderId }) => orderId)).size, entries.length)
  assert.equal((await desk.messages()).byType['1200'], entries.length)
  const untold = () => names.filter((name) => merchant.calls(`/${name}`).length === 0)
  await until(untold, (all) => all.length === 0, 120_000)
  assert.deepEqual(untold(), [])
  for (const { orderid, client_orderid } of acknowledged) {
    const said = new Set(
      merchant.calls(`/${client_orderid}`).map(({ query }) => `${query.get('orderid')} ${query.get('status')}`),
    )
    const reply = await status(world, { client_orderid, orderid })
    assert.deepEqual([...said], [`${orderid} ${reply.status}`])
  }
})

test('a gateway that is started while PostgreSQL is killed again and again waits until it stays', async () => {
  const serving = new AbortController()
  const waits: string[] = []
  let last = 0
  const kill = async () => {
    while (!serving.signal.aborted && waits.length < 2) {
      await until(
        () => postmaster(),
        (pid) => pid > 0 && pid !== last,
      )
      last = postmaster()
      process.kill(last, 'SIGKILL')
    }
  }
  const heard = (line: string) => void (line.includes('the start is tried again') && waits.push(line))
  const starting = startServe(world, undefined, {}, undefined, heard).finally(() => serving.abort())
  const [gateway] = await Promise.all([starting, kill()])
  await gateway.stop()
  assert.ok(waits.length >= 2, `waited ${waits.length} times`)
})

test('a sandbox whose PostgreSQL is killed at each step of its start comes up, and stops as usual', async () => {
  const directory = await ownDirectory()
  const main = fileURLToPath(new URL('../../../src/cli/main.js', import.meta.url))
  const env = { ...process.env, TOLLGATE_DIR: directory, PORT: '0', DATABASE_URL: '' }
  const child = spawn(process.execPath, [main, 'sandbox'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  after(() => child.kill('SIGKILL'))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let output = ''
  let killed = 0
  const steps = ['Preparing the database', 'simulated card world', 'Starting the gateway', "the merchant's server"]
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    const step = steps[killed]
    if (step === undefined || !output.includes(step)) return
    killed++
    process.kill(postmaster(directory), 'SIGKILL')
  })
  await until(
    () => existsSync(join(directory, 'sandbox.json')) || child.exitCode !== null,
    (isOver) => isOver,
    240_000,
  )
  assert.equal(killed, steps.length, output)
  assert.equal(child.exitCode, null, output)
  child.kill('SIGTERM')
  assert.equal(await ended, 0, output)
})
