/**
 * How much of its connections a server reads. Node.js reads all requests that stand in a connection
 * without waiting for replies, a thousand in one piece, so that a few MiB of a stranger would keep
 * a process busy for minutes. Here each piece is parsed request by request. What waits is unread.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import { nextTurn } from '../base/clock.ts'
import { FairQueue } from '../base/fair-queue.ts'
import { connectionOwner } from './client-address.ts'
import { Connections, type ConnectionLimits } from './connections.ts'
import { refuseUnread, type ReplyHeaders } from './replies.ts'

export interface IntakeLimits extends ConnectionLimits {
  /** Requests read in one turn of the event loop at most, of all connections; 256 by default. */
  readsInTurn?: number
}

/** Requests of a connection that are open at most; the next is read when a reply has gone. */
const mostOpen = 8

/** The way of all connections, and of their requests, into a server of HTTP or HTTPS. */
export class Intake {
  readonly connections: Connections<Socket>
  readonly #flows = new WeakMap<object, Flow>()
  readonly #waiting = new FairQueue<Flow>()
  readonly #limits: IntakeLimits
  #read = 0
  #isEnding = false

  constructor(server: Server, limits: IntakeLimits, always: ReplyHeaders, isTls: boolean) {
    this.#limits = limits
    this.connections = new Connections<Socket>(limits)
    server.prependListener('connection', (socket: Socket) => void (this.connections.admit(socket) || socket.destroy()))
    server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#flows.set(socket, new Flow(socket, this))
    })
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      const refuse = () => refuseUnread(error, socket, always)
      const flow = this.#flows.get(socket)
      if (flow) flow.fail(refuse)
      else refuse()
    })
  }

  /** Counts requests, and passes on those whose connection is open. */
  before(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (request.socket.destroyed) return
      this.#flows.get(request.socket)?.begin(request, response)
      if (this.#isEnding) response.shouldKeepAlive = false
      listener(request, response)
    }
  }

  /** From now on a reply ends its connection, and what stands behind its request is not read. */
  end(): void {
    this.#isEnding = true
  }

  /**
   * Whether a request may be read now. If not, `flow` goes on in a later turn. Until one has to
   * wait the count goes on from turn to turn: to end it with each would cost a timer a turn.
   */
  mayRead(flow: Flow): boolean {
    if (this.#read < this.#most && this.#waiting.size === 0) return ++this.#read > 0
    if (this.#waiting.size === 0) nextTurn(this.#turn)
    const { remoteAddress = '', remotePort } = flow.socket
    const owner = connectionOwner(remoteAddress, this.#limits.trustedProxies ?? [])
    this.#waiting.add(owner ?? `${remoteAddress} ${remotePort}`, flow)
    return false
  }

  get #most(): number {
    return this.#limits.readsInTurn ?? 256
  }

  readonly #turn = (): void => {
    this.#read = Math.min(this.#most, this.#waiting.size)
    for (let left = this.#read; left > 0; left--) this.#waiting.next()!.goOn('turn')
    if (this.#waiting.size > 0) nextTurn(this.#turn)
  }
}

/**
 * One connection. It *reads*, or *waits*: for its turn, or for a reply. It is *over* once nothing
 * behind the request that was read last will be carried out: what comes then is dropped, since a
 * connection that is closed with unread bytes is reset, and the last reply would be lost with it.
 */
class Flow {
  readonly socket: Socket
  readonly #intake: Intake
  readonly #parse: (bytes: Buffer) => void
  #waits: 'turn' | 'reply' | undefined
  #hasTurn = false
  #open = 0
  #request: IncomingMessage | undefined
  #response: ServerResponse | undefined
  /** Bytes of its body that are to come, where the length is known. */
  #left = 0
  /** Where the head ends, if one does, in the bytes that are parsed. */
  #headEnd = 0
  #refuse: (() => void) | undefined

  constructor(socket: Socket, intake: Intake) {
    this.socket = socket
    this.#intake = intake
    this.#parse = socket.listeners('data')[0] as (bytes: Buffer) => void
    // With another listener Node.js does not read the connection itself, past its events.
    socket.off('data', this.#parse).on('data', (bytes: Buffer) => this.#take(bytes))
    // Whoever reads a body resumes the connection.
    socket.on('resume', () => this.#waits && socket.pause())
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request
    this.#response = response
    this.#left = this.#headEnd + Number(request.headers['content-length'] ?? 0)
    this.#open++
    response.on('close', () => {
      this.#open--
      // While it is idle it keeps nothing.
      if (this.#response === response && request.complete) this.#request = this.#response = undefined
      if (this.#refuse && this.socket.writable) this.#refuseLast(this.#refuse)
      else this.goOn('reply')
    })
  }

  /** The work it waited for has arrived. */
  goOn(waitedFor: 'turn' | 'reply'): void {
    if (this.#waits !== waitedFor) return
    this.#hasTurn = waitedFor === 'turn'
    this.#waits = undefined
    this.socket.resume()
  }

  /** Its bytes are no request: the replies to those before them go out first. */
  fail(refuse: () => void): void {
    if (this.#refuse) return
    this.#refuse = refuse
    this.#refuseLast(refuse)
  }

  #refuseLast(refuse: () => void): void {
    if (this.#open <= Number(!this.#isBetween) || !this.socket.writable) refuse()
  }

  get #isBetween(): boolean {
    return this.#request?.complete !== false
  }

  get #isOver(): boolean {
    const isLast = this.#isBetween && this.#response?.shouldKeepAlive === false
    return isLast || this.#refuse !== undefined || !this.socket.writable
  }

  #take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.#isOver;) {
      // Node.js pauses it where a body, or a reply, is not taken as fast as it comes. Until it goes
      // on it must parse nothing, and not be resumed, so the connection waits for nothing else.
      if (!this.socket.isPaused()) this.#waits ??= this.#whatFor()
      if (this.#waits) this.socket.pause()
      const rest = at === 0 ? bytes : bytes.subarray(at)
      if (this.socket.isPaused()) return this.socket.unshift(rest)
      const end = this.#partEnd(rest)
      this.#parse(end === rest.length ? rest : rest.subarray(0, end))
      this.#left -= end
      at += end
    }
  }

  #whatFor(): 'turn' | 'reply' | undefined {
    if (this.#isBetween && this.#open >= mostOpen) return 'reply'
    if (this.#hasTurn || (!this.#isBetween && this.#left > 0)) this.#hasTurn = false
    else if (!this.#intake.mayRead(this)) return 'turn'
    return undefined
  }

  /** Where the next part ends, in which one request begins at most. */
  #partEnd(rest: Buffer): number {
    if (!this.#isBetween && this.#left > 0) return Math.min(rest.length, this.#left)
    this.#headEnd = blankLineEnd(rest) ?? rest.length
    const isAlone = this.#open === 0 && !rest.includes(lineFeed, this.#headEnd)
    return isAlone ? rest.length : this.#headEnd
  }
}

const [lineFeed, carriageReturn] = [10, 13]

/** A head, and a body in chunks, end with an empty line, which two pieces may share. */
function blankLineEnd(bytes: Buffer): number | undefined {
  if (bytes[0] === lineFeed) return 1
  if (bytes[0] === carriageReturn && bytes[1] === lineFeed) return 2
  const long = bytes.indexOf('\n\r\n')
  const short = (long < 0 ? bytes : bytes.subarray(0, long)).indexOf('\n\n')
  if (short >= 0) return short + 2
  return long < 0 ? undefined : long + 3
}
