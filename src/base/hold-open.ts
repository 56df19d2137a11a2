import { MessageChannel } from 'node:worker_threads'

/**
 * Keeps the process from ending while `work` is running: the clock's timers do not, and neither
 * does a server in its own session.
 */
export async function holdingOpen<T>(work: () => Promise<T>): Promise<T> {
  const { port1 } = new MessageChannel()
  port1.on('message', () => undefined)
  try {
    return await work()
  } finally {
    port1.close()
  }
}
