import { nextTurn, sleep } from '../base/clock.ts'
import { secret } from '../base/secret.ts'
import { openTurns } from '../base/turn.ts'
import { openConnectors } from '../acquirer/connectors.ts'
import { openIso8583Connector } from '../acquirer/iso8583/connector.ts'
import { openBins } from '../card/store-bins.ts'
import { withCvv2 } from '../card/vault.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { openSender } from '../delivery/send.ts'
import { openDeliveryStore } from '../delivery/store.ts'
import { callbackMessages } from '../gateway-api/callback-messages.ts'
import { gatewayRoutes } from '../gateway-api/serve.ts'
import type { TargetPolicy } from '../http/address.ts'
import { isInternal } from '../http/client-address.ts'
import { openOutgoing } from '../http/outgoing.ts'
import { openServer, type Route } from '../http/server.ts'
import type { Endpoint } from '../merchant/merchant.ts'
import { forgetNonces, useNonce } from '../merchant/store-nonces.ts'
import { watchRegistry } from '../merchant/store.ts'
import { openDoor, type Door } from '../order/advance.ts'
import { cardMapping } from '../mobile-api/mapping.ts'
import type { MobileWorld } from '../mobile-api/mobile-world.ts'
import { mobileRoutes } from '../mobile-api/serve.ts'
import { openInvoiceStore } from '../mobile-api/store-invoices.ts'
import { forgetWrongSums, openWrongSums } from '../mobile-api/store-sums.ts'
import { openInvoiceWork } from '../mobile-api/work.ts'
import { legalTransitions } from '../order/machine.ts'
import type { Order } from '../order/order.ts'
import { performersOf } from '../order/perform.ts'
import { openReader } from '../order/read.ts'
import { openSteps } from '../order/steps.ts'
import type { Place } from '../order/change.ts'
import { openOrderStore } from '../order/store.ts'
import { deniedPage } from '../pages/denied.ts'
import { hideBy } from '../risk/limits.ts'
import { forgetCounts } from '../risk/store-counts.ts'
import { receiptRoutes } from '../pages/receipt.ts'
import { randomSumRoutes, sumPageUrl } from '../pages/random-sum.ts'
import { threeDSecureRoutes } from '../pages/three-d-secure.ts'
import { hostedOrders } from '../pages/three-d-secure-order.ts'
import { declareTransitions, ensurePartitions, pendingMigrations } from '../storage/migrate.ts'
import { openPool, statement } from '../storage/pool.ts'
import { openIds } from '../storage/store-ids.ts'
import { openJudge, silentProcesses } from '../storage/store-silence.ts'
import { openKeyRing } from '../storage/store-keys.ts'
import { cardsOf } from './cards.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { openHeartbeat } from './heartbeat.ts'
import { openWatch } from './observe.ts'
import { startPeriodic } from './periodic.ts'
import { authenticationPerformers, mayGoTo, openThreeDSecure, pareqPartsOf, withoutThreeDSecure } from './three-d-secure.ts'

export interface Gateway {
  port: number
  /** Resolves when the process lost its lease and must go. */
  lost: Promise<void>
  counts(): { orders: ReturnType<Door['counts']>; deliveries: { delivered: number; failed: number; inHand: number } }
  stop(): Promise<void>
}

export const basePath = '/gateway'
/** All bodies under way together; what comes beyond is refused for load. */
const maxBodiesBytes = 64 * 1024 * 1024
const maxConnections = 5_000
const callbackTimeoutMs = 10_000
/** A stop takes at most 10 s: this much for requests under way, this much for the acquirer's answers, this much for callbacks. */
const drain = { requestsMs: 1_500, stepsMs: 6_000, deliveriesMs: 1_000 }
const anything = statement<object>('select 1')

/** Puts the rooms together and serves. The database has to be migrated. */
export async function startGateway(o: GatewayOptions): Promise<Gateway> {
  const { clock, random, log } = o
  const pool = openPool({ url: o.databaseUrl, connections: 10, use: 'oltp', log })
  const pending = await pendingMigrations(pool)
  if (pending.length > 0) {
    await pool.close()
    throw new Error(`The database lacks ${pending.join(', ')}. Run \`npx tollgate migrate\` first.`)
  }
  await declareTransitions(pool, legalTransitions())
  await ensurePartitions(pool)
  const keys = await openKeyRing(pool, o.kek, clock, random)
  let open = () => {}
  const ready = new Promise<void>((resolve) => (open = resolve))
  const routes: Route[] = []
  const later = (route: Route): Route => ({
    ...route,
    handle: async (request) => {
      await ready
      return routes.find((r) => r.path === route.path && r.method === route.method)!.handle(request)
    },
  })

  const orders = openOrderStore(pool)
  const cards = cardsOf(pool, orders, keys, random)
  const reader = openReader(orders, clock, log)
  const world = {} as MobileWorld
  const turns = openTurns(nextTurn)
  const invoiceWork = openInvoiceWork(() => world, o.tuning.sweepMs * 2)
  const watch = openWatch({
    orders: () => door.counts(),
    waiting: () => door.load(0n, 0n).waiting,
    deliveries: () => sender.counts(),
    pools: () => outgoing.pools(),
    gates: () => connectors.states(),
    configuration: () => registry.current().version,
    parked: () => ({ transactions: steps.parked(), invoices: invoiceWork.parked() }),
    holding: () => heartbeat.holding(),
    leases: () => heartbeat.counts(),
    turns: turns.counts,
    database: () => pool.run(anything),
  })
  const finding = { locate: (key: string) => orders.locate(key), order: (place: Place) => reader.byId(place) }
  routes.push(
    ...watch.routes,
    ...(o.routes?.(() => `${origin()}${basePath}`) ?? []),
    ...gatewayRoutes(basePath, world),
    ...mobileRoutes(basePath, world, invoiceWork),
    ...receiptRoutes(basePath, {
      random,
      ...finding,
      merchantName: (id) => world.registry().merchant(id)?.name,
    }),
    ...randomSumRoutes(basePath, world, invoiceWork.begin),
    ...threeDSecureRoutes({
      base: basePath,
      publicUrl: () => origin(),
      loopbackHttp: o.callbackPolicy.loopbackAnyPort,
      random,
      now: clock.now,
      ipOf: ({ clientAddress }) => (isInternal(clientAddress) ? undefined : clientAddress),
      ...hostedOrders({
        ...finding,
        ...cards,
        merchant: (id) => world.registry().merchant(id),
        door: () => door,
        processId: () => processId,
        clock,
        turns,
        log,
        keys,
        random,
        registry: () => registry.current(),
        paresRoots: (directory) => threeDSecure.paresRoots(directory),
        pages: (token) => threeDSecure.server.pages(token),
        pareqParts: (order) => world.pareqParts(order),
      }),
    }),
  )
  const origin = () => o.publicUrls?.[0] ?? `http://127.0.0.1:${server.port}`
  const proxies = o.trustedProxies ? { trustedProxies: o.trustedProxies } : {}
  const server = await openServer(
    { host: o.host, port: o.port, maxBodiesBytes, maxConnections, ...proxies, random, log },
    routes.map(later),
  )

  await o.beforeServing?.(`${origin()}${basePath}`)
  const processId = await openIds(pool, 'process', 1).take()
  const heartbeat = await openHeartbeat(o, pool, { id: processId, port: server.port, inHand: () => door.counts().held })
  const judge = openJudge(() => silentProcesses(pool), heartbeat, clock)
  const connectors = openConnectors(
    (gate) =>
      openIso8583Connector({
        gate: { ...gate.settings, gateId: gate.gateId },
        clock,
        random,
        log,
        limits: { maxOpen: gate.settings.maxOpen },
        onStray: ({ kind }) => watch.stray(String(gate.gateId), kind),
      }),
    (closed) => void closed,
  )
  const bins = await openBins(pool)
  const registry = await watchRegistry(pool, keys, clock, log, (now) => connectors.follow(now))
  const publicUrl = `${origin()}${basePath}`
  const threeDSecure = o.threeDSecure
    ? await openThreeDSecure({
        options: o.threeDSecure,
        publicUrl,
        pool,
        orders,
        keys,
        cardOf: cards.cardOf,
        door: () => door,
        registry: registry.current,
        heartbeat,
        judge,
        clock,
        turns,
        random,
        log,
      })
    : withoutThreeDSecure(publicUrl)
  const planner = { enrolment: threeDSecure.enrolment, random, steering: o.steering }
  const usable = (url: string) => mayGoTo(url, o.callbackPolicy.loopbackAnyPort)
  const policyOf = (endpoint: Endpoint | undefined): TargetPolicy => ({
    ...o.callbackPolicy,
    plainHttp: o.callbackPolicy.plainHttp || endpoint?.settings.plainHttpCallbacks === true,
  })
  const orderOf = async (delivery: Delivery) => (await orders.load([delivery]))[0]
  const callbacks = callbackMessages({ registry: registry.current, orderOf, policyOf })
  const mapping = cardMapping(() => world, orderOf)
  const rendered = async (delivery: Delivery, order: Order) =>
    delivery.kind === 'callback' ? callbacks.renderFor(delivery, order) : mapping.render(delivery)
  const outgoing = openOutgoing({ policy: o.callbackPolicy, clock, perOrigin: 32 })
  const sender = openSender({
    store: openDeliveryStore(pool),
    outgoing,
    kinds: { 'card mapping': mapping, callback: callbacks },
    clock,
    random,
    heartbeat,
    judge,
    log,
    timeoutMs: callbackTimeoutMs,
    maxInHand: o.tuning.maxHeld,
    sweepMs: o.tuning.sweepMs * 2,
  })

  const steps = openSteps({
    door: () => door,
    store: orders,
    keys,
    performers: performersOf({
      clock,
      random,
      keys,
      ...authenticationPerformers(threeDSecure, { clock, random, keys, registry: registry.current, usable }),
      gate: (id) => registry.current().gate(id),
      connector: (id) => connectors.connector(id),
      holding: heartbeat.holding,
      processId,
    }),
    heartbeat,
    judge,
    clock,
    log,
    sweepMs: o.tuning.sweepMs,
    sweepLimit: 200,
  })
  const door = openDoor({
    store: orders,
    attempts: openIds(pool, 'attempt'),
    clock,
    log,
    heartbeat,
    registry: registry.current,
    maxHeld: o.tuning.maxHeld,
    handOver: o.tuning.handOver,
    maxBatch: o.tuning.maxBatch,
    lanes: o.tuning.lanes,
    planner,
    hide: hideBy(keys),
    sealCvv2: ({ sealed, card, order }) => withCvv2(sealed, card, order, keys, random),
    onStep: steps.start,
    deliveryRoom: () => (o.tuning.handOver ? sender.room() : () => false),
    onDeliveries: (deliveries, order) =>
      sender.take(deliveries.map((delivery) => ({ delivery, render: () => rendered(delivery, order) }))),
  })

  Object.assign(world, {
    registry: registry.current,
    door,
    orders: reader,
    ...cards,
    useNonce: (merchantId, nonce, at) => useNonce(pool, merchantId, nonce, at, clock.now()),
    publicUrls: () => o.publicUrls ?? ['127.0.0.1', 'localhost'].map((name) => `http://${name}:${server.port}`),
    denied: () => deniedPage(random),
    processId,
    pages: threeDSecure.server.pages,
    usable,
    pareqParts: (order) => pareqPartsOf(registry.current(), order, publicUrl),
    paresRoots: threeDSecure.paresRoots,
    keys,
    orderIds: openIds(pool, 'order'),
    issuerOf: bins.issuerOf,
    clock,
    turns,
    random,
    log,
    limits: { maxWaiting: 4_000, maxOfMerchant: 1_500 },
    callbackPolicy: o.callbackPolicy,
    outgoing,
    invoices: openInvoiceStore(pool, keys, random),
    wrongSums: openWrongSums(pool, keys),
    planner,
    sumPage: (token) => sumPageUrl(publicUrl, token),
    holding: () => heartbeat.holding(),
    judge,
    policyOf,
    answered: watch.answered,
    repeated: watch.repeated,
    explains: o.explains,
    decoyKey: secret(random.bytes(16).toString('hex')),
  } satisfies MobileWorld)
  steps.sweep()
  sender.sweep()
  invoiceWork.sweep()
  const stopPeriodic = startPeriodic(clock, log, [
    { name: 'cvv2 keys', everyMs: 300_000, run: () => keys.turn() },
    { name: 'BIN table', everyMs: 1_000, run: () => bins.refresh() },
    { name: 'used limits', everyMs: 600_000, run: () => forgetCounts(pool) },
    { name: 'nonces', everyMs: 60_000, run: () => forgetNonces(pool, clock.now()) },
    { name: 'Idempotency-Keys', everyMs: 60_000, run: () => orders.forgetIdempotencyKeys(clock.now()) },
    { name: 'wrong sums', everyMs: 600_000, run: () => forgetWrongSums(pool, clock.now()) },
    { name: 'partitions', everyMs: 60_000, run: () => ensurePartitions(pool) },
  ])
  open()

  return {
    port: server.port,
    lost: heartbeat.lost,
    counts: () => ({ orders: door.counts(), deliveries: sender.counts() }),
    async stop() {
      stopPeriodic()
      await server.close(drain.requestsMs)
      await invoiceWork.stop(drain.requestsMs)
      await threeDSecure.refuse()
      await steps.stop(drain.stepsMs)
      await threeDSecure.stop()
      await door.close()
      await sender.stop(drain.deliveriesMs)
      await connectors.close()
      registry.stop()
      await outgoing.close()
      await reader.close()
      await heartbeat.stop()
      await Promise.race([pool.close(), sleep(clock, 1_000)])
    },
  }
}
