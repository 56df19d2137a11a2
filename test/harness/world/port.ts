import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** The system does not assign ports of this range by itself. */
const first = 20_000
const last = 32_000

/**
 * A port for a server that is killed and comes back to it. It is this process's until its end: a
 * UDP socket of the same number, which no server here uses, tells other tests that it is taken.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last)
    if ((await reserve(port)) && (await isFree(port))) return port
  }
}

/** Whether this process has the number now. */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  socket.bind({ port, address: '127.0.0.1', exclusive: true })
  return once(socket, 'listening').then(
    () => true,
    () => false,
  )
}

/** Whether somebody may listen at this port. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  return once(server, 'listening').then(
    () => new Promise<boolean>((resolve) => server.close(() => resolve(true))),
    () => false,
  )
}
