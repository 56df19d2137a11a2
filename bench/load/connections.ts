import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { ReplyReader, type Reply } from './reply.ts'

/**
 * Posts over kept connections to one server, one request at a time on each. It does the least that
 * HTTP/1.1 asks for, since the load process shares the machine with what it measures: undici takes
 * more processor time for a request than a bare server does to answer it.
 */
export interface Connections {
  /** `headers`: further lines of the head, each with its end. */
  post(path: string, type: string, body: string, headers?: string): Promise<Reply>
  close(): void
}

const packetBytes = 16_384
const lookEveryMs = 500

/** Whom an https origin has to be, and the authority (PEM) that says so. */
export interface ServerName {
  ca: string
  name: string
}

export function openConnections(origin: string, withinMs: number, server?: ServerName): Connections {
  const { host } = new URL(origin)
  const all = new Set<Connection>()
  /** The last one used is used next: its memory is warm. */
  const idle: Connection[] = []
  const late = setInterval(() => {
    for (const one of all) one.expire(withinMs)
  }, lookEveryMs)
  late.unref()

  function open(): Connection {
    const one = new Connection(origin, server, {
      idle: () => void idle.push(one),
      gone() {
        all.delete(one)
        const at = idle.indexOf(one)
        if (at >= 0) idle.splice(at, 1)
      },
    })
    all.add(one)
    return one
  }

  return {
    async post(path, type, body, headers = '') {
      const length = Buffer.byteLength(body)
      if (length !== body.length) throw new Error('Only ASCII can be sent.')
      const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n`
      return (idle.pop() ?? open()).ask(`${head}${headers}\r\n${body}`)
    },
    close() {
      clearInterval(late)
      for (const one of all) one.close()
    },
  }
}

class Connection {
  readonly #socket: Socket
  readonly #reader = new ReplyReader()
  readonly #tell: { idle(): void; gone(): void }
  #asked: { at: number; resolve(reply: Reply): void; reject(error: Error): void } | undefined

  constructor(origin: string, server: ServerName | undefined, tell: { idle(): void; gone(): void }) {
    const { hostname, port } = new URL(origin)
    this.#tell = tell
    // A buffer of its own, read by a callback: no stream is woken, and nothing is allocated.
    const callback = (count: number, buffer: Uint8Array) => this.#read((buffer as Buffer).subarray(0, count))
    const onread = { buffer: Buffer.alloc(packetBytes), callback }
    const to = { host: hostname, port: Number(port), noDelay: true, onread }
    this.#socket = server ? connectTls({ ...to, ca: server.ca, servername: server.name }) : connect(to)
    let failure = new Error('the connection was closed before the reply')
    this.#socket.on('error', (error) => (failure = error))
    this.#socket.on('close', () => {
      tell.gone()
      this.#asked?.reject(failure)
    })
  }

  ask(request: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#asked = { at: performance.now(), resolve, reject }
      this.#socket.write(request, 'latin1')
    })
  }

  #read(packet: Buffer): boolean {
    const asked = this.#asked
    // No caller waits for these bytes, so the error ends the process.
    if (asked === undefined) throw new Error(`${packet.length} bytes came without a request.`)
    try {
      const reply = this.#reader.read(packet)
      if (reply === undefined) return true
      this.#asked = undefined
      if (reply.kept) this.#tell.idle()
      else this.close()
      asked.resolve(reply)
    } catch (error) {
      this.#socket.destroy(error as Error)
    }
    return true
  }

  /** Fails if its request is older. */
  expire(withinMs: number): void {
    if (this.#asked && performance.now() - this.#asked.at > withinMs)
      this.#socket.destroy(new Error(`no reply within ${withinMs} ms`))
  }

  close(): void {
    this.#tell.gone()
    this.#socket.destroy()
  }
}
