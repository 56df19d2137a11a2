import { openCalm } from './calm.ts'
import { Chance } from './chance.ts'
import { Events } from './clock.ts'
import { openCustomers, type Customers } from './customers.ts'
import { openTurningKeys, type TurningKeys } from './turning-keys.ts'
import type { Wraps } from './gateway-parts.ts'
import type { Broken } from './invariant.ts'
import { watchInvariants, type Invariants } from './invariants.ts'
import { openPeers, type Peers } from './peers.ts'
import { newProcess, Processes, type Process } from './processes.ts'
import { report } from './reporting.ts'
import { checkSettled } from './settled.ts'
import { StoreModel } from './store-model.ts'
import { clockText, logTo, openTrace, silentLog, type Trace } from './time-line.ts'
import { beginTraffic } from './traffic.ts'
import { beginTroubles, calmWeather, type Weather } from './troubles.ts'
import { wantedLegacy, wantedPayment } from './wants.ts'

export interface WorldOptions {
  seed: number
  orders: number
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
  /** How many orders ended in each status. */
  statuses: Map<string, number>
}

interface World {
  events: Events
  chances: Chances
  model: StoreModel
  weather: Weather
  slots: readonly Process[]
  processes: Processes
  keys: TurningKeys
  peers: Peers
  customers: Customers
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

/** The average time between two new orders. */
const orderEveryMs = 2_400
/**
 * How likely a world skips the hour that cardholders may take: both processes are stopped until it
 * is over.
 */
const nightOdds = 0.8
/** How likely a crash of all processes is one of their machine. */
const rebootOdds = 0.5

/** Runs one seed to its end, or to the first invariant that breaks. */
export async function runWorld(options: WorldOptions): Promise<Ended> {
  const world = await openWorld(options)
  const { events, model, peers, invariants, trace } = world
  const isBroken = () => invariants.broken() !== undefined
  const troubledMs = options.orders * orderEveryMs
  for (const slot of world.slots) world.processes.start(slot)
  troubleProcesses(world, troubledMs)
  beginAllTraffic(world, options.orders, troubledMs)
  await events.run(() => isBroken() || events.now > troubledMs)
  trace(() => 'trouble  all are over')
  await waitUntilQuiet(world, troubledMs, isBroken)
  if (!isBroken()) checkSettled(model, peers.network.ledger, peers.merchants.callbacks, invariants, events.wall())
  const broken = invariants.broken()
  if (broken) trace(() => `BROKEN   ${broken.invariant}: ${broken.why}`)
  return {
    broken,
    simulatedMs: events.now,
    events: events.happened,
    orders: model.orders.size,
    acknowledged: invariants.answers.acknowledged().size,
    statuses: statusesIn(model),
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
})

async function openWorld({ seed, wrap = {}, trace: write }: WorldOptions): Promise<World> {
  const events = new Events()
  const chances = drawChances(new Chance(seed))
  const trace = openTrace(events, write)
  const weather = calmWeather()
  const model = new StoreModel(() => events.wall())
  wrap.invoices?.(model.invoices)
  wrap.model?.(model)
  wrap.sums?.(model.sums)
  const slots = ['A', 'B'].map(newProcess)
  const peers = await openPeers({ events, chances, weather, slots, wrap, trace })
  const lives = (id: bigint) => slots.some(({ actor }) => actor.processId === id && actor.alive)
  const invariants = watchInvariants({ model, peers, lives, now: () => events.now })
  report({ model, peers, trace }, invariants)
  const keys = openTurningKeys(chances.keys.random(), { now: () => events.wall() })
  const processes = new Processes({
    events,
    chance: chances.start,
    model,
    database: weather.database,
    peers,
    keys,
    settings: chances.settings,
    wrap,
    log: write ? logTo(trace) : silentLog,
    trace,
    onReached: invariants.patience.reached,
  })
  const customers = openCustomers({ events, chances, weather, model, slots, peers, invariants, trace })
  return { events, chances, model, weather, slots, processes, keys, peers, customers, invariants, trace }
}

function troubleProcesses(world: World, untilMs: number): void {
  const { events, chances, model, weather, slots, processes, keys, peers, invariants, trace } = world
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
      model.invoices.loseCvv2s()
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

/** Runs a world without troubles until no work is left, usually with a night. */
async function waitUntilQuiet(world: World, began: number, isBroken: () => boolean): Promise<void> {
  const { events, chances, model, slots, processes, customers, trace } = world
  const calm = openCalm({ events, model, ...customers, slots, began, isBroken })
  await events.run(() => calm.isOver() || calm.isAwaitingCardholders())
  if (!calm.isOver() && chances.night.happens(nightOdds)) {
    const morning = calm.morning()
    trace(() => `process  both sleep until ${clockText(morning).trim()}`)
    processes.sleep(slots, morning)
  }
  await events.run(calm.isOver)
}

function statusesIn(model: StoreModel): Map<string, number> {
  const statuses = new Map<string, number>()
  for (const { transactions } of model.orders.values()) {
    const { state } = transactions[0]!
    statuses.set(state, (statuses.get(state) ?? 0) + 1)
  }
  return statuses
}
