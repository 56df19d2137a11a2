import type { Log } from '../src/base/log.ts'
import type { KeyRing } from '../src/storage/store-keys.ts'
import type { Slot } from './asking.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import { configuration } from './configuration.ts'
import { startGateway } from './gateway.ts'
import type { GatewayParts, Wraps } from './gateway-parts.ts'
import type { Peers } from './peers.ts'
import type { DatabaseWeather } from './store-calls.ts'
import { openStoreLine, type StoreLine } from './store-line.ts'
import type { StoreModel } from './store-model.ts'
import type { Trace } from './time-line.ts'

/** The place of a gateway process. When one has died, the next one starts in its place. */
export interface Process extends Slot {
  stores: StoreLine | undefined
  /** The thread of its heart, which goes on while the main loop is busy. */
  thread: Actor
}

export interface ProcessParts {
  events: Events
  chance: Chance
  model: StoreModel
  database: DatabaseWeather
  peers: Peers
  keys: KeyRing
  settings: Pick<GatewayParts, 'maxHeld' | 'sweepMs'>
  wrap: Wraps
  log: Log
  trace: Trace
  /** A statement reached the database, or was refused because it is away. */
  onReached: (how: 'answered' | 'refused') => void
}

const restartMs = [200, 8_000] as const

const actorOf = (name: string): Actor => ({ name, alive: true, pausedUntil: 0, wallOffsetMs: 0 })

export const newProcess = (name: string): Process => ({
  name,
  actor: actorOf(name),
  thread: actorOf(name),
  gateway: undefined,
  stores: undefined,
})

/** Starts, stops and kills gateway processes, and restarts a dead one after a while. */
export class Processes {
  readonly #parts: ProcessParts
  /** No process starts before this time. */
  #sleepUntil = 0

  constructor(parts: ProcessParts) {
    this.#parts = parts
  }

  start(slot: Process): void {
    const { trace } = this.#parts
    const { name } = slot
    const actor = actorOf(name)
    startGateway(this.#stepIn(slot, actor)).then(
      (gateway) => {
        slot.gateway = gateway
        actor.processId = gateway.processId
        trace(() => `process  ${name} serves as ${gateway.processId}`)
        void gateway.lost.then(() => this.die(slot, 'lost its lease'))
      },
      () => this.die(slot, 'could not start'),
    )
  }

  /** Puts a new process in this place, and returns its parts. */
  #stepIn(slot: Process, actor: Actor): GatewayParts {
    const { events, model, database, peers, keys, settings, wrap, log, onReached } = this.#parts
    const { name } = slot
    const chance = this.#parts.chance.fork()
    const storesOf = (of: Actor) =>
      openStoreLine({ model, events, actor: of, chance: chance.fork(), weather: database, reached: onReached })
    const stores = storesOf(actor)
    const thread = actorOf(name)
    const beats = storesOf(thread).heartbeat
    Object.assign(slot, { actor, thread, stores, gateway: undefined })
    return {
      name,
      clock: events.clockOf(actor),
      random: chance.fork().random(),
      log: log.child({ process: name }),
      keys,
      stores,
      thread: { clock: events.clockOf(thread), store: beats, endHung: () => this.die(slot, 'its loop hangs') },
      registry: configuration,
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
    slot.stores?.cut()
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
