import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadOrder, LoadReport, LoadSays } from './exchange.ts'

export interface Load {
  /** One run at a time. Rejects when the process ends under way. */
  run(order: LoadOrder, heard: (says: LoadSays) => void): Promise<LoadReport>
  stop(): void
}

/** Starts the load process. It ends with this one, and as soon as `interrupted` does. */
export function startLoad(interrupted: AbortSignal): Load {
  // A session of its own: Ctrl-C in the terminal reaches the bench alone, which stops everybody in
  // order.
  const child = fork(fileURLToPath(new URL('./load.js', import.meta.url)), { detached: true })
  let listener: ((says: LoadSays) => void) | undefined
  child.on('message', (says: LoadSays) => listener?.(says))
  const gone = new Promise<never>((_, reject) =>
    child.once('exit', (code, signal) => reject(new Error(`The load process ended (${signal ?? `exit code ${code}`}).`))),
  )
  gone.catch(() => {})
  const stop = () => void child.kill('SIGKILL')
  interrupted.addEventListener('abort', stop)
  return {
    run(order, heard) {
      const report = new Promise<LoadReport>((resolve) => {
        listener = (says) => {
          heard(says)
          if (says.is === 'done') resolve(says.report)
        }
      })
      // A message that cannot be sent shows in the end of the process.
      child.send(order, () => {})
      return Promise.race([report, gone])
    },
    stop,
  }
}
