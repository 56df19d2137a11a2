import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'

/**
 * What is below a server that listens: it can be closed, sent to another process, and listened on.
 * The types know only the server, which another process would begin to serve at once.
 */
export type Handle = Server

/**
 * A listening socket that several processes of a machine share. The kernel keeps new connections
 * until one of those that accept takes them, which is the one that is least busy.
 */
export interface SharedSocket {
  port: number
  /**
   * From now on `server` gets connections, up to `inTurn` in one turn of the event loop, while this
   * process accepts any. `leave` is called with the part of its open connections that others
   * should have.
   */
  enter(server: Server, inTurn: number, leave?: (part: number) => void): Entrance
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

export function handleOf(server: Server): Handle {
  const { _handle: handle } = server as unknown as { _handle: Handle }
  return handle
}

/** A further listener of a server, with the options of an HTTP server. */
export function listenFor(server: Server, handle: Handle): Server {
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket))
  if (server.maxConnections) listener.maxConnections = server.maxConnections
  return listener.on('error', (error) => server.emit('error', error)).listen(handle)
}

/** Where a server gets connections of a shared socket. It may be shut and opened again. */
export class Entrance {
  readonly #server: Server
  readonly #take: () => Promise<Handle>
  readonly #inTurn: number
  #listeners: Server[] = []
  /** Of listeners that are closed, whose connections may go on. */
  readonly #ended: Promise<void>[] = []
  #change = 0
  #isOpen = false
  #isClosed = false

  constructor(server: Server, inTurn: number, take: () => Promise<Handle>) {
    this.#server = server
    this.#inTurn = inTurn
    this.#take = take
    // Node.js begins to look for slow requests when a server listens, which this one never does.
    server.emit('listening')
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Resolves once it accepts connections, or is shut again. What was closed stays closed. */
  async open(): Promise<void> {
    if (this.#isClosed) return
    const change = ++this.#change
    this.#isOpen = true
    const opened = Array.from({ length: this.#inTurn }, async () => {
      const handle = await this.#take()
      if (change === this.#change) this.#listeners.push(listenFor(this.#server, handle))
      else handle.close()
    })
    await Promise.all(opened)
  }

  /** Accepts no more. Its connections go on. */
  shut(): void {
    this.#change++
    this.#isOpen = false
    for (const one of this.#listeners.splice(0)) this.#ended.push(new Promise((resolve) => one.close(() => resolve())))
  }

  /** Resolves when its connections have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.shut()
    await Promise.all(this.#ended)
  }
}
