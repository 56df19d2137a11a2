import { openConnectors } from '../src/acquirer/connectors.ts'
import { openIso8583Connector } from '../src/acquirer/iso8583/connector.ts'
import { openTurns } from '../src/base/turn.ts'
import { secret } from '../src/base/secret.ts'
import { openReference } from '../src/card/reference.ts'
import { withCvv2 } from '../src/card/vault.ts'
import type { Delivery } from '../src/delivery/delivery.ts'
import { openSender } from '../src/delivery/send.ts'
import { callbackMessages } from '../src/gateway-api/callback-messages.ts'
import { hideBy } from '../src/risk/limits.ts'
import { performUploadCres } from '../src/gateway-api/upload-cres.ts'
import { performUploadMethod } from '../src/gateway-api/upload-method.ts'
import { performUploadPares } from '../src/gateway-api/upload-pares.ts'
import { cardMapping } from '../src/mobile-api/mapping.ts'
import type { MobileWorld } from '../src/mobile-api/mobile-world.ts'
import { mobileRoutes } from '../src/mobile-api/serve.ts'
import { takeSum, viewOfSum } from '../src/mobile-api/sum-page.ts'
import { openInvoiceWork } from '../src/mobile-api/work.ts'
import { openDoor } from '../src/order/advance.ts'
import type { Order } from '../src/order/order.ts'
import { performersOf } from '../src/order/perform.ts'
import { authenticate } from '../src/order/perform-authentication.ts'
import { takeResult, wantedResult } from '../src/order/challenge-result.ts'
import { openReader } from '../src/order/read.ts'
import { openSteps } from '../src/order/steps.ts'
import { hostedOrders } from '../src/pages/three-d-secure-order.ts'
import { usableUrl } from '../src/three-d-secure/forms.ts'
import type { Place } from '../src/order/change.ts'
import { drawIds } from '../src/storage/store-ids.ts'
import { openJudge } from '../src/storage/store-silence.ts'
import { startBeating } from './beating.ts'
import { callRoute } from './call-route.ts'
import { directories, enrolmentOf } from './configuration.ts'
import { directoriesOf, enrolmentOver, server } from './directory-clients.ts'
import { answerResult, cardOf, sealedCardOf, type ResultParts } from './results.ts'
import { openStrays } from './strays.ts'
import type { Gateway, GatewayParts } from './gateway-parts.ts'

export const sumPages = 'https://gateway.test/sum/'
const policy = { plainHttp: true, loopbackAnyPort: false }
const blockOfIds = 1_000
/** Directory servers by the common name of their certificate. */
const peers: ReadonlyMap<string, string> = new Map(directories.map((name) => [name, name]))
const usable = (url: string) => usableUrl(url, { loopbackHttp: false }) instanceof URL

/** Puts the rooms together as main does, over the model and the simulated world. */
export async function startGateway(given: GatewayParts): Promise<Gateway> {
  const { wrap, clock, random, log, registry } = given
  const parts = { ...given, stores: wrap.stores?.(given.stores, given) ?? given.stores }
  const { orders, deliveries, reserve } = parts.stores
  const ids = (name: string, block: number) => drawIds(() => reserve(name, block), block)
  const processId = await ids('process', 1).take()
  const beating = await startBeating(parts, processId, () => door.counts().held)
  const heartbeat = wrap.heartbeat?.(beating, parts) ?? beating
  const judge = openJudge(() => parts.stores.silent(), heartbeat, clock)
  const connectors = openConnectors(
    (gate) => {
      const strays = openStrays()
      const real = openIso8583Connector({
        gate: { ...gate.settings, gateId: gate.gateId },
        clock,
        random,
        log,
        connect: () => parts.connect(),
        limits: { maxOpen: gate.settings.maxOpen },
        onStray: strays.came,
      })
      return wrap.connector?.(real, parts, strays) ?? real
    },
    (closed) => void closed,
  )
  connectors.follow(registry)

  const orderOf = async (delivery: Delivery) => (await orders.load([delivery]))[0]
  const callbacks = callbackMessages({ registry: () => registry, orderOf, policyOf: () => policy })
  const mapping = cardMapping(() => served, orderOf)
  const rendered = async (delivery: Delivery, order: Order) =>
    delivery.kind === 'callback' ? callbacks.renderFor(delivery, order) : mapping.render(delivery)
  const sender = openSender({
    store: deliveries,
    outgoing: parts.outgoing,
    kinds: { 'card mapping': mapping, callback: callbacks },
    clock,
    random,
    heartbeat,
    judge,
    log,
    timeoutMs: 10_000,
    maxInHand: parts.maxHeld,
    sweepMs: parts.sweepMs * 2,
  })
  const directory = directoriesOf(parts)
  const legacyOf = (name: string) => parts.legacy.directories.find((one) => one.name === name)!
  const real = performersOf({
    clock,
    random,
    keys: parts.keys,
    authenticate: (held, transaction) =>
      authenticate(
        { clock, random, keys: parts.keys, registry: () => registry, server, ask: directory.authenticate, usable },
        held,
        transaction,
      ),
    enrol: enrolmentOver(parts),
    gate: (id) => registry.gate(id),
    connector: (id) => connectors.connector(id),
    holding: heartbeat.holding,
    processId,
  })
  const performers = wrap.performers?.(real) ?? real
  const steps = openSteps({
    door: () => door,
    store: orders,
    keys: parts.keys,
    performers,
    heartbeat,
    judge,
    clock,
    log,
    sweepMs: parts.sweepMs,
    sweepLimit: 200,
  })
  const planner = { enrolment: enrolmentOf, random, steering: false }
  const opened = openDoor({
    store: orders,
    attempts: ids('attempt', blockOfIds),
    clock,
    log,
    heartbeat,
    registry: () => registry,
    maxHeld: parts.maxHeld,
    handOver: true,
    maxBatch: 256,
    lanes: 1,
    planner,
    hide: hideBy(parts.keys),
    sealCvv2: ({ sealed, card, order }) => withCvv2(sealed, card, order, parts.keys, random),
    onStep: steps.start,
    deliveryRoom: () => sender.room(),
    onDeliveries: (made, order) => sender.take(made.map((delivery) => ({ delivery, render: () => rendered(delivery, order) }))),
  })
  const door = wrap.door?.(opened, performers, parts) ?? opened
  const reader = openReader(orders, clock, log)
  const uploads = { method: performUploadMethod, cres: performUploadCres, pares: performUploadPares }
  const surroundings = {
    orders,
    keys: parts.keys,
    cardOf: (place: Place) => cardOf(orders, parts.keys, place),
    door: () => door,
    registry: () => registry,
    random,
    log,
  }
  const taking: ResultParts = {
    wanted: (id) => wantedResult(surroundings, id),
    result: (message) => takeResult(surroundings, message),
  }
  const results = { ...(wrap.results?.(taking, parts) ?? taking), peers }
  const inbound: Gateway['result'] = (text, peer) => answerResult(text, results, peer)
  const served: MobileWorld = {
    registry: () => registry,
    door,
    orders: reader,
    cardOf: surroundings.cardOf,
    processId,
    pages: server.pages,
    usable,
    registerCard: async (made) =>
      parts.stores.references.register({ ...made, sealed: await sealedCardOf(orders, made.place) }, parts.keys, random),
    findReference: parts.stores.references.find,
    registerDestination: async (made) =>
      parts.stores.references.registerDestination(
        { ...made, sealed: await sealedCardOf(orders, made.place) },
        parts.keys,
        random,
      ),
    async findDestination(merchantId, id) {
      const found = await parts.stores.references.findDestination(merchantId, id)
      return found && { ...openReference(found, parts.keys), card: found.card }
    },
    openReference: (reference) => openReference(reference, parts.keys),
    useNonce: () => Promise.resolve(false),
    publicUrls: () => [],
    denied: () => ({ status: 403, type: 'text/html', body: '' }),
    pareqParts: () => ({ merchantName: 'Simulated shop', country: '840', site: 'https://shop.test' }),
    paresRoots: (name) => legacyOf(name).roots,
    keys: parts.keys,
    orderIds: ids('order', blockOfIds),
    issuerOf: () => undefined,
    clock,
    turns: openTurns(queueMicrotask),
    random,
    log,
    limits: { maxWaiting: 4_000, maxOfMerchant: 1_500 },
    callbackPolicy: policy,
    answered: () => {},
    repeated: () => {},
    explains: false,
    decoyKey: secret('decoy'),
    outgoing: wrap.merchantCalls?.(parts.outgoing, parts) ?? parts.outgoing,
    invoices: parts.stores.invoices,
    wrongSums: parts.stores.wrongSums,
    planner,
    sumPage: (token) => `${sumPages}${token}`,
    holding: heartbeat.holding,
    judge,
    policyOf: () => policy,
  }
  const hosted = hostedOrders({
    ...served,
    ...surroundings,
    locate: orders.locate,
    order: reader.byId,
    merchant: registry.merchant,
    processId: () => processId,
  })
  const invoiceWork = openInvoiceWork(() => served, parts.sweepMs * 4)
  steps.sweep()
  sender.sweep()
  invoiceWork.sweep()
  const routes = mobileRoutes('', served, invoiceWork)
  return {
    processId,
    served,
    apps: (path, body) => callRoute(routes, path, body),
    uploads: wrap.uploads?.(uploads) ?? uploads,
    hosted: wrap.hosted?.(hosted, performers, parts) ?? hosted,
    sums: {
      view: (token) => viewOfSum(served, token),
      take: (token, answer) => takeSum(served, invoiceWork.begin, token, answer),
    },
    result: wrap.inbound?.(inbound, parts) ?? inbound,
    lost: heartbeat.lost,
    async stop() {
      await invoiceWork.stop(6_000)
      await steps.stop(6_000)
      await directory.close()
      await door.close()
      await sender.stop(1_000)
      await connectors.close()
      await reader.close()
      await heartbeat.stop()
    },
  }
}
