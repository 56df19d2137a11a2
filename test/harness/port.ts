import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * A free port for what comes back to it after it was killed. It is below those that a system gives out by itself, so nobody is given it meanwhile; another
 * that asks here at the same moment may choose the same one.
 */
export function freePort(): Promise<number> {
  const port = 20_000 + randomInt(12_000)
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(freePort()))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })
}
