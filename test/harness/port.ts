import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const blocks = 120
const blockSize = 100

/**
 * A free port for a server that is killed and comes back to it. The system does not assign ports of
 * this range by itself, so none is taken meanwhile. Processes that run at the same time almost
 * always choose from different blocks.
 */
export function freePort(): Promise<number> {
  const port = 20_000 + (process.pid % blocks) * blockSize + randomInt(blockSize)
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(freePort()))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })
}
