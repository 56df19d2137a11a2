import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls'
import { frameReader } from '../../../src/acquirer/iso8583/codec.ts'
import { openFraming } from '../../../src/acquirer/iso8583/mac.ts'
import type { Cancel, Clock } from '../../../src/base/clock.ts'
import { replyTypeOf, type IsoFields, type IsoMessage } from '../../../src/spec/iso8583.ts'
import { holds } from '../clock/until.ts'

/** A clock that stands still until a test moves it. */
export class HandClock implements Clock {
  #at = 0
  #timers = new Set<{ due: number; fn: () => void }>()

  now(): number {
    return Date.UTC(2026, 0, 2, 3, 4, 5) + this.#at
  }

  monotonic(): number {
    return this.#at
  }

  after(delayMs: number, fn: () => void): Cancel {
    const timer = { due: this.#at + Math.max(0, delayMs), fn }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Lets time pass and runs what falls due, in its order, each at its own time. */
  advance(byMs: number): void {
    const end = this.#at + byMs
    for (;;) {
      const [next] = [...this.#timers].filter((timer) => timer.due <= end).sort((a, b) => a.due - b.due)
      if (!next) break
      this.#timers.delete(next)
      this.#at = Math.max(this.#at, next.due)
      next.fn()
    }
    this.#at = end
  }

  /** Time passes while the process stands still: what falls due runs afterwards, all of it late. */
  standStill(forMs: number): void {
    this.#at += forMs
  }

  /** Milliseconds until the next timer, if there is one. */
  next(): number | undefined {
    return this.#timers.size === 0 ? undefined : Math.min(...[...this.#timers].map((timer) => timer.due)) - this.#at
  }
}

/** Polls a condition; fails after 30 s of real time. */
export const until = (what: string, condition: () => boolean): Promise<void> => holds(condition, what, 30_000)

/** The reply to a request: what it repeats of it, and an action code. */
export function replyTo(request: IsoMessage, actionCode: string, more: IsoFields = {}): IsoMessage {
  const echoed = [3, 4, 7, 11, 12, 37, 41, 42, 49] as const
  const repeated: IsoFields = Object.fromEntries(echoed.map((field) => [field, request.fields[field]]))
  return { type: replyTypeOf(request.type), fields: { ...repeated, 39: actionCode, ...more } }
}

/**
 * The acquirer's end of a line on a real socket. It answers network messages as the test says, and
 * leaves payments to the test.
 */
export class AcquirerPeer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** The newest connection. */
  socket: Socket | undefined
  connections = 0
  /** The common names of the client certificates, a connection each. */
  clients: string[] = []
  /** Everything received, over all connections. */
  received: IsoMessage[] = []
  /** Action code by function code of a network message; no answer where there is none. */
  network: Record<string, string> = { 801: '800', 802: '800', 831: '800' }

  /** With a MAC or without. */
  framing = openFraming(undefined)

  private constructor(tls: TlsOptions | undefined) {
    const accept = (socket: Socket) => this.#accept(socket)
    this.#server = tls ? createTlsServer(tls, accept) : createServer(accept)
  }

  static async listen(port = 0, tls?: TlsOptions): Promise<AcquirerPeer> {
    const peer = new AcquirerPeer(tls)
    await new Promise<void>((resolve) => peer.#server.listen(port, '127.0.0.1', resolve))
    return peer
  }

  get port(): number {
    const address: AddressInfo | string | null = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the peer does not listen')
    return address.port
  }

  get payments(): IsoMessage[] {
    return this.received.filter((message) => message.type !== '1804')
  }

  networkMessages(functionCode: string): number {
    return this.received.filter((message) => message.fields[24] === functionCode && message.type === '1804').length
  }

  send(...messages: IsoMessage[]): void {
    this.socket!.write(Buffer.concat(messages.map(this.framing.pack)))
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #accept(socket: Socket): void {
    this.socket = socket
    this.connections++
    if (socket instanceof TLSSocket) this.clients.push(String(socket.getPeerCertificate().subject?.CN))
    this.#sockets.add(socket)
    const next = frameReader()
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (chunk) => {
      const { bodies, refused } = next(chunk)
      if (refused !== undefined) socket.destroy()
      for (const body of bodies) {
        const unpacked = this.framing.unpack(body)
        if (unpacked.is === 'refused') throw new Error(`the gateway sent what cannot be read: ${unpacked.why}`)
        this.received.push(unpacked.message)
        const code = unpacked.message.type === '1804' ? this.network[unpacked.message.fields[24] ?? ''] : undefined
        if (code !== undefined) socket.write(this.framing.pack(replyTo(unpacked.message, code)))
      }
    })
  }
}
