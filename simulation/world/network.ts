import { Duplex } from 'node:stream'
import { Desk, type Line } from '../../simulators/acquirer/desk.ts'
import { FaultScripts } from '../../simulators/acquirer/faults.ts'
import { Ledger, type Names } from '../../simulators/acquirer/ledger.ts'
import { decode, FrameReader, Unreadable, type Message } from '../../simulators/acquirer/wire.ts'
import type { Log } from '../../src/base/log.ts'
import { acknowledgedInstead, readable, withOddities } from '../parties/acquirer-oddities.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'

/** State of the acquirer and of the lines to it; the troubles of a world change it. */
export interface LineWeather {
  /** `deaf`: connections open and carry nothing back; `away`: connections are refused. */
  acquirer: 'well' | 'deaf' | 'away'
  latencyMs: number
  /** How likely each message to the acquirer is lost. */
  lostOdds: number
  lateOdds: number
  doubledOdds: number
  /**
   * How likely a write is split in two with a delay between; below: how likely the connection
   * breaks at the split.
   */
  splitOdds: number
  cutOdds: number
}

/** The simulated acquirer with its books, and the lines to it, all in memory. */
export interface Network {
  desk: Desk
  faults: FaultScripts
  ledger: Ledger
  /** A line of a gateway process, for `connect` of its connector. */
  connect(actor: Actor): Duplex
  /** Cuts every connection. */
  cutAll(): void
  /** Called for each message as it leaves a gateway. */
  onSent: (actor: Actor, message: Message, connection: number) => void
  /** Called for each connection that closes. */
  onClosed: (connection: number) => void
  /** Called for each message that reaches a gateway whole. */
  onReached: (message: Message) => void
  /** Called for each order of which the acquirer has booked or taken back something. */
  onBooked: (orderId: string) => void
}

export interface NetworkParts {
  events: Events
  chance: Chance
  weather: LineWeather
  log: Log
  /** A bug of the acquirer. */
  wrap?: ((ledger: Ledger) => Ledger) | undefined
}

export function openNetwork({ events, chance, weather, log, wrap }: NetworkParts): Network {
  const booked = new Ledger((line) => {
    const orderId = orderOfLine(line, booked)
    if (orderId !== undefined) network.onBooked(orderId)
  })
  const ledger = wrap?.(booked) ?? booked
  const faults = new FaultScripts()
  const desk = new Desk({
    ledger,
    faults,
    whenWritten: (fn) => fn(),
    clock: events.clockOf(undefined),
    log,
    slowReversalMs: 30_000,
  })
  const wires = new Set<Wire>()
  let opened = 0
  const network: Network = {
    desk,
    faults,
    ledger,
    connect(actor) {
      const connection = ++opened
      const wire = new Wire(connection, actor, { events, chance, weather, log }, desk, {
        sent: (message) => network.onSent(actor, message, connection),
        reached: (message) => network.onReached(message),
      })
      wires.add(wire)
      wire.once('close', () => {
        wires.delete(wire)
        network.onClosed(connection)
      })
      return wire
    },
    cutAll() {
      for (const wire of wires) wire.cut()
    },
    onSent: () => {},
    onClosed: () => {},
    onReached: () => {},
    onBooked: () => {},
  }
  return network
}

/** The order whose money a line of the ledger changes. */
function orderOfLine(text: string, ledger: Ledger): string | undefined {
  const line = JSON.parse(text) as { booked?: { orderId: string }; reversed?: { of: Names } }
  return line.booked?.orderId ?? (line.reversed && ledger.find(line.reversed.of)?.orderId)
}

/** Listeners of a connection, for messages that leave the gateway and that reach it. */
interface Taps {
  sent: (message: Message) => void
  reached: (message: Message) => void
}

/**
 * One connection. The gateway's end is a stream, the acquirer's end a line of its desk. Bytes
 * arrive in order, after a delay.
 */
class Wire extends Duplex {
  readonly #actor: Actor
  readonly #parts: NetworkParts
  readonly #desk: Desk
  readonly #line: Line
  readonly #taps: Taps
  readonly #tap = new FrameReader()
  readonly #reader = new FrameReader()
  #isOpen = false
  /** Bytes were lost on this connection. Nothing after them arrives, as a stream has no holes. */
  #swallows = false
  #deaf = false
  #thereAt = 0
  #backAt = 0

  constructor(id: number, actor: Actor, parts: NetworkParts, desk: Desk, taps: Taps) {
    super()
    this.#actor = actor
    this.#parts = parts
    this.#desk = desk
    this.#taps = taps
    const isOpen = () => this.#isOpen && actor.alive
    this.#line = {
      id,
      get isOpen() {
        return isOpen()
      },
      signedOn: false,
      send: (frame) => this.#answer(frame),
      hangUp: (last) => {
        if (last) this.#back(() => this.push(last))
        this.#isOpen = false
        this.#back(() => this.destroy())
      },
    }
    parts.events.after(this.#way(), actor, () => {
      if (parts.weather.acquirer === 'away') return this.destroy(new Error('connect ECONNREFUSED'))
      this.#isOpen = true
      this.emit('connect')
    })
  }

  /** The connection breaks, for both sides. */
  cut(): void {
    this.#isOpen = false
    this.#parts.events.after(this.#way(), this.#actor, () => this.destroy(new Error('read ECONNRESET')))
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const { chance, weather } = this.#parts
    const messages = this.#tap.push(chunk).map((body) => decode(body))
    // Answers to the echoes of the acquirer, which only had to come.
    if (messages[0]?.type === '1814') return done()
    for (const message of messages) this.#taps.sent(message)
    if (chance.happens(weather.cutOdds)) {
      this.#there(chunk.subarray(0, Math.floor(chance.between(0, chunk.length))))
      this.#swallows = true
      this.cut()
    } else if (chance.happens(weather.splitOdds)) {
      const at = Math.floor(chance.between(1, chunk.length))
      this.#there(chunk.subarray(0, at))
      this.#thereAt += chance.between(0, 400)
      this.#there(chunk.subarray(at))
    } else this.#there(chunk)
    done()
  }

  override _final(done: () => void): void {
    this.#isOpen = false
    done()
    this.destroy()
  }

  override _destroy(_error: Error | null, done: (error?: Error | null) => void): void {
    this.#isOpen = false
    done(_error)
  }

  /** An answer goes back. The listeners get it without its oddities, unless it is unreadable. */
  #answer(frame: Buffer): void {
    const { bytes, lateMs } = withOddities(frame)
    const comes = () => {
      const message = readable(frame)
      if (message) this.#taps.reached(message)
      this.push(bytes)
    }
    if (lateMs === 0) this.#back(comes)
    else this.#parts.events.after(lateMs, this.#actor, () => this.destroyed || comes())
  }

  #way(): number {
    return this.#parts.chance.between(0.2, this.#parts.weather.latencyMs)
  }

  #there(bytes: Buffer): void {
    const { events, weather } = this.#parts
    if (this.#swallows) return
    this.#thereAt = Math.max(this.#thereAt, events.now + this.#way())
    events.after(this.#thereAt - events.now, undefined, () => {
      if (weather.acquirer === 'deaf') this.#deaf = true
      if (this.#deaf) return
      try {
        for (const body of this.#reader.push(bytes)) this.#arrived(decode(body))
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error
        this.cut()
      }
    })
  }

  /**
   * A message reached the acquirer's network. It may still be lost, arrive late and out of order,
   * or arrive twice.
   */
  #arrived(message: Message): void {
    const { events, chance, weather } = this.#parts
    const receive = () => this.#desk.receive(this.#line, message)
    if (message.type === '1804') return receive()
    const another = acknowledgedInstead(message)
    if (another) return this.#back(() => this.push(another))
    if (chance.happens(weather.lostOdds)) return
    if (chance.happens(weather.doubledOdds)) events.after(chance.between(0, 20_000), undefined, receive)
    if (chance.happens(weather.lateOdds)) events.after(chance.between(100, 20_000), undefined, receive)
    else receive()
  }

  #back(fn: () => void): void {
    const { events } = this.#parts
    this.#backAt = Math.max(this.#backAt, events.now + this.#way())
    events.after(this.#backAt - events.now, this.#actor, () => this.destroyed || fn())
  }
}
