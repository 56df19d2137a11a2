/**
 * More handles of a listening socket. For each handle Node.js (libuv 1.46) accepts one connection a
 * turn of the event loop. With a single one, 256 new connections wait for 256 turns, which is more
 * than a second under load.
 */
import { fork } from 'node:child_process'
import type { Server as HttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { reasonOf, type Log } from '../base/log.ts'

/**
 * What is below a server that listens: it can be sent to another process, and listened on. The
 * types know only the server, which another process would start to serve immediately.
 */
type Handle = Server

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
        log.warn({ reason: reasonOf(why) }, 'new connections are accepted one per turn, which is slow under load')
      resolve()
    }
    child.once('error', ended)
    child.once('exit', (code) => ended(new Error(`the process that passes connections ended with ${code}`)))
  })
  child.on('message', (_, handle) => {
    const listener = listenFor(server, handle as Handle)
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

function handleOf(server: Server): Handle {
  const { _handle: handle } = server as unknown as { _handle: Handle }
  return handle
}

/** A further listener of a server, which accepts connections as the server itself would. */
function listenFor(server: Server, handle: Handle): Server {
  const { allowHalfOpen } = server as unknown as { allowHalfOpen: boolean }
  const listener = createServer({ allowHalfOpen, noDelay: true }, (socket) => server.emit('connection', socket))
  return listener.on('error', (error) => server.emit('error', error)).listen(handle)
}
