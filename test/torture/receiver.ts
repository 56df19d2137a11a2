import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Book } from './book.ts'

/**
 * A merchant's receiver of callbacks, which is not always well. It notes whatever reaches it, also
 * what it then refuses or leaves unanswered.
 */
export class Receiver {
  mood: 'well' | 'refuses' | 'hangs' = 'well'
  /** The time of a single answer, while it is well. */
  errorChance: number
  url = ''
  received = 0
  readonly #book: Book
  readonly #draw: () => number
  readonly #server = createServer((incoming, reply) => this.#take(incoming, reply))
  controlKey = ''

  constructor(book: Book, draw: () => number, errorChance: number) {
    this.#book = book
    this.#draw = draw
    this.errorChance = errorChance
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', resolve)
    })
    const address = this.#server.address()
    this.url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/callback`
  }

  #take(incoming: IncomingMessage, reply: ServerResponse): void {
    this.received++
    const fields = new URL(incoming.url ?? '/', this.url).searchParams
    const said = (name: string) => fields.get(name) ?? ''
    const signed = said('status') + said('orderid') + said('client_orderid') + this.controlKey
    const valid = createHash('sha1').update(signed).digest('hex') === said('control')
    if (this.mood === 'hangs') {
      this.#book.callback(said('orderid'), said('status'), said('client_orderid'), valid, false)
      return
    }
    const well = this.mood === 'well' && this.#draw() >= this.errorChance
    this.#book.callback(said('orderid'), said('status'), said('client_orderid'), valid, well)
    reply.writeHead(well ? 200 : 500).end(well ? 'OK' : 'not now')
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}
