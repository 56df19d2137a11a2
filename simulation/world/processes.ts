import type { Log } from '../../src/base/log.ts'
import type { KeyRing } from '../../src/keys/ring.ts'
import type { Slot } from './asking.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import { startGateway } from './gateway.ts'
import type { CellParts, ProcessParts, SharedParts, Wraps } from './gateway-parts.ts'
import type { Installation } from './installation.ts'
import type { Peers } from './peers.ts'
import { ownsStep } from '../model/merchant-rows.ts'
import { StoreCalls } from '../model/store-calls.ts'
import { openStoreLine, type StoreLine } from '../model/store-line.ts'
import type { StoreModel } from '../model/store-model.ts'
import type { Trace } from './time-line.ts'
import { databaseOf, type Weather } from './troubles.ts'

/** The place of a gateway process. When one has died, the next one starts in its place. */
export interface Process extends Slot {
  /** The cells that it serves. */
  serves: ReadonlySet<number>
  /** Its lines to the database. */
  lines: readonly { cut(): void }[]
  /** The thread of its heart, which goes on while the main loop is busy. */
  thread: Actor
}

export interface ProcessesParts {
  events: Events
  chance: Chance
  installation: Installation
  weather: Weather
  peers: Peers
  keys: KeyRing
  settings: Pick<SharedParts, 'maxHeld' | 'sweepMs'>
  wrap: Wraps
  log: Log
  trace: Trace
  /** Two gateways of a process do the same. */
  onTwice: (what: string) => void
  /** A statement reached the database, or was refused because it is away. */
  onReached: (cell: StoreModel, how: 'answered' | 'refused') => void
}

const restartMs = [200, 8_000] as const

const actorOf = (name: string): Actor => ({ name, alive: true, pausedUntil: 0, wallOffsetMs: 0, numbers: new Map() })

export const newProcess = (name: string, serves: ReadonlySet<number>): Process => ({
  name,
  serves,
  actor: actorOf(name),
  thread: actorOf(name),
  gateway: undefined,
  lines: [],
})

/** Starts, stops and kills gateway processes, and restarts a dead one after a while. */
export class Processes {
  readonly #parts: ProcessesParts
  /** No process starts before this time. */
  #sleepUntil = 0

  constructor(parts: ProcessesParts) {
    this.#parts = parts
  }

  start(slot: Process): void {
    const { trace } = this.#parts
    const { name } = slot
    const actor = actorOf(name)
    startGateway(this.#stepIn(slot, actor)).then(
      (gateway) => {
        slot.gateway = gateway
        trace(() => `process  ${name} serves as ${[...actor.numbers.values()].join(', ')}`)
        void gateway.lost.then(() => this.die(slot, 'lost its lease'))
      },
      () => this.die(slot, 'could not start'),
    )
  }

  /** Puts a new process in this place, and returns its parts. */
  #stepIn(slot: Process, actor: Actor): ProcessParts {
    const { events, installation, weather, peers, keys, settings, wrap, log, onReached, onTwice } = this.#parts
    const { name } = slot
    const chance = this.#parts.chance.fork()
    const thread = actorOf(name)
    const heartClock = events.clockOf(thread)
    const endHung = () => this.die(slot, 'its loop hangs')
    const lines: StoreLine[] = []
    const lineTo = (cellNo: number, of: Actor) => {
      const model = installation.cell(cellNo)
      const reached = (how: 'answered' | 'refused') => onReached(model, how)
      return { events, model, actor: of, chance: chance.fork(), weather: databaseOf(weather, cellNo), reached }
    }
    const cellParts = (cellNo: number): CellParts => {
      const stores = openStoreLine(lineTo(cellNo, actor))
      lines.push(stores)
      const owns: CellParts['owns'] = (...step) => ownsStep(installation.cell(cellNo), ...step)
      return {
        cellNo,
        stores,
        owns,
        thread: { clock: heartClock, store: openStoreLine(lineTo(cellNo, thread)).heartbeat, endHung },
      }
    }
    const cells = new Map([...new Set([0, ...slot.serves])].map((cellNo) => [cellNo, cellParts(cellNo)]))
    const configured = installation.readsOver(() => new StoreCalls(lineTo(0, actor)))
    Object.assign(slot, { actor, thread, lines, gateway: undefined })
    return {
      name,
      clock: events.clockOf(actor),
      random: chance.fork().random(),
      log: log.child({ process: name }),
      keys,
      serves: slot.serves,
      cells,
      onNumber: (cellNo, processId) => void actor.numbers.set(cellNo, processId),
      configured,
      onTwice,
      connect: () => peers.network.connect(actor),
      outgoing: peers.merchants.outgoing(actor),
      issuers: peers.issuers.outgoing(actor),
      legacy: { outgoing: peers.legacyIssuers.outgoing(actor), directories: peers.legacyIssuers.directories },
      ...settings,
      wrap,
    }
  }

  die(slot: Process, why: string): void {
    if (!slot.actor.alive) return
    const { events, chance, trace } = this.#parts
    trace(() => `process  ${slot.name} dies: ${why}`)
    slot.actor.alive = false
    slot.thread.alive = false
    slot.gateway = undefined
    for (const line of slot.lines) line.cut()
    const asleepMs = Math.max(this.#sleepUntil - events.now, 0)
    events.after(asleepMs + chance.between(...restartMs), undefined, () => this.start(slot))
  }

  /** Stops the process as SIGTERM does. */
  stop(slot: Process): void {
    void slot.gateway?.stop().then(
      () => this.die(slot, 'stopped'),
      () => this.die(slot, 'stopped badly'),
    )
  }

  /** Stops these processes; they start again after this time. */
  sleep(slots: readonly Process[], until: number): void {
    this.#sleepUntil = until
    for (const slot of slots) this.stop(slot)
  }

  /** No event of these actors happens for a while. */
  standStill(actors: readonly Actor[], ms: number): void {
    const until = this.#parts.events.now + Math.ceil(ms)
    for (const actor of actors) actor.pausedUntil = Math.max(actor.pausedUntil, until)
  }
}
