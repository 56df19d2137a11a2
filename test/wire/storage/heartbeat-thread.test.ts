import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { staysAt } from '../../../src/storage/cells.ts'
import { cellWork } from '../../../src/operator/cells/cell-work.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { heartOnThread } from '../../../src/leases/heart-start.ts'
import { heartbeatStore, startHeartbeat, type Heartbeat } from '../../../src/leases/heartbeat.ts'
import { until } from '../../harness/clock/until.ts'
import { openDatabaseProxy } from '../../harness/world/proxy.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing } from '../../harness/world/opening.ts'

/** The heart of a process on its thread, with a real database that it reaches through a proxy. */

const { url, pool: straight } = await openMigrated('admin', 2)
const silentLog = openLog({ level: 'silent', destination: { write: () => {} } })
/** As `tollgate doctor` has it. */
const doctors = closing(openPool({ url, connections: 2, use: 'search', log: silentLog }))
const proxy = closing(await openDatabaseProxy(url))
let heartbeat: Heartbeat
let log = ''
/** Threads that were started, the newest last. */
let threads: Worker[] = []
const noteThread = (worker: Worker) => void threads.push(worker)
process.on('worker', noteThread)
closing({ close: () => process.off('worker', noteThread) })

beforeEach(async () => {
  log = ''
  threads = []
  const kept = openLog({ level: 'info', destination: { write: (line) => void (log += line) } })
  heartbeat = await startHeartbeat({
    store: heartbeatStore(straight),
    processId: 3n,
    instance: 'a place',
    clock: systemClock,
    log: kept,
    heart: heartOnThread(staysAt({ url: proxy.url }), systemClock, kept),
    inHand: () => 12,
  })
})
afterEach(async () => {
  proxy.accept()
  await heartbeat?.stop()
})

interface Row {
  beat_at: number
}
const select = statement<Row>(`select beat_at from heartbeat where process_id = 3`)
const row = async (): Promise<Row | undefined> => (await straight.run(select))[0]
const beatsAgain = async (): Promise<boolean> => {
  const { beat_at: earlier } = (await row())!
  return until(
    async () => (await row())!.beat_at > earlier,
    (beats) => beats,
  )
}

test('it beats on its own thread and connection, and its row is gone once it is stopped', async () => {
  assert.equal(heartbeat.holding(), true)
  assert.equal(await beatsAgain(), true)
  const connected = statement<{ n: bigint }>(
    `select count(*) as n from pg_stat_activity where application_name = 'tollgate heartbeat' and datname = current_database()`,
  )
  assert.equal((await straight.run(connected))[0]!.n, 1n)
  await heartbeat.stop()
  assert.equal(await row(), undefined)
  assert.equal(threads[0]!.threadId, -1, 'the thread ended')
  assert.equal(heartbeat.holding(), false)
})

test('a thread that ends by itself is an error in the log, and another one beats on', async () => {
  await threads[0]!.terminate()
  assert.equal(await beatsAgain(), true)
  assert.equal(threads.length, 2)
  assert.match(log, /"level":"error".*the thread of the heartbeat ended unexpectedly/)
  const holds = await until(() => heartbeat.holding(), Boolean)
  assert.equal(holds, true)
})

test('the database goes and comes back: the doctor sees the lease lapse and return; no password is in the log', async () => {
  const begunAt = systemClock.monotonic()
  proxy.refuse()
  const isLate = await until(
    () => heartbeat.counts().changes.late,
    (times) => times === 1,
  )
  assert.equal(isLate, 1)
  assert.equal(heartbeat.holding(), false)
  proxy.accept()
  const holds = await until(() => heartbeat.holding(), Boolean)
  assert.equal(holds, true)
  assert.equal(heartbeat.holding(begunAt), false)
  const judges = await until(() => heartbeat.judges(), Boolean)
  assert.equal(judges, true)
  const [noted] = await until(
    async () => (await cellWork(doctors, doctors, 0)).alive,
    ([process]) => process?.lapses === 1,
  )
  assert.equal(noted?.lapsedOrders, 12)
  const { password } = new URL(proxy.url)
  assert.ok(!log.includes(proxy.url) && (password === '' || !log.includes(password)))
  assert.match(
    log,
    /"level":"warn".*the heartbeat could not be written/,
    'what the thread has to say is in the log of the process',
  )
})

test('a row that another process removed is the end of the lease', async () => {
  await straight.run(statement(`delete from heartbeat where process_id = 3`))
  await heartbeat.lost
  assert.equal(heartbeat.holding(), false)
  assert.match(log, /"level":"error".*"orders":12.*lost its lease/)
})

test('a heart that cannot write its first beat says so, and no thread is left', async () => {
  proxy.refuse()
  const store = heartbeatStore(straight)
  const parts = { store, processId: 4n, instance: 'another', clock: systemClock, log: silentLog, inHand: () => 0 }
  await assert.rejects(
    startHeartbeat({ ...parts, heart: heartOnThread(staysAt({ url: proxy.url }), systemClock, silentLog) }),
    /^Error: the heartbeat cannot begin: ./,
  )
  assert.equal(threads.at(-1)!.threadId, -1)
})
