import { Worker } from 'node:worker_threads'
import { sleep, type Cancel, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import type { ThreadData, ThreadReport } from './store-heart-thread.ts'
import type { HeartStart } from './store-heartbeat.ts'

const program = new URL('./store-heart-thread.js', import.meta.url)
const startAgainMs = 1_000
const stopWithinMs = 1_000

/**
 * A heart on a thread of its own, with a database connection of its own: neither a busy loop nor a
 * full pool keeps it from beating. A thread that ends by itself is a defect of its own and none of
 * the payments in hand, so it is started again: within three seconds nobody notices, later it is a
 * lapse like any other. *Rejected:* ending the process, which would give up every payment that
 * waits for its answer.
 */
export const heartOnThread =
  (databaseUrl: string, clock: Clock, log: Log): HeartStart =>
  async ({ processId, instance, pulse, onMode }) => {
    const workerData: ThreadData = { databaseUrl, processId, instance, memory: pulse.memory }
    let begun = false
    let stopped = false
    let cancel: Cancel = () => {}
    let thread: Worker
    let gone: Promise<void>

    /** Resolves when the thread beats. Rejects when the first one does not come so far. */
    function begin(): Promise<void> {
      return new Promise((resolve, reject) => {
        let reason = 'it ended'
        thread = new Worker(program, { workerData, execArgv: [] })
        thread.on('error', (error) => (reason = reasonOf(error)))
        thread.on('message', (report: ThreadReport) => {
          if (report.is === 'mode') return onMode(report.mode)
          if (report.is === 'line') return relay(report.line)
          begun = true
          resolve()
        })
        gone = new Promise((ended) => {
          thread.once('exit', () => {
            ended()
            if (stopped) return
            if (!begun) return reject(new Error(`the heartbeat cannot begin: ${reason}`))
            log.error({ reason }, 'the thread of the heartbeat ended by itself; it is started again')
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
    return {
      async stop() {
        stopped = true
        cancel()
        thread.postMessage('stop', [])
        await Promise.race([gone, sleep(clock, stopWithinMs)])
        await thread.terminate()
      },
    }
  }
