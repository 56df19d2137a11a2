import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const blocks = 120
const blockSize = 100

/**
 * A free port for what comes back to it after it was killed. It is below those that a system gives out by itself, so nobody is given it meanwhile, and
 * processes that run at the same time choose from different blocks, almost always.
 */
export function freePort(): Promise<number> {
  const port = 20_000 + (process.pid % blocks) * blockSize + randomInt(blockSize)
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(freePort()))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })
}
