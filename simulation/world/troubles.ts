import type { Chance } from './chance.ts'
import { farthestJumpMs, type Events } from './clock.ts'
import { receivers, servers } from '../model/configuration.ts'
import { calmIssuers, type IssuerWeather } from '../parties/issuer-weather.ts'
import { calmServers, type ServerWeather } from '../parties/merchant-servers.ts'
import type { Mood } from '../parties/merchants.ts'
import type { LineWeather, Network } from './network.ts'
import type { DatabaseWeather } from '../model/store-calls.ts'

/** State of everything around the gateways. */
export interface Weather {
  database: DatabaseWeather
  /** The weather of each cell that has a database of its own; empty if there is one cell. */
  cells: DatabaseWeather[]
  line: LineWeather
  issuers: IssuerWeather
  servers: ServerWeather
  shop: { lostOdds: number }
}

/** The troubles of a world. */
export interface Troubled extends Weather {
  events: Events
  network: Network
  moods: Map<string, Mood>
  slots: number
  crash(slot: number): void
  /** All processes crash together, alone or with their machine, and this says which. */
  crashAll(): 'crash of all' | 'reboot of the machine'
  /** A stop as by SIGTERM, and a new start. */
  restart(slot: number): void
  /** The whole process stands still. */
  pause(slot: number, ms: number): void
  /** Its main loop is blocked. */
  busy(slot: number, ms: number): void
  jump(slot: number, ms: number): void
  trace(what: () => string): void
}

export const calmDatabase = (): DatabaseWeather => ({ down: false, latencyMs: 3, lossOdds: 0, conflictOdds: 0 })
const calmLine = (): LineWeather => ({
  acquirer: 'well',
  latencyMs: 20,
  lostOdds: 0,
  lateOdds: 0,
  doubledOdds: 0,
  splitOdds: 0.02,
  cutOdds: 0,
})
export const calmWeather = (cells: number): Weather => ({
  database: calmDatabase(),
  cells: cells === 1 ? [] : Array.from({ length: cells }, calmDatabase),
  line: calmLine(),
  issuers: calmIssuers(),
  servers: calmServers(),
  shop: { lostOdds: 0 },
})

/** The way to the database of a cell: both its own weather and that of all. */
export function databaseOf({ database, cells }: Weather, cellNo: number): DatabaseWeather {
  const own = cells[cellNo]
  if (!own) return database
  return {
    get down() {
      return database.down || own.down
    },
    get latencyMs() {
      return Math.max(database.latencyMs, own.latencyMs)
    },
    get lossOdds() {
      return Math.max(database.lossOdds, own.lossOdds)
    },
    get conflictOdds() {
      return Math.max(database.conflictOdds, own.conflictOdds)
    },
  }
}

/** Begins a trouble, and returns its name and how it ends. */
type Trouble = (world: Troubled, chance: Chance) => { is: string; endsAfterMs?: number; end?: () => void }

/** A trouble that changes a setting for a while. */
const during =
  <T extends object>(
    what: string,
    of: (world: Troubled) => T,
    calm: () => T,
    change: (chance: Chance) => Partial<T>,
    ms: [number, number],
  ): Trouble =>
  (world, chance) => {
    const changed = change(chance)
    Object.assign(of(world), changed)
    const was = calm()
    const back = Object.fromEntries(Object.keys(changed).map((name) => [name, was[name as keyof T]]))
    return {
      is: `${what} ${JSON.stringify(changed)}`,
      endsAfterMs: chance.between(...ms),
      end: () => Object.assign(of(world), back),
    }
  }

const database = (change: (chance: Chance) => Partial<DatabaseWeather>, ms: [number, number]) =>
  during('database', (w) => w.database, calmDatabase, change, ms)
const line = (change: (chance: Chance) => Partial<LineWeather>, ms: [number, number]) =>
  during('line', (w) => w.line, calmLine, change, ms)

const issuers = (change: (chance: Chance) => Partial<IssuerWeather>) =>
  during('issuers', (w) => w.issuers, calmIssuers, change, [5_000, 45_000])

const asked = (change: (chance: Chance) => Partial<ServerWeather>) =>
  during('merchant servers', (w) => w.servers, calmServers, change, [5_000, 45_000])

/** One of these hosts does not do well for a while. */
const mood =
  (hosts: readonly string[]): Trouble =>
  ({ moods }, chance) => {
    const host = chance.pick(hosts)
    const now = chance.pick(['failing', 'hanging', 'late', 'away'] as const)
    moods.set(host, now)
    return { is: `${host} is ${now}`, endsAfterMs: chance.between(2_000, 90_000), end: () => moods.delete(host) }
  }

/** The acquirer applies this fault to some messages for a while. */
const script =
  (name: string, effect: (chance: Chance) => object, message: 'authorisation' | 'reversal' | 'any'): Trouble =>
  ({ network }, chance) => {
    const fault = network.faults.add({
      match: { message, probability: chance.between(0.1, 0.9), seed: chance.whole(0, 1e9) },
      do: effect(chance),
    })
    if (typeof fault === 'string') throw new Error(fault)
    return { is: `acquirer: ${name}`, endsAfterMs: chance.between(5_000, 60_000), end: () => network.faults.remove(fault.id) }
  }

/** Longer than any world runs. */
const foreverMs = 1e9

// oxfmt-ignore
const troubles: readonly Trouble[] = [
  (w, c) => { const slot = c.whole(0, w.slots - 1); w.crash(slot); return { is: `crash of ${slot}` } },
  (w, c) => { const slot = c.whole(0, w.slots - 1); w.crash(slot); return { is: `crash of ${slot}` } },
  (w) => ({ is: w.crashAll() }),
  (w, c) => { const slot = c.whole(0, w.slots - 1); w.restart(slot); return { is: `restart of ${slot}` } },
  (w, c) => { const ms = c.between(100, 15_000); const slot = c.whole(0, w.slots - 1); w.pause(slot, ms); return { is: `pause of ${slot} for ${Math.round(ms)} ms` } },
  (w, c) => { const ms = c.between(3_500, 9_000); const slot = c.whole(0, w.slots - 1); w.pause(slot, ms); return { is: `pause of ${slot} for ${Math.round(ms)} ms` } },
  (w, c) => { const ms = c.between(18_000, 32_000); const slot = c.whole(0, w.slots - 1); w.pause(slot, ms); return { is: `pause of ${slot} for ${Math.round(ms)} ms` } },
  (w, c) => { const ms = c.between(3_500, 14_000); const slot = c.whole(0, w.slots - 1); w.busy(slot, ms); return { is: `main loop of ${slot} is busy for ${Math.round(ms)} ms` } },
  (w, c) => { const slot = c.whole(0, w.slots - 1); w.busy(slot, foreverMs); return { is: `main loop of ${slot} hangs` } },
  (w, c) => { const ms = c.whole(-farthestJumpMs, farthestJumpMs); const slot = c.whole(0, w.slots - 1); w.jump(slot, ms); return { is: `wall clock of ${slot} jumps to ${ms} ms off`, endsAfterMs: c.between(1_000, 40_000), end: () => w.jump(slot, 0) } },
  database(() => ({ down: true }), [200, 9_000]),
  database((c) => ({ lossOdds: c.between(0.005, 0.15) }), [2_000, 30_000]),
  database((c) => ({ conflictOdds: c.between(0.05, 0.5) }), [2_000, 30_000]),
  database((c) => ({ latencyMs: c.between(50, 2_500) }), [2_000, 20_000]),
  line((c) => ({ lostOdds: c.between(0.05, 0.9) }), [5_000, 60_000]),
  line((c) => ({ lateOdds: c.between(0.1, 0.9) }), [5_000, 60_000]),
  line((c) => ({ doubledOdds: c.between(0.1, 0.9) }), [5_000, 60_000]),
  line((c) => ({ splitOdds: 0.9, cutOdds: c.between(0.01, 0.2) }), [5_000, 40_000]),
  line((c) => ({ latencyMs: c.between(500, 8_000) }), [5_000, 40_000]),
  line(() => ({ acquirer: 'deaf' }), [2_000, 40_000]),
  (w, c) => { w.network.cutAll(); const calm = c.happens(0.5); if (!calm) w.line.acquirer = 'away'; return { is: 'lines cut', endsAfterMs: c.between(1_000, 60_000), end: () => (w.line.acquirer = 'well') } },
  script('declines', (c) => ({ decline: c.pick(['100', '116', '909']) }), 'any'),
  script('delays', (c) => ({ delay_ms: c.whole(100, 25_000) }), 'any'),
  script('is silent', () => ({ no_answer: true }), 'any'),
  script('is silent to sales', () => ({ no_answer: true }), 'authorisation'),
  script('doubles', () => ({ duplicate: true }), 'any'),
  script('answers after the reversal', () => ({ answer_after_reversal: true }), 'authorisation'),
  script('answers under a wrong name', () => ({ wrong_stan: true }), 'any'),
  script('answers garbage', () => ({ garbage: true }), 'any'),
  script('answers half', () => ({ half_frame: true }), 'any'),
  script('hangs up', () => ({ close: true }), 'any'),
  script('wants authentication', () => ({ decline: '165' }), 'authorisation'),
  issuers((c) => ({ lostOdds: c.between(0.1, 0.6) })),
  issuers((c) => ({ lateOdds: c.between(0.2, 0.9) })),
  issuers((c) => ({ doubledOdds: c.between(0.2, 0.9), doubledResultOdds: c.between(0.2, 0.9) })),
  issuers((c) => ({ spoiltOdds: c.between(0.1, 0.6) })),
  issuers((c) => ({ lateResultOdds: c.between(0.2, 0.9) })),
  issuers(() => ({ directories: 'away' })),
  mood(receivers), mood(receivers), mood(receivers), mood(servers), mood(servers),
  asked((c) => ({ refusedOdds: c.between(0.2, 0.9) })),
  asked((c) => ({ falseOdds: c.between(0.2, 0.9) })),
  asked((c) => ({ failedOdds: c.between(0.2, 0.9), slowOdds: c.between(0.2, 0.9) })),
  (w, c) => { w.shop.lostOdds = c.between(0.05, 0.5); return { is: 'requests of shops are lost', endsAfterMs: c.between(2_000, 40_000), end: () => (w.shop.lostOdds = 0) } },
]

/** The same for the database of one cell. */
const ofOneCell = (change: (chance: Chance) => Partial<DatabaseWeather>, ms: [number, number]): Trouble => {
  return (world, chance) => {
    const cellNo = chance.whole(0, world.cells.length - 1)
    const { is, ...ends } = during('database', () => world.cells[cellNo]!, calmDatabase, change, ms)(world, chance)
    return { is: `${is} of cell ${cellNo}`, ...ends }
  }
}

const troublesOfCells: readonly Trouble[] = [
  ...troubles,
  ofOneCell(() => ({ down: true }), [200, 20_000]),
  ofOneCell(() => ({ down: true }), [200, 20_000]),
  ofOneCell((c) => ({ latencyMs: c.between(50, 5_000) }), [2_000, 20_000]),
  ofOneCell((c) => ({ lossOdds: c.between(0.1, 0.6) }), [2_000, 20_000]),
]

/** Begins troubles that follow and overlap each other; at `until` all of them end. */
export function beginTroubles(world: Troubled, chance: Chance, until: number): void {
  const { events, trace } = world
  const everyMs = chance.between(4_000, 20_000)
  const next = () => {
    if (events.now >= until) return
    const { is, endsAfterMs, end } = chance.pick(world.cells.length > 0 ? troublesOfCells : troubles)(world, chance)
    trace(() => `trouble  ${is}`)
    if (end && endsAfterMs !== undefined)
      events.after(Math.min(endsAfterMs, until - events.now), undefined, () => {
        trace(() => `trouble  over: ${is}`)
        end()
      })
    events.after(chance.between(0, 2 * everyMs), undefined, next)
  }
  events.after(chance.between(0, everyMs), undefined, next)
}
