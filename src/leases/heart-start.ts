import { Worker } from 'node:worker_threads'
import { sleep, type Cancel, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import type { Whereabouts } from '../storage/cells.ts'
import type { ThreadData, ThreadOrder, ThreadReport } from './heart-thread.ts'
import type { HeartStart } from './heartbeat.ts'

const program = new URL('./heart-thread.js', import.meta.url)
const startAgainMs = 1_000
const stopWithinMs = 1_000

/**
 * Runs the heart on its own thread with its own database connection, so that neither a busy loop
 * nor a full pool keeps it from beating. If the thread ends by itself, that is a defect but does
 * not concern the payments in memory, so it is restarted: within three seconds that has no effect,
 * later it is a lapse like any other. *Rejected:* ending the process, which would abandon every
 * payment that waits for its answer.
 */
export const heartOnThread =
  (where: Whereabouts, clock: Clock, log: Log): HeartStart =>
  async ({ processId, instance, pulse, onMode }) => {
    const order = (one: ThreadOrder) => thread.postMessage(one, [])
    let begun = false
    let stopped = false
    let cancel: Cancel = () => {}
    let thread: Worker
    let gone: Promise<void>

    /** Resolves when the thread beats. Rejects if the first thread ends before that. */
    function begin(): Promise<void> {
      return new Promise((resolve, reject) => {
        let reason = 'it ended'
        const workerData: ThreadData = { database: where.now(), processId, instance, memory: pulse.memory }
        thread = new Worker(program, { workerData, execArgv: [] })
        thread.on('error', (error) => (reason = reasonOf(error)))
        thread.on('message', (report: ThreadReport) => {
          if (report.is === 'mode') return onMode(report.mode)
          if (report.is === 'line') return relay(report.line)
          if (report.is === 'doubt') return where.doubt()
          begun = true
          resolve()
        })
        gone = new Promise((ended) => {
          thread.once('exit', () => {
            ended()
            if (stopped) return
            if (!begun) return reject(new Error(`the heartbeat cannot begin: ${reason}`))
            log.error({ reason }, 'the thread of the heartbeat ended unexpectedly; it is started again')
            cancel = clock.after(startAgainMs, () => void begin())
          })
        })
      })
    }

    function relay(line: string) {
      const { msg, ...fields } = JSON.parse(line) as { msg: string; reason?: string }
      log.warn({ reason: fields.reason }, msg)
    }

    await begin()
    const stay = where.onMove((to) => order({ is: 'move', to }))
    return {
      async stop() {
        stopped = true
        stay()
        cancel()
        order({ is: 'stop' })
        await Promise.race([gone, sleep(clock, stopWithinMs)])
        await thread.terminate()
      },
    }
  }
