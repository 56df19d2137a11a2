import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Cancel, Clock } from '../../base/clock.ts'
import { reasonOf, type Log } from '../../base/log.ts'
import { below, type Random } from '../../base/random.ts'
import { replyTypeOf, type IsoMessage } from '../../spec/iso8583.ts'
import type { Stray } from '../connector.ts'
import { afterReading, type LinkLimits } from './link-limits.ts'
import type { Framing } from './mac.ts'
import { failureOf, openTransport, type LineAddress } from './transport.ts'
import { describe, frameReader, localTime, transmissionTime } from './codec.ts'

/**
 * One persistent connection to an acquirer, many requests in flight. It moves messages and knows
 * nothing of money.
 *
 *   connecting  a connection is being opened. Then *signing on*; when refused or too slow *down*
 *   signing on  1804/801 is sent. An 1814 with 800 in time makes it *up*, anything else *down*
 *   up          requests are written, silence is broken by echoes. A lost connection, a bad frame
 *               or an echo without an answer makes it *down*
 *   down        no connection; waits, longer each time, then *connecting*
 *   closed      `close` was called: nothing is accepted any more
 *
 * A request waits (`held`) until it is written, then (`open`) for its reply. It is written once at
 * the most, and from then on every failure is `lost`: its bytes may have left.
 */
export type Mode = 'connecting' | 'signing on' | 'up' | 'down' | 'closed'

/** `waitedMs`: since the request was written. */
export type LinkAnswer =
  | { is: 'reply'; message: IsoMessage }
  | { is: 'lost'; why: string; waitedMs: number }
  | { is: 'not sent'; why: string; isUnpackable?: true }

export interface LinkOptions extends LineAddress {
  clock: Clock
  random: Random
  log: Log
  limits: LinkLimits
  /** Writes and reads messages, with a MAC or without. */
  framing: Framing
  /** Opens another transport than the usual one; it emits `connect` once it carries bytes. */
  connect?: (host: string, port: number) => Duplex
  /** Called with a readable message that answers no request, and why where its names would. */
  onStray: (message: IsoMessage, kind: Stray['kind'], why?: string) => void
}

/** Why a reply with the names of a request is not its answer; undefined if it is. */
export type MismatchOf = (reply: IsoMessage) => string | undefined

interface Ask {
  key: string
  frame: Buffer
  /** Monotonic times: the last moment to be written, and to be answered. */
  sendBy: number
  deadline: number
  sentAt: number
  mayStillSend: () => boolean
  mismatchOf: MismatchOf
  /** The last unexpected answer with STAN and time of this request. */
  stray?: string
  cancelTimer: Cancel
  settle: (answer: LinkAnswer) => void
}

/** A reply belongs to the request with the same STAN, time and terminal. */
export const keyOf = ({ fields }: IsoMessage): string => `${fields[11]} ${fields[12]} ${fields[41] ?? ''}`

export class Link {
  readonly #options: LinkOptions
  #mode: Mode = 'down'
  #modeTimer: Cancel = () => {}
  #socket: Duplex | undefined
  #held = new Map<string, Ask>()
  #open = new Map<string, Ask>()
  #network: { key: string; type: string; answered: (actionCode: string | undefined) => void } | undefined
  #networkStan = 0
  #failures = 0
  #heardAt = 0
  #flushing = false
  #closing: Promise<void> | undefined

  /** Begins to connect immediately. */
  constructor(options: LinkOptions) {
    this.#options = options
    this.#enter('connecting', 'started')
  }

  state(): { mode: Mode; held: number; open: number } {
    return { mode: this.#mode, held: this.#held.size, open: this.#open.size }
  }

  /**
   * Sends a request, at most once, and resolves with the result, at the latest at `deadline`
   * (monotonic). `not sent` is certain; `lost` means that it may have arrived. `mayStillSend` is
   * called right before the write. Fields 11, 12 and 41 identify the message, spelled as on the
   * wire. A reply with these names and a reason of `mismatchOf` is a stray: the request waits on.
   */
  ask(message: IsoMessage, deadline: number, mayStillSend: () => boolean, mismatchOf: MismatchOf): Promise<LinkAnswer> {
    const { clock, limits } = this.#options
    const key = keyOf(message)
    const now = clock.monotonic()
    const sendBy = Math.min(deadline, now + limits.sendWithinMs)
    if (this.#mode === 'closed') return notSent('the line is closed')
    if (now >= deadline) return notSent('the deadline has passed')
    if (this.#held.size + this.#open.size >= limits.maxOpen) return notSent(`${limits.maxOpen} requests are open`)
    if (this.#held.has(key) || this.#open.has(key)) return notSent('a request of this name is open')
    let frame: Buffer
    try {
      frame = this.#options.framing.pack(message)
    } catch (thrown) {
      return Promise.resolve({ is: 'not sent', why: `the message cannot be packed: ${reasonOf(thrown)}`, isUnpackable: true })
    }
    return new Promise((settle) => {
      const ask: Ask = { key, frame, sendBy, deadline, sentAt: 0, mayStillSend, mismatchOf, settle, cancelTimer: () => {} }
      ask.cancelTimer = clock.after(sendBy - now, () => this.#finish(ask, tooLate))
      this.#held.set(key, ask)
      this.#flushSoon()
    })
  }

  /** Signs off if possible, and ends. Open requests become `lost`, held ones `not sent`. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      const wasUp = this.#mode === 'up'
      const socket = this.#socket
      this.#enter('closed', 'closing')
      if (!socket || socket.destroyed) return resolve()
      const cancel = this.#options.clock.after(this.#options.limits.answerNetworkMs, () => socket.destroy())
      socket.once('close', () => {
        cancel()
        resolve()
      })
      if (!wasUp) return void socket.destroy()
      this.#sendNetwork('802', () => {})
      socket.end()
    })
    return this.#closing
  }

  /**
   * The only method that changes the mode: ends what belongs to the old one, begins what the new
   * one needs.
   */
  #enter(mode: Mode, why: string): void {
    const { clock, log, limits, random } = this.#options
    this.#modeTimer()
    this.#modeTimer = () => {}
    this.#network = undefined
    this.#mode = mode
    log.debug({ mode, why }, 'acquirer line')
    switch (mode) {
      case 'connecting':
        this.#modeTimer = clock.after(limits.answerNetworkMs, () => this.#drop('no connection in time'))
        this.#openSocket()
        break
      case 'signing on':
        this.#modeTimer = clock.after(limits.answerNetworkMs, () => this.#drop('no answer to the sign-on'))
        this.#sendNetwork('801', (code) =>
          code === '800' ? this.#enter('up', 'signed on') : this.#drop(`sign-on refused with ${code}`),
        )
        break
      case 'up':
        this.#failures = 0
        log.info({ host: this.#options.host, port: this.#options.port }, 'acquirer line is up')
        this.#watchSilence()
        this.#flushSoon()
        break
      case 'down': {
        const longest = Math.min(limits.backoffLongestMs, limits.backoffFirstMs * 2 ** Math.min(this.#failures, 30))
        const waitMs = Math.ceil(longest / 2) + below(random, Math.floor(longest / 2) + 1)
        this.#failures++
        log.warn({ why, lost: this.#open.size, waitMs }, 'acquirer line is down')
        this.#modeTimer = clock.after(waitMs, () => this.#enter('connecting', 'trying again'))
        this.#loseOpen(why)
        break
      }
      case 'closed':
        this.#loseOpen('the line was closed')
        for (const ask of this.#held.values()) this.#finish(ask, { is: 'not sent', why: 'the line was closed' })
    }
  }

  #openSocket(): void {
    const { connect, host, port } = this.#options
    const socket = connect ? connect(host, port) : openTransport(this.#options)
    const carries = socket instanceof TLSSocket ? 'secureConnect' : 'connect'
    const isMine = () => this.#socket === socket && this.#mode !== 'closed'
    const read = frameReader()
    this.#socket = socket
    socket.once(carries, () => isMine() && !socket.destroyed && this.#enter('signing on', 'connected'))
    socket.on('drain', () => isMine() && this.#flushSoon())
    socket.on('data', (chunk: Buffer) => {
      const { bodies, refused } = read(chunk)
      for (const body of bodies) if (isMine()) this.#receive(body)
      if (refused !== undefined && isMine()) this.#drop(refused)
    })
    socket.on('end', () => isMine() && this.#drop('the acquirer ended the connection'))
    socket.on('error', (thrown) => isMine() && this.#drop(failureOf(thrown) || 'no connection'))
    socket.on('close', () => isMine() && this.#drop('the connection closed'))
  }

  #drop(why: string): void {
    const socket = this.#socket
    this.#socket = undefined
    this.#enter('down', why)
    socket?.destroy()
  }

  #receive(body: Buffer): void {
    const { clock, framing } = this.#options
    if (body.length === 0) {
      if (!framing.demandsMac) this.#heardAt = clock.monotonic()
      return
    }
    const unpacked = framing.unpack(body)
    if (unpacked.is === 'refused') return this.#drop(`unreadable message: ${unpacked.why}`)
    const { message, fault } = unpacked
    const key = keyOf(message)
    const ask = this.#open.get(key)
    if (fault !== undefined) {
      // It shows no life, and what it would have answered continues to wait.
      if (ask) ask.stray = `one ${fault}`
      this.#options.onStray(message, 'unauthentic', fault)
      if (this.#mode === 'signing on') this.#drop(`an answer ${fault} to the sign-on`)
      return
    }
    this.#heardAt = clock.monotonic()
    if (message.type.startsWith('180') && message.fields[24] === '831') return this.#answerEcho(message)
    const network = this.#network
    if (network?.key === key && network.type === message.type) {
      this.#network = undefined
      return network.answered(message.fields[39])
    }
    if (!ask) return this.#options.onStray(message, 'unexpected')
    const mismatch = ask.mismatchOf(message)
    if (mismatch === undefined) return this.#finish(ask, { is: 'reply', message })
    ask.stray = `that to another request: ${mismatch}`
    this.#options.onStray(message, 'mismatched', mismatch)
  }

  /** All requests of one tick leave in one write. */
  #flushSoon(): void {
    if (this.#flushing || this.#mode !== 'up') return
    this.#flushing = true
    process.nextTick(() => {
      this.#flushing = false
      const socket = this.#socket
      if (this.#mode !== 'up' || !socket) return
      socket.cork()
      for (const ask of this.#held.values()) {
        // Messages that the acquirer does not read yet stay here, where they can still be
        // withdrawn.
        if (this.#mode !== 'up' || socket.writableNeedDrain) break
        this.#write(ask, socket)
      }
      socket.uncork()
    })
  }

  #write(ask: Ask, socket: Duplex): void {
    const { clock, limits } = this.#options
    const now = clock.monotonic()
    if (now >= ask.sendBy) return this.#finish(ask, tooLate)
    if (!ask.mayStillSend()) return this.#finish(ask, { is: 'not sent', why: 'it may no longer be sent' })
    ask.cancelTimer()
    ask.sentAt = now
    const waitMs = Math.min(ask.deadline - now, limits.answerMs)
    ask.cancelTimer = afterReading(clock, waitMs, () => this.#lose(ask, noAnswer(ask)))
    this.#held.delete(ask.key)
    this.#open.set(ask.key, ask)
    socket.write(ask.frame)
  }

  #loseOpen(why: string): void {
    for (const ask of this.#open.values()) this.#lose(ask, why)
  }

  #lose(ask: Ask, why: string): void {
    this.#finish(ask, { is: 'lost', why, waitedMs: this.#options.clock.monotonic() - ask.sentAt })
  }

  #finish(ask: Ask, answer: LinkAnswer): void {
    ask.cancelTimer()
    this.#held.delete(ask.key)
    this.#open.delete(ask.key)
    ask.settle(answer)
  }

  /** A network message has no terminal, so its names never match those of a payment. */
  #sendNetwork(code: '801' | '802' | '831', answered: (actionCode: string | undefined) => void): void {
    const at = this.#options.clock.now()
    this.#networkStan = (this.#networkStan % 999_999) + 1
    const stan = String(this.#networkStan).padStart(6, '0')
    const message: IsoMessage = { type: '1804', fields: { 7: transmissionTime(at), 11: stan, 12: localTime(at), 24: code } }
    this.#network = { key: keyOf(message), type: replyTypeOf(message.type), answered }
    this.#options.log.debug({ message: describe(message) }, 'network message sent')
    this.#socket?.write(this.#options.framing.pack(message))
  }

  /** The acquirer looks whether this side is alive. A peer that reads no answers gets none. */
  #answerEcho({ type, fields }: IsoMessage): void {
    if (this.#socket?.writableNeedDrain !== false) return
    const { 7: sent, 11: stan, 12: at, 24: code, 32: acquirer, 41: terminal, 42: acceptor } = fields
    const repeated = { 7: sent, 11: stan, 12: at, 24: code, 32: acquirer, 41: terminal, 42: acceptor }
    this.#socket.write(this.#options.framing.pack({ type: replyTypeOf(type), fields: { ...repeated, 39: '800' } }))
  }

  /** Checks again when the line may have been silent for `echoMs`; messages reset no timer. */
  #watchSilence(): void {
    const { clock, limits } = this.#options
    const silentMs = clock.monotonic() - this.#heardAt
    if (silentMs < limits.echoMs) {
      this.#modeTimer = clock.after(limits.echoMs - silentMs, () => this.#watchSilence())
      return
    }
    const sentAt = clock.monotonic()
    // Any message shows that the other side is alive: only silence after an echo ends the
    // connection.
    this.#modeTimer = afterReading(clock, limits.answerNetworkMs, () => {
      if (this.#heardAt < sentAt) this.#drop('no answer to an echo')
      else this.#watchSilence()
    })
    this.#sendNetwork('831', () => {})
  }
}

const noAnswer = ({ stray }: Ask): string => (stray === undefined ? 'no answer in time' : `no answer in time, but ${stray}`)
const tooLate: LinkAnswer = { is: 'not sent', why: 'it could not be sent in time' }
const notSent = (why: string): Promise<LinkAnswer> => Promise.resolve({ is: 'not sent', why })
