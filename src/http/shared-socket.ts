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
   * From now on `server` gets connections while this process accepts any. `leave` is called with
   * the part of its open connections that others should have.
   */
  enter(server: Server, leave: (part: number) => void): Entrance
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

/** A further listener of a server, which accepts connections as the server itself would. */
export function listenFor(server: Server, handle: Handle): Server {
  const { allowHalfOpen } = server as unknown as { allowHalfOpen: boolean }
  const listener = createServer({ allowHalfOpen, noDelay: true }, (socket) => server.emit('connection', socket))
  return listener.on('error', (error) => server.emit('error', error)).listen(handle)
}

/** Where a server gets connections of a shared socket. It may be shut and opened again. */
export class Entrance {
  readonly #server: Server
  readonly #take: () => Promise<Handle>
  #inTurn = 1
  #listeners: Server[] = []
  /** Listeners that are closed, whose connections go on. */
  readonly #ending = new Set<Promise<void>>()
  #change = 0
  #isOpen = false
  #isClosed = false

  constructor(server: Server, take: () => Promise<Handle>) {
    this.#server = server
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
    await this.#listen(change, this.#inTurn)
  }

  /** Accepts so many connections in one turn of the event loop from now on, in place of one. */
  widen(inTurn: number): void {
    const more = inTurn - this.#inTurn
    if (more <= 0) return
    this.#inTurn = inTurn
    if (this.#isOpen) void this.#listen(this.#change, more)
  }

  /** Accepts no more. Its connections go on. */
  shut(): void {
    this.#change++
    this.#isOpen = false
    for (const one of this.#listeners.splice(0)) {
      const ended = new Promise<void>((resolve) => one.close(() => resolve())).then(() => void this.#ending.delete(ended))
      this.#ending.add(ended)
    }
  }

  /** Resolves when its connections have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.shut()
    await Promise.all(this.#ending)
  }

  async #listen(change: number, count: number): Promise<void> {
    const one = async () => {
      const handle = await this.#take()
      if (change === this.#change) this.#listeners.push(listenFor(this.#server, handle))
      else handle.close()
    }
    await Promise.all(Array.from({ length: count }, one))
  }
}
