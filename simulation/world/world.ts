import { openAsking } from './asking.ts'
import { openCalm } from './calm.ts'
import { Chance } from './chance.ts'
import { Events } from './clock.ts'
import { configurationWith, merchantIds } from '../model/configuration.ts'
import { openCustomers, type Customers } from '../parties/customers.ts'
import { openTurningKeys, type TurningKeys } from './turning-keys.ts'
import type { Wraps } from './gateway-parts.ts'
import { Installation } from './installation.ts'
import type { Broken } from '../watch/invariant.ts'
import { watchInvariants, type Invariants } from '../watch/invariants.ts'
import { openMovers, type Movers } from './movers.ts'
import { openOperators } from './operators.ts'
import { openNonceUsers } from '../parties/nonce-users.ts'
import { openPeers, type Peers } from './peers.ts'
import { newProcess, Processes, type Process } from './processes.ts'
import { report } from '../watch/reporting.ts'
import { checkSettled } from '../watch/settled.ts'
import { clockText, logTo, openTrace, silentLog, type Trace } from './time-line.ts'
import { beginTraffic } from './traffic.ts'
import { beginTroubles, calmWeather, type Weather } from './troubles.ts'
import { wantedLegacy, wantedPayment } from '../parties/wants.ts'

export interface WorldOptions {
  seed: number
  orders: number
  /** How many cells there are; by default one, which both processes serve. */
  cells?: number | undefined
  /** A planted bug. */
  wrap?: Wraps
  /** Receives the lines of the time line; without it none is written. */
  trace?: (line: string) => void
}

export interface Ended {
  broken: Broken | undefined
  simulatedMs: number
  events: number
  orders: number
  acknowledged: number
  /** Moves of merchants from cell to cell that came to their end. */
  moved: number
  /** How many orders ended in each status. */
  statuses: Map<string, number>
}

interface World {
  events: Events
  chances: Chances
  installation: Installation
  weather: Weather
  slots: readonly Process[]
  processes: Processes
  keys: TurningKeys
  peers: Peers
  customers: Customers
  /** Absent if there is one cell. */
  movers: Movers | undefined
  invariants: Invariants
  trace: Trace
}

export const usualOrders = 300
/** Orders of shops for each sale of an app. */
const appShare = 6
/** Orders of shops for each sale of an app at an endpoint with random sums. */
const sumShare = 12
/** Orders of shops for each payment with a card of 3-D Secure 1.0.2. */
const legacyShare = 8

/** Orders of shops for each signed request, in a world of cells. */
const nonceShare = 2

/** The average time between two new orders. */
const orderEveryMs = 2_400
/**
 * How likely a world skips the hour that cardholders may take: both processes are stopped until it
 * is over.
 */
const nightOdds = 0.8
/** How likely a crash of all processes is one of their machine. */
const rebootOdds = 0.5

/** The processes and the cells that each of them serves: every cell has two. */
const servedBy = (cells: number): Readonly<Record<string, readonly number[]>> =>
  cells === 1 ? { A: [0], B: [0] } : { A: [0, 1, 2, 3, 4], B: [3, 4, 5, 6, 7], C: [5, 6, 7, 0, 1, 2] }

/** Runs one seed to its end, or to the first invariant that breaks. */
export async function runWorld(options: WorldOptions): Promise<Ended> {
  const world = await openWorld(options)
  const { events, installation, peers, invariants, trace } = world
  const isBroken = () => invariants.broken() !== undefined
  const troubledMs = options.orders * orderEveryMs
  for (const slot of world.slots) world.processes.start(slot)
  troubleProcesses(world, troubledMs)
  beginAllTraffic(world, options.orders, troubledMs)
  if (world.movers) beginMoves(world, world.movers, options.orders, troubledMs)
  await events.run(() => isBroken() || events.now > troubledMs)
  trace(() => 'trouble  all are over')
  await waitUntilQuiet(world, troubledMs, isBroken)
  if (!isBroken()) checkSettled(installation, peers.network.ledger, peers.merchants.callbacks, invariants, events.wall())
  const broken = invariants.broken()
  if (broken) trace(() => `BROKEN   ${broken.invariant}: ${broken.why}`)
  return {
    broken,
    simulatedMs: events.now,
    events: events.happened,
    orders: installation.orders.values().length,
    acknowledged: invariants.answers.acknowledged().size,
    moved: world.movers?.moved() ?? 0,
    statuses: statusesIn(installation),
  }
}

/** The generator of each part of a world. Each takes a seed, so their order decides every run. */
type Chances = ReturnType<typeof drawChances>
const drawChances = (chance: Chance) => ({
  network: chance.fork(),
  merchants: chance.fork(),
  keys: chance.fork(),
  start: chance.fork(),
  shop: chance.fork(),
  traffic: chance.fork(),
  troubles: chance.fork(),
  night: chance.fork(),
  settings: { maxHeld: chance.pick([2, 8, 64, 64]), sweepMs: chance.pick([200, 300, 400]) },
  issuers: chance.fork(),
  legacyIssuers: chance.fork(),
  servers: chance.fork(),
  asking: chance.fork(),
  cardholders: chance.fork(),
  backOffices: chance.fork(),
  apps: chance.fork(),
  appTraffic: chance.fork(),
  sumTraffic: chance.fork(),
  legacyTraffic: chance.fork(),
  reboots: chance.fork(),
  cells: chance.fork(),
  movers: chance.fork(),
  nonces: chance.fork(),
  operators: chance.fork(),
})

async function openWorld({ seed, cells = 1, wrap = {}, trace: write }: WorldOptions): Promise<World> {
  const events = new Events()
  const chances = drawChances(new Chance(seed))
  const trace = openTrace(events, write)
  const weather = calmWeather(cells)
  const placed = new Map(merchantIds.map((merchantId) => [merchantId, chances.cells.whole(0, cells - 1)]))
  const installation = new Installation(() => events.wall(), cells, placed, configurationWith)
  for (const model of installation.cells) {
    wrap.invoices?.(model.invoices)
    wrap.model?.(model)
    wrap.sums?.(model.sums)
  }
  const slots = Object.entries(servedBy(cells)).map(([name, serves]) => newProcess(name, new Set(serves)))
  const peers = await openPeers({ events, chances, weather, slots, wrap, trace })
  const lives = (id: bigint) => slots.some(({ actor }) => actor.alive && [...actor.numbers.values()].includes(id))
  const invariants = watchInvariants({ installation, peers, lives, now: () => events.now })
  report({ installation, peers, trace }, invariants)
  const keys = openTurningKeys(chances.keys.random(), { now: () => events.wall() })
  const processes = new Processes({
    events,
    chance: chances.start,
    installation,
    weather,
    peers,
    keys,
    settings: chances.settings,
    wrap,
    log: write ? logTo(trace) : silentLog,
    trace,
    onReached: invariants.patience.reached,
    onTwice: (what) => invariants.breaks('a duty is done once at a time', what),
  })
  const { following: onFollowing } = invariants.followUps
  const operators = openOperators({ events, chance: chances.operators, installation, weather, wrap, onFollowing, trace })
  const customers = openCustomers({ events, chances, weather, installation, slots, peers, operators, invariants, trace })
  const movers = cells === 1 ? undefined : openMovers({ events, chance: chances.movers, installation, slots, weather, trace })
  return { events, chances, installation, weather, slots, processes, keys, peers, customers, movers, invariants, trace }
}

function troubleProcesses(world: World, untilMs: number): void {
  const { events, chances, installation, weather, slots, processes, keys, peers, invariants, trace } = world
  const troubled = {
    ...weather,
    events,
    network: peers.network,
    moods: peers.merchants.moods,
    slots: slots.length,
    crash: (n: number) => processes.die(slots[n]!, 'crash'),
    crashAll() {
      for (const slot of slots) processes.die(slot, 'crash')
      if (!chances.reboots.happens(rebootOdds)) return 'crash of all'
      keys.loseHourKeys()
      for (const { invoices } of installation.cells) invoices.loseCvv2s()
      return 'reboot of the machine'
    },
    restart: (n: number) => processes.stop(slots[n]!),
    pause: (n: number, ms: number) => processes.standStill([slots[n]!.actor, slots[n]!.thread], ms),
    busy: (n: number, ms: number) => processes.standStill([slots[n]!.actor], ms),
    jump(n: number, ms: number) {
      slots[n]!.actor.wallOffsetMs = ms
      invariants.messages.clockJumped(n, ms)
    },
    trace,
  }
  beginTroubles(troubled, chances.troubles, untilMs)
}

function beginAllTraffic({ events, chances, customers }: World, orders: number, withinMs: number): void {
  const { shoppers, apps } = customers
  const begin = (chance: Chance, share: number, one: (number: number) => void) =>
    beginTraffic(events, chance, Math.ceil(orders / share), withinMs, one)
  begin(chances.traffic, 1, (n) => shoppers.begin(wantedPayment(n, chances.traffic)))
  begin(chances.appTraffic, appShare, apps.begin)
  begin(chances.sumTraffic, sumShare, apps.beginWithSum)
  begin(chances.legacyTraffic, legacyShare, (n) => shoppers.begin(wantedLegacy(n, chances.legacyTraffic)))
}

function beginMoves(
  { events, chances, weather, slots, invariants }: World,
  movers: Movers,
  orders: number,
  withinMs: number,
): void {
  movers.begin(withinMs)
  const asking = openAsking(events, chances.nonces, () => weather.shop.lostOdds)
  const users = openNonceUsers({ chance: chances.nonces, slots, asking, breaks: invariants.breaks })
  beginTraffic(events, chances.nonces, Math.ceil(orders / nonceShare), withinMs, users.begin)
}

/** Runs a world without troubles until no work is left, usually with a night. */
async function waitUntilQuiet(world: World, began: number, isBroken: () => boolean): Promise<void> {
  const { events, chances, installation, slots, processes, customers, movers, trace } = world
  const calm = openCalm({ events, installation, ...customers, movers, slots, began, isBroken })
  await events.run(() => calm.isOver() || calm.isAwaitingCardholders())
  if (!calm.isOver() && chances.night.happens(nightOdds)) {
    const morning = calm.morning()
    trace(() => `process  both sleep until ${clockText(morning).trim()}`)
    processes.sleep(slots, morning)
  }
  await events.run(calm.isOver)
}

function statusesIn(installation: Installation): Map<string, number> {
  const statuses = new Map<string, number>()
  for (const { transactions } of installation.orders.values()) {
    const { state } = transactions[0]!
    statuses.set(state, (statuses.get(state) ?? 0) + 1)
  }
  return statuses
}
