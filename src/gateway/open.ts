import { secret } from '../base/secret.ts'
import { withCvv2 } from '../card/vault.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { openSender } from '../delivery/send.ts'
import { callbackMessages } from '../gateway-api/callback-messages.ts'
import { gatewayRoutes } from '../gateway-api/serve.ts'
import type { TargetPolicy } from '../http/address.ts'
import { isInternal } from '../http/client-address.ts'
import type { Route } from '../http/server.ts'
import type { Endpoint } from '../merchant/merchant.ts'
import { cardMapping } from '../mobile-api/mapping.ts'
import type { MobileWorld } from '../mobile-api/mobile-world.ts'
import { mobileRoutes } from '../mobile-api/serve.ts'
import { openInvoiceWork } from '../mobile-api/work.ts'
import { openDoor, type Door } from '../order/advance.ts'
import { openCards } from '../order/cards.ts'
import { takeResult, wantedResult } from '../order/authentication/result.ts'
import type { Place } from '../order/change.ts'
import { openHand } from '../order/hand.ts'
import type { Order } from '../order/order.ts'
import { pareqPartsOf } from '../order/authentication/pareq.ts'
import { authenticate } from '../order/authentication/ask-issuer.ts'
import { enrol } from '../order/authentication/ask-enrolment.ts'
import { performersOf, type OutsideStep, type Performer } from '../order/perform.ts'
import { openReader } from '../order/read.ts'
import { openSteps } from '../order/steps.ts'
import { deniedPage } from '../pages/denied.ts'
import { randomSumRoutes, sumPageUrl } from '../pages/random-sum.ts'
import { receiptRoutes } from '../pages/receipt.ts'
import { hostedOrders } from '../pages/three-d-secure-order.ts'
import { threeDSecureRoutes } from '../pages/three-d-secure.ts'
import { hideBy } from '../risk/limits.ts'
import { startHeartbeat, type Heartbeat } from '../storage/store-heartbeat.ts'
import { openJudge, type Judge } from '../storage/store-silence.ts'
import { enrolmentBy } from '../three-d-secure/enrolment.ts'
import { hostedUrls, usableUrl } from '../three-d-secure/forms.ts'
import type { Results } from '../three-d-secure/inbound.ts'
import type { GatewaySettings, Ground, Stores, ThreeDSecureFacts, Transports } from './parts.ts'
import { startPeriodic } from './periodic.ts'
import type { GatewayGauges, Meters } from './watch.ts'

const limits = { maxWaiting: 4_000, maxOfMerchant: 1_500 }
const callbackTimeoutMs = 10_000
const noServer: Pick<ThreeDSecureFacts, 'server' | 'legacy'> = { server: { refNumber: '', resultsUrl: '' }, legacy: [] }
/** How long a stop waits: for requests of merchants' servers, for the acquirers' answers, for callbacks. */
const drain = { invoicesMs: 1_500, stepsMs: 6_000, deliveriesMs: 1_000 }

export interface GatewayParts {
  ground: Ground
  stores: Stores
  transports: Transports
  settings: GatewaySettings
  meters: Pick<Meters, 'answered' | 'repeated'>
}

/** A gateway over one cell. Several can be open in one process, each over a cell of its own. */
export interface Gateway {
  processId: bigint
  /** What it answers; whoever serves several gateways picks one by the request. */
  routes: readonly Route[]
  /** Takes the results of challenges that directory servers post. */
  results: Results
  /** What the operations work with. */
  world: MobileWorld
  /** Its lease, for work that one process does for all. */
  lease: { heartbeat: Heartbeat; judge: Judge }
  /** Why it cannot be given work; empty when it can. */
  unready(): Promise<string[]>
  gauges: GatewayGauges
  /** Resolves when its lease is lost and it must go. */
  lost: Promise<void>
  /** Takes no new work, waits a while for what is under way, and gives up its lease. Leaves stores and transports open. */
  stop(): Promise<void>
}

/** Where a planted bug of the simulation gets between two rooms; nobody else passes any. */
export interface Between {
  heartbeat?: (heartbeat: Heartbeat) => Heartbeat
  performers?: (performers: Record<OutsideStep, Performer>) => Record<OutsideStep, Performer>
  door?: (door: Door, performers: Record<OutsideStep, Performer>) => Door
}

/**
 * Puts the rooms together, each after what it needs, and begins the work that is due. Throws when
 * the cell cannot be reached.
 */
export async function openGateway(parts: GatewayParts, between: Between = {}): Promise<Gateway> {
  const { ground, stores, transports, settings, meters } = parts
  const { clock, random, log } = ground
  const { registry, cell } = stores
  const { current, keys } = registry
  const { orders } = cell
  const { tuning, callbackPolicy } = settings
  const [origin] = settings.publicUrls
  const publicUrl = origin + settings.basePath

  const hand = openHand()
  const processId = await cell.ids('process', 1).take()
  const beating = await startHeartbeat({
    store: cell.heartbeat,
    processId,
    instance: settings.instance,
    clock,
    log,
    heart: cell.heart,
    inHand: hand.size,
    ...(cell.pulse && { pulse: cell.pulse }),
  })
  const heartbeat = between.heartbeat?.(beating) ?? beating
  const judge = openJudge(cell.silent, heartbeat, clock)

  const cards = openCards({ orders, references: cell.references, keys, random })
  const reader = openReader(orders, clock, log)
  const pages = (token: string) => hostedUrls(publicUrl, settings.basePath, token)
  const usable = (url: string) => usableUrl(url, { loopbackHttp: callbackPolicy.loopbackAnyPort }) instanceof URL
  const policyOf = (endpoint: Endpoint | undefined): TargetPolicy => ({
    ...callbackPolicy,
    plainHttp: callbackPolicy.plainHttp || endpoint?.settings.plainHttpCallbacks === true,
  })

  const orderOf = async (delivery: Delivery) => (await orders.load([delivery]))[0]
  const callbacks = callbackMessages({ registry: current, orderOf, policyOf })
  const mapping = cardMapping({ registry: current, invoices: cell.invoices, clock, policyOf, ...cards }, orderOf)
  const sender = openSender({
    store: cell.deliveries,
    outgoing: transports.outgoing,
    kinds: { 'card mapping': mapping, callback: callbacks },
    clock,
    random,
    heartbeat,
    judge,
    log,
    timeoutMs: callbackTimeoutMs,
    maxInHand: tuning.maxHeld,
    sweepMs: tuning.sweepMs * 2,
  })
  const rendered = async (delivery: Delivery, order: Order) =>
    delivery.kind === 'callback' ? callbacks.renderFor(delivery, order) : mapping.render(delivery)

  const { server: identity, legacy } = settings.threeDSecure ?? noServer
  const server = { ...identity, pages }
  const planner = {
    enrolment: settings.threeDSecure
      ? enrolmentBy({ ranges: registry.ranges, ...settings.threeDSecure })
      : () => ({ is: 'unknown' }) as const,
    random,
    steering: settings.steering,
  }
  const asking = { clock, random, keys, registry: current, server, usable }
  const own = performersOf({
    clock,
    random,
    keys,
    authenticate: (...step) => authenticate({ ...asking, ask: transports.directories.authenticate }, ...step),
    enrol: (...step) => enrol({ ...asking, askEnrolment: transports.directories.enrol }, ...step),
    gate: (id) => current().gate(id),
    connector: transports.gates.connector,
    holding: heartbeat.holding,
    processId,
  })
  const performers = between.performers?.(own) ?? own
  const steps = openSteps({
    store: orders,
    performers,
    heartbeat,
    judge,
    clock,
    log,
    sweepMs: tuning.sweepMs,
    sweepLimit: 200,
  })
  const inner = openDoor({
    store: orders,
    hand,
    attempts: cell.ids('attempt'),
    clock,
    log,
    keys,
    processId,
    registry: current,
    maxHeld: tuning.maxHeld,
    handOver: tuning.handOver,
    maxBatch: tuning.maxBatch,
    lanes: tuning.lanes,
    planner,
    hide: hideBy(keys),
    sealCvv2: ({ sealed, card, order }) => withCvv2(sealed, card, order, keys, random),
    onStep: steps.start,
    deliveryRoom: () => (tuning.handOver ? sender.room() : () => false),
    onDeliveries: (deliveries, order) =>
      sender.take(deliveries.map((delivery) => ({ delivery, render: () => rendered(delivery, order) }))),
  })
  const door = between.door?.(inner, performers) ?? inner

  const world: MobileWorld = {
    ...ground,
    ...cards,
    ...meters,
    registry: current,
    door,
    orders: reader,
    useNonce: (merchantId, nonce, at) => cell.useNonce(merchantId, nonce, at, clock.now()),
    publicUrls: settings.publicUrls,
    denied: () => deniedPage(random),
    processId,
    pages,
    usable,
    pareqParts: (order) => pareqPartsOf(current(), order, publicUrl),
    paresRoots: (name) => legacy.find((one) => one.name === name)?.roots ?? [],
    keys,
    orderIds: cell.ids('order'),
    issuerOf: registry.issuerOf,
    limits,
    callbackPolicy,
    outgoing: transports.outgoing,
    invoices: cell.invoices,
    wrongSums: cell.wrongSums,
    planner,
    sumPage: (token) => sumPageUrl(publicUrl, token),
    holding: heartbeat.holding,
    judge,
    policyOf,
    explains: settings.explains,
    decoyKey: secret(random.bytes(16).toString('hex')),
  }
  const invoiceWork = openInvoiceWork(world, tuning.sweepMs * 2)
  const finding = { locate: (key: string) => orders.locate(key), order: (place: Place) => reader.byId(place) }
  const { basePath } = settings
  const routes = [
    ...gatewayRoutes(basePath, world),
    ...mobileRoutes(basePath, world, invoiceWork),
    ...receiptRoutes(basePath, { random, ...finding, merchantName: (id) => current().merchant(id)?.name }),
    ...randomSumRoutes(basePath, world, invoiceWork.begin),
    ...threeDSecureRoutes({
      base: basePath,
      publicUrl: origin,
      loopbackHttp: callbackPolicy.loopbackAnyPort,
      random,
      now: clock.now,
      ipOf: ({ clientAddress }) => (isInternal(clientAddress) ? undefined : clientAddress),
      ...hostedOrders({ ...world, ...finding, merchant: (id) => current().merchant(id) }),
    }),
  ]
  const resulting = { orders, keys, random, log, door, registry: current }

  steps.sweep(door)
  sender.sweep()
  invoiceWork.sweep()
  const stopPeriodic = startPeriodic(clock, log, cell.upkeep)

  return {
    processId,
    routes,
    world,
    lease: { heartbeat, judge },
    results: {
      wanted: (id) => wantedResult(resulting, id),
      result: (message) => takeResult(resulting, message),
    },
    async unready() {
      const reasons = heartbeat.holding() ? [] : ['the lease of this process is late or lost']
      await cell.answers().catch(() => reasons.push('the database does not answer'))
      return reasons
    },
    gauges: {
      orders: door.counts,
      waiting: () => door.load(0n, 0n).waiting,
      deliveries: sender.counts,
      parked: () => ({ transactions: steps.parked(), invoices: invoiceWork.parked() }),
      holding: heartbeat.holding,
      leases: heartbeat.counts,
    },
    lost: heartbeat.lost,
    async stop() {
      stopPeriodic()
      await invoiceWork.stop(drain.invoicesMs)
      await steps.stop(drain.stepsMs)
      await door.close()
      await sender.stop(drain.deliveriesMs)
      await reader.close()
      await heartbeat.stop()
    },
  }
}
