import type { Duplex } from 'node:stream'
import type { Ledger } from '../simulators/acquirer/ledger.ts'
import { openConnectors } from '../src/acquirer/connectors.ts'
import type { Connector } from '../src/acquirer/connector.ts'
import { openIso8583Connector } from '../src/acquirer/iso8583/connector.ts'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import type { Random } from '../src/base/random.ts'
import { secret } from '../src/base/secret.ts'
import { openReference } from '../src/card/reference.ts'
import { withCvv2 } from '../src/card/vault.ts'
import type { Delivery } from '../src/delivery/delivery.ts'
import { openSender, type Rendered } from '../src/delivery/send.ts'
import type { World as Served } from '../src/gateway-api/asked.ts'
import { callbackPairs, renderCallback } from '../src/gateway-api/callback.ts'
import type { Performer as Uploader } from '../src/gateway-api/checks.ts'
import { hideBy } from '../src/risk/limits.ts'
import { performUploadCres } from '../src/gateway-api/upload-cres.ts'
import { performUploadMethod } from '../src/gateway-api/upload-method.ts'
import type { Outgoing } from '../src/http/outgoing.ts'
import type { Answer } from '../src/http/server.ts'
import type { Registry } from '../src/merchant/merchant.ts'
import { cardMapping } from '../src/mobile-api/mapping.ts'
import type { MobileWorld } from '../src/mobile-api/mobile-world.ts'
import { mobileRoutes } from '../src/mobile-api/serve.ts'
import { openInvoiceWork } from '../src/mobile-api/work.ts'
import { openDoor, type Door } from '../src/order/advance.ts'
import type { Order } from '../src/order/order.ts'
import { performersOf, type OutsideStep, type Performer } from '../src/order/perform.ts'
import { authenticate } from '../src/order/perform-authentication.ts'
import { takeResult, wantedResult } from '../src/order/challenge-result.ts'
import { openReader } from '../src/order/read.ts'
import { openSteps } from '../src/order/steps.ts'
import { openDirectories } from '../src/three-d-secure/directory.ts'
import { hostedUrls, usableUrl } from '../src/three-d-secure/forms.ts'
import type { Place } from '../src/order/store.ts'
import { startHeartbeat, type Heartbeat } from '../src/storage/store-heartbeat.ts'
import { drawIds } from '../src/storage/store-ids.ts'
import type { KeyRing } from '../src/storage/store-keys.ts'
import { callRoute } from './call-route.ts'
import { directories, enrolmentOf } from './configuration.ts'
import type { Invoices } from './invoices.ts'
import { answerResult, cardOf, sealedCardOf, type ResultParts } from './results.ts'
import type { Stores } from './store-line.ts'

/** What a process stands on. A planted bug replaces one of these or wraps what is built on them. */
export interface GatewayParts {
  name: string
  clock: Clock
  random: Random
  log: Log
  keys: KeyRing
  stores: Stores
  registry: Registry
  connect: () => Duplex
  outgoing: Outgoing
  /** The way to the directory servers. */
  issuers: Outgoing
  /** Orders in hand at once; few, so that some are committed unleased. */
  maxHeld: number
  sweepMs: number
  wrap: Wraps
}

/** Where a planted bug gets between the parts. */
export interface Wraps {
  stores?: (stores: Stores, parts: GatewayParts) => Stores
  heartbeat?: (heartbeat: Heartbeat, parts: GatewayParts) => Heartbeat
  connector?: (connector: Connector, parts: GatewayParts) => Connector
  performers?: (performers: Record<OutsideStep, Performer>) => Record<OutsideStep, Performer>
  door?: (door: Door, performers: Record<OutsideStep, Performer>, parts: GatewayParts) => Door
  results?: (results: ResultParts, parts: GatewayParts) => ResultParts
  inbound?: (inbound: Gateway['result'], parts: GatewayParts) => Gateway['result']
  uploads?: (uploads: Uploads) => Uploads
  /** What merchants' servers are asked and told. */
  merchantCalls?: (outgoing: Outgoing, parts: GatewayParts) => Outgoing
  /** The table of invoices. */
  invoices?: (invoices: Invoices) => Invoices
  /** The books of the other end: a bug of the acquirer. */
  ledger?: (ledger: Ledger) => Ledger
}

export interface Uploads {
  method: Uploader
  cres: Uploader
}

export interface Gateway {
  processId: bigint
  served: Served
  uploads: Uploads
  /** A request of an app. */
  apps(path: string, body: object): Promise<Answer>
  /** A result that this directory server posts: the text to answer with, or nothing where it could not be stored. */
  result(text: string, directory: string): Promise<string | undefined>
  lost: Promise<void>
  /** The same order as main stops in. */
  stop(): Promise<void>
}

const policy = { plainHttp: true, loopbackAnyPort: false }
const blockOfIds = 1_000
const server = {
  refNumber: 'SIMULATED_3DS_SERVER',
  resultsUrl: 'https://results.gateway.test/3ds/results',
  pages: (token: string) => hostedUrls('https://gateway.test', '/gateway', token),
}
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
  const beating = await startHeartbeat(parts.stores.heartbeat, processId, parts.name, clock, log)
  const heartbeat = wrap.heartbeat?.(beating, parts) ?? beating
  const connectors = openConnectors(
    (gate) => {
      const real = openIso8583Connector({
        gate: { ...gate.settings, gateId: gate.gateId },
        clock,
        random,
        log,
        connect: () => parts.connect(),
        limits: { maxOpen: gate.settings.maxOpen },
      })
      return wrap.connector?.(real, parts) ?? real
    },
    (closed) => void closed,
  )
  connectors.follow(registry)

  const renderFor = (delivery: Delivery, order: Order): Rendered | undefined => {
    const transaction = order.transactions.find((t) => t.no === delivery.transactionNo)
    const merchant = registry.merchant(order.merchantId)!
    return transaction && renderCallback(delivery.url, callbackPairs(order, transaction, merchant), policy)
  }
  const orderOf = async (delivery: Delivery) => (await orders.load([delivery]))[0]
  const mapping = cardMapping(() => served, orderOf)
  const renderAny = (delivery: Delivery, order: Order) =>
    delivery.kind === 'callback' ? Promise.resolve(renderFor(delivery, order)) : mapping.render(delivery)
  const sender = openSender({
    store: deliveries,
    outgoing: parts.outgoing,
    kinds: {
      'card mapping': mapping,
      callback: {
        async render(delivery) {
          const order = await orderOf(delivery)
          return order && renderFor(delivery, order)
        },
        judge: (reply) => (reply.is === 'answered' && reply.status === 200 ? 'received' : 'again'),
      },
    },
    clock,
    random,
    heartbeat,
    log,
    timeoutMs: 10_000,
    maxInHand: parts.maxHeld,
    sweepMs: parts.sweepMs * 2,
  })
  const directory = directoriesOf(parts)
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
    enrol: () => Promise.reject(new Error('no card of this world is in a range of 1.0.2')),
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
    onDeliveries: (made, order) => sender.take(made.map((delivery) => ({ delivery, render: () => renderAny(delivery, order) }))),
  })
  const door = wrap.door?.(opened, performers, parts) ?? opened
  const reader = openReader(orders, clock, log)
  const uploads = { method: performUploadMethod, cres: performUploadCres }
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
    pareqParts: () => ({ merchantName: '', country: '840', site: '' }),
    paresRoots: () => [],
    keys: parts.keys,
    orderIds: ids('order', blockOfIds),
    issuerOf: () => undefined,
    clock,
    random,
    log,
    limits: { maxWaiting: 4_000, maxOfMerchant: 1_500 },
    callbackPolicy: policy,
    answered: () => {},
    explains: false,
    decoyKey: secret('decoy'),
    outgoing: wrap.merchantCalls?.(parts.outgoing, parts) ?? parts.outgoing,
    invoices: parts.stores.invoices,
    wrongSums: { count: () => Promise.resolve(0), answer: () => Promise.resolve(undefined) },
    planner,
    sumPage: (token) => `https://gateway.test/sum/${token}`,
    holding: heartbeat.holding,
    policyOf: () => policy,
  }
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

/** The real client of the directory servers, over memory. */
const directoriesOf = ({ issuers, random, log }: GatewayParts) =>
  openDirectories({
    directories: directories.map((name) => ({ name, url: `https://${name}.test/messages`, tls: {}, timeoutMs: 10_000 })),
    server: { threeDSServerRefNumber: server.refNumber, threeDSServerURL: server.resultsUrl },
    outgoing: issuers,
    policy,
    random,
    log,
  })

/** Keys that nobody turns: hours are far longer than a simulation. */
export function openFixedKeys(random: Random): KeyRing {
  const made = new Map(
    (['pan', 'cvv2', 'control', 'fingerprint', 'digest'] as const).map((purpose) => [
      purpose,
      { version: 1n, key: secret(random.bytes(32)) },
    ]),
  )
  return {
    current: (purpose) => made.get(purpose)!,
    version: (purpose, version) => (version === 1n ? made.get(purpose)!.key : undefined),
    turn: () => Promise.resolve(),
  }
}
