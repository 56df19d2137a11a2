import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { order, send, settled, untilStatus, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { startServe, type GatewayProcess } from '../../harness/world/serve.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/**
 * A gateway whose event loop does not turn for a while, as while it parses something huge, with
 * another beside it that would take over what it has in hand.
 */

const program = fileURLToPath(new URL('../../harness/clock/blocking-serve.js', import.meta.url))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
let busy: GatewayProcess
closing({ close: () => busy?.child.kill('SIGKILL') })

/** The gateway that will stand still, and how long both wait for the acquirer. */
async function startBusy(answerTimeoutMs: number): Promise<void> {
  await busy?.stop()
  await desk.gate({ answerTimeoutMs })
  busy = await startServe(world, program)
}

/** Stops the loop of the busy gateway until it is let go; resolves when it stands still. */
async function block(): Promise<{ letGo: () => Promise<void> }> {
  const file = join(world.directory, 'blocked')
  writeFileSync(file, '')
  const { origin } = new URL(busy.world.baseUrl)
  const answered = send('POST', `${origin}/block/${Buffer.from(file).toString('base64url')}`)
  answered.catch(() => {})
  return {
    async letGo() {
      rmSync(file)
      assert.equal((await answered).httpStatus, 200)
    },
  }
}

/**
 * How long ago, by the database, the busy gateway wrote its last beat, in seconds; undefined once
 * its row is gone.
 */
async function silence(): Promise<number | undefined> {
  const [row] = await desk.rows<{ s: number }>(
    `select extract(epoch from clock_timestamp() - beat_at)::float8 as s from heartbeat where instance like '%:' || $1`,
    [new URL(busy.world.baseUrl).port],
  )
  return row?.s
}

/** How many orders the gateway of the sandbox has taken over. */
async function takenOver(): Promise<number> {
  const { port } = new URL(world.baseUrl)
  const [other] = await desk.rows<{ taken_over: number }>(`select taken_over from heartbeat where instance like '%:' || $1`, [
    port,
  ])
  return other!.taken_over
}

/** The acquirer has all of these, and answers none before `answerMs` are over. */
async function sellAndWait(count: number, answerMs: number): Promise<Order[]> {
  const earlier = (await desk.entries()).length
  const forget = await desk.script({}, { delay_ms: answerMs })
  const sold = await Promise.all(Array.from({ length: count }, () => order(busy.world)))
  await until(desk.entries, (all) => all.length >= earlier + count)
  await forget()
  return sold
}

test(
  'a loop that is blocked for longer than a dead process is silent keeps its lease, and reverses no payment',
  { timeout: 300_000 },
  async () => {
    // Longer than the loop stands still on a slow machine.
    await startBusy(30_000)
    const sold = await sellAndWait(10, 3_000)
    const { letGo } = await block()
    const now = `select extract(epoch from clock_timestamp())::float8 as s`
    const since = (await desk.rows<{ s: number }>(now))[0]!.s
    let longest = 0
    await until(
      async () => {
        longest = Math.max(longest, (await silence()) ?? Infinity)
        return (await desk.rows<{ s: number }>(now))[0]!.s - since
      },
      (seconds) => seconds > 7,
    )
    await letGo()
    assert.ok(longest < 4, `it was silent for ${longest} s`)
    for (const one of sold) assert.equal((await settled(busy.world, one)).status, 'approved')
    const reversals = await desk.rows(`select from all_transactions where kind = 'reversal'`)
    assert.equal(reversals.length, 0)
    assert.equal((await metricsOf(busy.world))('tollgate_lease_changes_total{mode="late"}'), 0)
    assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  },
)

test(
  'a hanging event loop ends its process with a line in the log, and another takes over its orders',
  { timeout: 300_000 },
  async () => {
    // The reversal waits for it twice: before the other gateway takes over, and before it is sent.
    await startBusy(10_000)
    // It may have taken over others of an earlier file.
    const before = await takenOver()
    const sold = await sellAndWait(5, 60_000)
    const ended = once(busy.child, 'exit')
    await block()
    const [code, signal] = await ended
    assert.deepEqual([code, signal], [null, 'SIGKILL'])
    const line = busy.output().match(/^.*the event loop of this process hangs.*$/m)?.[0] ?? '{}'
    const { level, hungMs } = JSON.parse(line) as { level?: string; hungMs?: number }
    assert.equal(level, 'error')
    assert.ok(hungMs !== undefined && hungMs >= 15_000)
    for (const one of sold) {
      const { status } = await untilStatus(world, one, (reply) => reply.status === 'error', 120_000)
      assert.equal(status, 'error')
    }
    assert.equal((await takenOver()) - before, sold.length)
  },
)
