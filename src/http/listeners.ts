/**
 * More handles of a listening socket. For each handle Node.js (libuv 1.46) accepts one connection a
 * turn of the event loop. With a single one, 256 new connections wait for 256 turns, which is more
 * than a second under load.
 */
import { fork } from 'node:child_process'
import type { Server as HttpServer } from 'node:http'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { reasonOf, type Log } from '../base/log.ts'

/**
 * What is below a server that listens: it can be closed, sent to another process, and listened on.
 * The types know only the server, which another process would begin to serve at once.
 */
export type Handle = Server

/**
 * A listening socket that several processes of a machine share. The kernel keeps new connections
 * until one of them accepts, which is the one that is least busy.
 */
export interface SharedSocket {
  port: number
  /** A handle to listen on. */
  take(): Promise<Handle>
}

/**
 * Binds a socket, for a handle that other processes accept from. It is no listener's: whoever
 * connects before `close` is cut off, as there is nobody to serve him yet.
 */
export async function bindSocket(host: string, port: number): Promise<{ port: number; handle: Handle; close(): void }> {
  const server = createServer((socket) => socket.destroy()).listen(port, host)
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, handle: handleOf(server), close: () => void server.close() }
}

/** Accepts connections from a shared socket. */
export async function listenOn(server: Server, { take }: SharedSocket): Promise<void> {
  server.listen(await take())
  await once(server, 'listening')
}

function handleOf(server: Server): Handle {
  const { _handle: handle } = server as unknown as { _handle: Handle }
  return handle
}

export interface Listeners {
  /** Resolves once all of them listen, or it is known that they cannot. */
  opened: Promise<void>
  /** Listens no more; resolves when the connections that they accepted have ended. */
  close(): Promise<void>
}

const program = fileURLToPath(new URL('./send-back.js', import.meta.url))

/**
 * Opens so many further handles of the socket on which `server` listens; `server` serves their
 * connections too. A handle is duplicated by sending it to another process and back, the only way
 * that Node.js 20 has. Without that process, one connection a turn is accepted as before.
 */
export function openListeners(server: HttpServer, count: number, log: Log): Listeners {
  const listeners: Server[] = []
  // It needs none of the secrets that this environment may hold.
  const child = fork(program, [], { env: {}, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  let isClosed = false
  const opened = new Promise<void>((resolve) => {
    const ended = (why: unknown) => {
      if (!isClosed && listeners.length < count)
        log.warn({ reason: reasonOf(why) }, 'new connections are accepted one a turn, which is slow under load')
      resolve()
    }
    child.once('error', ended)
    child.once('exit', (code) => ended(new Error(`the process that sends handles back ended with ${code}`)))
  })
  child.on('message', (_, handle) => {
    // The options are those of an HTTP server.
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket))
    listener.on('error', (error) => server.emit('error', error)).listen(handle)
    if (isClosed) listener.close()
    else listeners.push(listener)
    if (listeners.length === count) child.disconnect()
  })
  // If it cannot be sent, the process ends, and that is reported.
  child.send({ times: count }, handleOf(server), () => {})
  return {
    opened,
    async close() {
      isClosed = true
      child.kill()
      await Promise.all(listeners.map((one) => new Promise((resolve) => one.close(resolve))))
    },
  }
}
