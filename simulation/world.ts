import { pino } from 'pino'
import type { Log } from '../src/base/log.ts'
import { Chance } from './chance.ts'
import { Events, type Actor } from './clock.ts'
import { clockText } from './clock-text.ts'
import { configuration } from './configuration.ts'
import { openFixedKeys } from './fixed-keys.ts'
import { startGateway } from './gateway.ts'
import type { Wraps } from './gateway-parts.ts'
import type { Broken } from './invariant.ts'
import { watchInvariants } from './invariants.ts'
import { openMerchants } from './merchants.ts'
import { openMobile } from './mobile.ts'
import { openNetwork } from './network.ts'
import { checkSettled } from './settled.ts'
import { openAsking, type Slot } from './asking.ts'
import { openBackOffices } from './back-offices.ts'
import { openCalm } from './calm.ts'
import { openCardholders } from './cardholders.ts'
import { calmIssuers } from './issuer-weather.ts'
import { openIssuers } from './issuers.ts'
import { openLegacyIssuers } from './legacy-issuers.ts'
import { legacyNetworks } from './legacy-keys.ts'
import { calmServers, openMerchantServers } from './merchant-servers.ts'
import { openShoppers } from './shoppers.ts'
import { openStoreLine, type StoreLine } from './store-line.ts'
import { StoreModel } from './store-model.ts'
import { beginTraffic } from './traffic.ts'
import { refuseCredits } from './transfers.ts'
import { report } from './reporting.ts'
import { wantedLegacy, wantedPayment } from './wants.ts'
import { beginTroubles, calmDatabase, calmLine, type Troubled } from './troubles.ts'

export interface WorldOptions {
  seed: number
  orders: number
  /** A planted bug. */
  wrap?: Wraps
  /** Gets the time line; without it none is written. */
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

export const usualOrders = 300
/**
 * Shops make so many orders for each sale of an app, and for each at an endpoint with random sums.
 */
const appShare = 6
const sumShare = 12
/** Likewise payments with cards of 3-D Secure 1.0.2. */
const legacyShare = 8

/** A new order comes this often on the average. */
const orderEveryMs = 2_400
/** Cardholders may take an hour, and most worlds do not sit through it: both processes are stopped until it is over. */
const nightOdds = 0.8
const restartMs = [200, 8_000] as const

interface Process extends Slot {
  stores: StoreLine | undefined
  /** The thread of its heart, which goes on while the main loop is busy. */
  thread: Actor
}

/** Runs one seed to its end, or to the first invariant that breaks. */
export async function runWorld(options: WorldOptions): Promise<Ended> {
  const events = new Events()
  const chance = new Chance(options.seed)
  const trace = (what: () => string) => options.trace?.(`${clockText(events.now)}  ${what()}`)
  const log = logFor(options.trace && ((text) => trace(() => text)))
  const model = new StoreModel(() => events.wall())
  options.wrap?.invoices?.(model.invoices)
  options.wrap?.model?.(model)
  options.wrap?.sums?.(model.sums)
  const database = calmDatabase()
  const line = calmLine()
  const shop = { lostOdds: 0 }
  const network = openNetwork({
    events,
    chance: chance.fork(),
    weather: line,
    log: logFor(undefined),
    wrap: options.wrap?.ledger,
  })
  const merchants = openMerchants(events, chance.fork())
  const keys = openFixedKeys(chance.fork().random())
  const processIds = new Map<Actor, bigint>()
  const chances = {
    start: chance.fork(),
    shop: chance.fork(),
    traffic: chance.fork(),
    troubles: chance.fork(),
    night: chance.fork(),
  }
  const weather = calmIssuers()
  const settings = { maxHeld: chance.pick([2, 8, 64, 64]), sweepMs: chance.pick([200, 300, 400]) }

  const slots: Process[] = ['A', 'B'].map((name) => ({
    name,
    actor: actorOf(name),
    thread: actorOf(name),
    gateway: undefined,
    stores: undefined,
  }))

  const issuers = openIssuers({ events, chance: chance.fork(), weather, slots, trace })
  const legacyIssuers = openLegacyIssuers({ events, chance: chance.fork(), weather, slots, trace }, await legacyNetworks())
  const serverWeather = calmServers()
  const servers = openMerchantServers(chance.fork(), serverWeather)
  merchants.serve = servers.serve
  const invariants = watchInvariants(
    model,
    network.ledger,
    (id) => issuers.said.get(id),
    legacyIssuers,
    servers,
    (id) => [...processIds].some(([actor, own]) => own === id && actor.alive),
    () => events.now,
  )
  let sleepUntil = 0

  function start(slot: Process) {
    const actor = actorOf(slot.name)
    const own = chances.start.fork()
    const { reached } = invariants.patience
    const storesOf = (of: Actor) => openStoreLine({ model, events, actor: of, chance: own.fork(), weather: database, reached })
    const stores = storesOf(actor)
    const thread = actorOf(slot.name)
    const beats = storesOf(thread).heartbeat
    Object.assign(slot, { actor, thread, stores, gateway: undefined })
    const parts = {
      name: slot.name,
      clock: events.clockOf(actor),
      random: own.fork().random(),
      log: log.child({ process: slot.name }),
      keys,
      stores,
      thread: { clock: events.clockOf(thread), store: beats, endHung: () => die(slot, 'its loop hangs') },
      registry: configuration,
      connect: () => network.connect(actor),
      outgoing: merchants.outgoing(actor),
      issuers: issuers.outgoing(actor),
      legacy: { outgoing: legacyIssuers.outgoing(actor), directories: legacyIssuers.directories },
      ...settings,
      wrap: options.wrap ?? {},
    }
    startGateway(parts).then(
      (gateway) => {
        slot.gateway = gateway
        processIds.set(actor, gateway.processId)
        trace(() => `process  ${slot.name} serves as ${gateway.processId}`)
        void gateway.lost.then(() => die(slot, 'lost its lease'))
      },
      () => die(slot, 'could not start'),
    )
  }

  function die(slot: Process, why: string) {
    if (!slot.actor.alive) return
    trace(() => `process  ${slot.name} dies: ${why}`)
    slot.actor.alive = false
    slot.thread.alive = false
    slot.gateway = undefined
    slot.stores?.cut()
    events.after(Math.max(sleepUntil - events.now, 0) + chances.start.between(...restartMs), undefined, () => start(slot))
  }

  /** As by SIGTERM. */
  const stop = (slot: Process) =>
    void slot.gateway?.stop().then(
      () => die(slot, 'stopped'),
      () => die(slot, 'stopped badly'),
    )

  const standStill = (actor: Actor, ms: number) => (actor.pausedUntil = Math.max(actor.pausedUntil, events.now + Math.ceil(ms)))

  const asking = openAsking(events, chance.fork(), () => shop.lostOdds)
  const onStatus = (_wanted: unknown, orderId: bigint, status: string) => invariants.status(orderId, status)
  const cardholders = openCardholders({
    events,
    chance: chance.fork(),
    slots,
    asking,
    issuers,
    legacyIssuers,
    onStatus,
    onUploaded: invariants.authentications.uploaded,
    onBegun: invariants.authentications.begun,
    onCarried: invariants.legacy.carried,
    trace,
  })
  const backOffices = openBackOffices({
    chance: chance.fork(),
    slots,
    asking,
    told: {
      onFollowing: invariants.followUps.following,
      onFollowed: invariants.followUps.followed,
      onDefect: ({ orderId, operation }, why) =>
        invariants.breaks('the same request has the same answer', `the ${operation} of order ${orderId} was done, and ${why}`),
      trace,
    },
  })
  const shoppers = openShoppers({
    chance: chances.shop,
    slots,
    asking,
    cardholders,
    backOffices,
    told: {
      onAnswer(wanted, answer) {
        trace(
          () =>
            `shop     ${wanted.clientOrderid} is answered ${'orderId' in answer ? `order ${answer.orderId}` : answer.refused}`,
        )
        invariants.answered(wanted, answer)
      },
      onKeyed: invariants.keyed,
      onKeyedAnswer: invariants.keyedAnswer,
      onStatus,
      onRegistered: invariants.followUps.registered,
      trace,
    },
  })
  const apps = openMobile({
    chance: chance.fork(),
    model,
    ledger: network.ledger,
    slots,
    asking,
    servers,
    cardholders,
    watch: invariants.mobile,
    trace,
  })
  refuseCredits(network.faults)
  report({ model, network, merchants, issuers, legacyIssuers, processIdOf: (actor) => processIds.get(actor), trace }, invariants)
  const world: Troubled = {
    events,
    database,
    line,
    network,
    moods: merchants.moods,
    issuers: weather,
    servers: serverWeather,
    shop,
    slots: slots.length,
    crash: (n) => die(slots[n]!, 'crash'),
    restart: (n) => stop(slots[n]!),
    pause(n, ms) {
      const { actor, thread } = slots[n]!
      for (const stopped of [actor, thread]) standStill(stopped, ms)
    },
    busy: (n, ms) => standStill(slots[n]!.actor, ms),
    jump(n, ms) {
      slots[n]!.actor.wallOffsetMs = ms
      invariants.clockJumped(n, ms)
    },
    trace,
  }

  slots.forEach(start)
  const troubledMs = options.orders * orderEveryMs
  beginTroubles(world, chances.troubles, troubledMs)
  beginTraffic(events, chances.traffic, options.orders, troubledMs, (n) => shoppers.begin(wantedPayment(n, chances.traffic)))

  const performs = Math.ceil(options.orders / appShare)
  beginTraffic(events, chance.fork(), performs, troubledMs, apps.begin)
  beginTraffic(events, chance.fork(), Math.ceil(options.orders / sumShare), troubledMs, apps.beginWithSum)
  const legacyTraffic = chance.fork()
  beginTraffic(events, legacyTraffic, Math.ceil(options.orders / legacyShare), troubledMs, (n) =>
    shoppers.begin(wantedLegacy(n, legacyTraffic)),
  )

  await events.run(() => invariants.broken() !== undefined || events.now > troubledMs)
  trace(() => 'trouble  all are over')
  const calm = openCalm({
    events,
    model,
    shoppers,
    apps,
    slots,
    began: troubledMs,
    isBroken: () => invariants.broken() !== undefined,
  })
  await events.run(() => calm.isOver() || calm.isAwaitingCardholders())
  if (!calm.isOver() && chances.night.happens(nightOdds)) {
    sleepUntil = calm.morning()
    trace(() => `process  both sleep until ${clockText(sleepUntil).trim()}`)
    slots.forEach(stop)
  }
  await events.run(calm.isOver)
  if (!invariants.broken()) checkSettled(model, network.ledger, merchants.told, invariants, events.wall())
  const broken = invariants.broken()
  if (broken) trace(() => `BROKEN   ${broken.invariant}: ${broken.why}`)
  const statuses = new Map<string, number>()
  for (const order of model.orders.values()) {
    const { state } = order.transactions[0]!
    statuses.set(state, (statuses.get(state) ?? 0) + 1)
  }
  return {
    broken,
    simulatedMs: events.now,
    events: events.happened,
    orders: model.orders.size,
    acknowledged: invariants.acknowledged().size,
    statuses,
  }
}

const actorOf = (name: string): Actor => ({ name, alive: true, pausedUntil: 0, wallOffsetMs: 0 })

function logFor(write: ((text: string) => void) | undefined): Log {
  if (!write) return pino({ level: 'silent' })
  const told = (text: string) => {
    const { msg, level: _level, ...facts } = JSON.parse(text) as { msg: string; level: number }
    write(`log      ${msg} ${JSON.stringify(facts)}`)
  }
  return pino({ level: 'warn', base: null, timestamp: false }, { write: told })
}
