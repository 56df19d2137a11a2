import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf, type Log } from '../../src/base/log.ts'
import type { Desk, Line } from './desk.ts'
import type { MacKey } from './mac.ts'
import { decode, FrameReader, Unreadable } from './wire.ts'

/** A peer that reads nothing is cut off when this many bytes of answers are waiting. */
const mostUnreadBytes = 8 * 1024 * 1024

const mostTries = 50
const tryAgainMs = 100

/** Certificate and key of the acquirer, and the authority whose clients it takes. All are PEM. */
export interface LineTls {
  port: number
  ca: string
  cert: string
  key: string
}

/** The protection of a line's messages. */
export interface Protection {
  tls?: LineTls | undefined
  /** For the messages of the port by TLS or, where there is none, of that in clear. */
  mac?: MacKey | undefined
}

/** A port and what listens there, if it accepts. */
interface Door {
  port: number
  hadPort: boolean
  make: () => Server
  server?: Server
}

/**
 * The TCP side: accepts connections, in clear and by TLS, splits frames, passes messages to the
 * desk, and combines the answers of one tick into one write.
 */
export class LineServer {
  readonly #desk: Desk
  readonly #log: Log
  readonly #host: string
  readonly #lines = new Set<SocketLine>()
  readonly #clear: Door
  readonly #secure: Door | undefined
  #refuses = true
  #opened = 0

  constructor(desk: Desk, log: Log, host: string, port: number, { tls, mac }: Protection = {}) {
    this.#desk = desk
    this.#log = log
    this.#host = host
    const open = (socket: Socket) => this.#open(socket)
    const openWithMac = (socket: Socket) => this.#open(socket, mac)
    this.#clear = { port, hadPort: false, make: () => createServer({ noDelay: true }, tls ? open : openWithMac) }
    if (tls) this.#secure = { port: tls.port, hadPort: false, make: () => this.#secureServer(tls, openWithMac) }
  }

  get port(): number {
    return this.#clear.port
  }

  get tlsPort(): number | undefined {
    return this.#secure?.port
  }

  get connections(): number {
    return this.#lines.size
  }

  get refuses(): boolean {
    return this.#refuses
  }

  /**
   * Starts to accept, on the same ports as before. Rejects when a port is taken; one that was its
   * own may be for a while.
   */
  async accept(): Promise<void> {
    if (!this.#refuses) return
    for (const door of this.#doors()) await this.#listen(door)
    this.#refuses = false
  }

  /** From now on the operating system refuses new connections; open ones continue. */
  refuse(): void {
    for (const door of this.#doors()) {
      door.server?.close()
      delete door.server
    }
    this.#refuses = true
  }

  #doors(): Door[] {
    return this.#secure ? [this.#clear, this.#secure] : [this.#clear]
  }

  async #listen(door: Door): Promise<void> {
    if (door.server) return
    const server = door.make()
    for (let tries = 1; ; tries++) {
      const refused = await listening(server, door.port, this.#host)
      if (refused === undefined) break
      // While this refused, the system may have lent the port to a connection that somebody opened.
      if (!door.hadPort || refused.code !== 'EADDRINUSE' || tries === mostTries) throw refused
      await pause(tryAgainMs)
    }
    server.on('error', (error) => this.#log.error({ reason: error.message }, 'the line could not accept a connection'))
    const address = server.address()
    if (typeof address === 'object' && address) door.port = address.port
    door.hadPort = true
    door.server = server
  }

  /** Clients without a certificate of the authority are cut before they can say anything. */
  #secureServer({ ca, cert, key }: LineTls, opened: (socket: Socket) => void): Server {
    const wish = { ca, cert, key, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const
    const server = createTlsServer({ ...wish, noDelay: true }, opened)
    server.on('tlsClientError', ({ message }) => this.#log.warn({ reason: message }, 'a client could not begin TLS'))
    return server
  }

  /** Cuts all open connections, answered or not; returns how many. */
  closeConnections(): number {
    const count = this.#lines.size
    for (const line of this.#lines) line.cut()
    return count
  }

  #open(socket: Socket, mac?: MacKey): void {
    const line = new SocketLine(++this.#opened, socket, mac)
    const reader = new FrameReader()
    this.#lines.add(line)
    this.#log.info({ line: line.id }, 'a connection was opened')
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const body of reader.push(chunk)) {
          if (!line.isOpen) return
          this.#desk.receive(line, decode(body, mac))
        }
      } catch (error) {
        this.#drop(line, error)
      }
    })
    socket.on('error', (error) => this.#log.info({ line: line.id, reason: error.message }, 'a connection broke'))
    socket.on('close', () => {
      this.#lines.delete(line)
      this.#log.info({ line: line.id }, 'a connection was closed')
    })
  }

  #drop(line: SocketLine, error: unknown): void {
    if (error instanceof Unreadable) {
      this.#desk.counts.unreadable++
      this.#log.warn({ line: line.id, reason: error.message }, 'a frame could not be read; the connection ends')
    } else {
      this.#log.error(
        { line: line.id, reason: reasonOf(error), stack: error instanceof Error ? error.stack : undefined },
        'a defect',
      )
    }
    line.cut()
  }
}

/** The system's error, if any. */
function listening(server: Server, port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen(port, host, () => {
      server.removeListener('error', resolve)
      resolve(undefined)
    })
  })
}

class SocketLine implements Line {
  readonly id: number
  readonly mac?: MacKey
  signedOn = false
  readonly #socket: Socket
  #waiting: Buffer[] = []
  #waitingBytes = 0

  constructor(id: number, socket: Socket, mac?: MacKey) {
    this.id = id
    if (mac) this.mac = mac
    this.#socket = socket
  }

  get isOpen(): boolean {
    return this.#socket.writable
  }

  send(frame: Buffer): void {
    if (!this.isOpen) return
    this.#waitingBytes += frame.length
    if (this.#waiting.push(frame) === 1) process.nextTick(() => this.#flush())
    if (this.#socket.writableLength + this.#waitingBytes > mostUnreadBytes) this.cut()
  }

  hangUp(last?: Buffer): void {
    if (!this.isOpen) return
    if (last) this.send(last)
    this.#flush()
    this.#socket.destroySoon()
  }

  #flush(): void {
    if (this.isOpen && this.#waiting.length > 0) this.#socket.write(Buffer.concat(this.#waiting, this.#waitingBytes))
    this.#waiting = []
    this.#waitingBytes = 0
  }

  cut(): void {
    this.#socket.destroy()
  }
}
