// The heart of a process as a thread: heart-start.ts starts it.
import { readFileSync, writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import { openLog } from '../base/log.ts'
import type { CellDatabase, Whereabouts } from '../storage/cells.ts'
import { startHeart, type LeaseMode } from './heart.ts'
import { openMovingPool } from '../storage/moving-pool.ts'
import { openPool } from '../storage/pool.ts'
import { openPulse } from './pulse.ts'
import { heartbeatStore, type Heartstrings } from './heartbeat.ts'

/** The input of the thread. The URL contains the password of the database. */
export type ThreadData = Pick<Heartstrings, 'processId' | 'instance'> & { database: CellDatabase; memory: SharedArrayBuffer }
/**
 * What the thread reports. A `line` is a line of its log, to be written to the log of the process.
 */
export type ThreadReport = { is: 'beating' } | { is: 'doubt' } | { is: 'mode'; mode: LeaseMode } | { is: 'line'; line: string }

/** Commands to the thread: follow the cell to another server, or end. */
export type ThreadOrder = { is: 'move'; to: CellDatabase } | { is: 'stop' }

const standardError = 2
const { database, processId, instance, memory } = workerData as ThreadData
const port = parentPort!
const report = (message: ThreadReport) => port.postMessage(message)
const log = openLog({ level: 'warn', destination: { write: (line) => report({ is: 'line', line }) } })
const listeners = new Set<(to: CellDatabase) => void>()
const where: Whereabouts = {
  now: () => database,
  onMove(moved) {
    listeners.add(moved)
    return () => void listeners.delete(moved)
  },
  doubt: () => report({ is: 'doubt' }),
}
const pool = openMovingPool(where, (at) => openPool({ ...at, connections: 1, use: 'heartbeat', log }))
const store = heartbeatStore(pool)

/**
 * The loop that writes the log hangs, so the line goes straight to standard error. SIGKILL, because
 * every gentler signal needs that loop; and not one that dumps core, because the memory holds
 * cards. The kernel spares the first process of a container.
 */
function endHung(ms: number): void {
  const loud = openLog({ level: 'error', destination: { write: (line) => void writeSync(standardError, line) } })
  try {
    const fields = { process: String(processId), hungMs: Math.round(ms) }
    loud.error(fields, 'the event loop of this process hangs: the process is ended, and another takes over its orders')
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}

/** The second number of `schedstat`, in nanoseconds. Linux alone has it; elsewhere it is 0. */
function waitedMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

const heart = await startHeart({
  enter: () => store.enter(processId, instance),
  beat: () => store.beat(processId),
  clock: systemClock,
  log,
  pulse: openPulse(memory),
  waitedMs,
  onMode: (mode) => report({ is: 'mode', mode }),
  endHung,
})
report({ is: 'beating' })
port.on('message', (order: ThreadOrder) => {
  if (order.is === 'stop') return void stop()
  for (const moved of listeners) moved(order.to)
})

async function stop(): Promise<void> {
  await heart.stop()
  await pool.close()
  port.close()
}
