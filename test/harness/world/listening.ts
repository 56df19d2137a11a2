import type { Server, Socket } from 'node:net'
import { closing } from './opening.ts'

/** Starts a server, until the last test of the file, and counts its connections. */
export async function listening(server: Server, host = '127.0.0.1') {
  const sockets = new Set<Socket>()
  const started = { port: 0, connections: 0, most: 0, open: () => sockets.size }
  server.on('connection', (socket: Socket) => {
    started.connections++
    sockets.add(socket)
    started.most = Math.max(started.most, sockets.size)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen({ port: 0, host, backlog: 2_048 }, resolve))
  const address = server.address()
  started.port = typeof address === 'object' && address ? address.port : 0
  closing({
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
  return started
}
