import { openConnectors } from '../../src/acquirer/connectors.ts'
import { openIso8583Connector } from '../../src/acquirer/iso8583/connector.ts'
import { openTurns } from '../../src/base/turn.ts'
import { performUploadCres } from '../../src/gateway-api/upload-cres.ts'
import { performUploadMethod } from '../../src/gateway-api/upload-method.ts'
import { performUploadPares } from '../../src/gateway-api/upload-pares.ts'
import { takesRequests, type OpenCell } from '../../src/gateway/cells/cell-gateway.ts'
import { closingOnFailure, type Closing } from '../../src/gateway/closing.ts'
import { openCounting } from '../../src/gateway/counting.ts'
import { OpenElsewhere } from '../../src/gateway/guard.ts'
import { cellOf } from '../../src/gateway/cells/lead.ts'
import { openGateway, type Gateway as ProductGateway, type GatewayParts as OpenGatewayParts } from '../../src/gateway/open.ts'
import type { CellStores, GatewaySettings, RegistryStores, Transports } from '../../src/gateway/parts.ts'
import { leaseOfInstallation } from '../../src/gateway/installation.ts'
import { usualTuning } from '../../src/gateway/tuning.ts'
import { openServed, type ServedParts } from '../../src/gateway/cells/served.ts'
import { watchRegistry, type LiveRegistry } from '../../src/merchant/live.ts'
import type { Outgoing } from '../../src/http/outgoing.ts'
import type { Performer } from '../../src/order/perform.ts'
import { usualLimits } from '../../src/merchant/access-limits.ts'
import { hostedOrders } from '../../src/pages/three-d-secure-order.ts'
import type { Heartbeat } from '../../src/leases/heartbeat.ts'
import { drawIds } from '../../src/storage/ids.ts'
import { askBy } from '../../src/three-d-secure/legacy/directory.ts'
import { answerResult } from '../../src/three-d-secure/inbound.ts'
import { heartOf } from '../model/beating.ts'
import { callRoute } from './call-route.ts'
import { openDuties, type Duties } from '../model/duties.ts'
import { cardRanges, configuration, directories } from '../model/configuration.ts'
import { directoriesOf, oddities, policy, server } from '../parties/directory-clients.ts'
import type { CellGateway, Gateway, GatewayParts, Hosted, Performers, ProcessParts, SharedParts } from './gateway-parts.ts'
import { openStrays } from '../watch/strays.ts'

const origin = 'https://gateway.test'
const basePath = '/gateway'
/** Address of the pages for random sums, without the token at its end. */
export const sumPages = `${origin}${basePath}/random-sum/`
const blockOfIds = 1_000
/** Directory servers by the common name of their certificate. */
const peers: ReadonlyMap<string, string> = new Map(directories.map((name) => [name, name]))
const meters = { answered: () => {}, repeated: () => {}, settled: () => {}, accessRefused: () => {}, odd: () => {} }

/** Starts the gateways of production, on the model and the simulated network. */
export const startGateway = (given: ProcessParts): Promise<Gateway> => closingOnFailure((closing) => start(given, closing))

async function start(given: ProcessParts, closing: Closing): Promise<Gateway> {
  const { wrap, clock, random, log, configured } = given
  const { refresh, lookedAt, stop, ...live } = configured ? await watchRegistry(configured, clock, log, () => {}) : unchanging
  closing.add(stop)
  const current = () => wrap.registry?.(live.current(), given.serves) ?? live.current()
  const parts = { ...given, keys: wrap.keys?.(given.keys) ?? given.keys, registry: current }
  const ground = { clock, random, log, turns: openTurns(queueMicrotask) }
  const { gates, ...transports } = transportsOf(parts)
  closing.add(gates.close)
  closing.add(transports.close)
  const settings = settingsOf(parts)
  const registry = {
    current,
    refresh,
    lookedAt,
    keys: parts.keys,
    issuerOf: () => undefined,
    logo: () => Promise.resolve(undefined),
    ranges: () => cardRanges,
    addRefusedAccess: () => Promise.resolve(),
    addOddities: () => Promise.resolve(),
  }
  const counting = openCounting({ ground, registry, settings: settings.access, meters })
  const shared = { ground, settings, counting, meters }
  const rooms = new Map<number, CellGateway>()
  const isAlone = parts.cells.size === 1
  const beats = new Map<number, Heartbeat>()
  const duties = isAlone ? undefined : openDuties(given.onTwice)
  const holding = (cellNo: number, since: number) => beats.get(cellNo)?.holding(since) ?? true
  const over = (own: GatewayParts) => ({
    ...shared,
    stores: { registry: { ...registry, ids: idsOf(own) }, cell: cellStores(own) },
    transports: { gates, ...transports, outgoing: outgoingOf(own, duties, holding) },
  })
  const open: ServedParts['open'] = async ({ cellNo }, others) => {
    const own = partsOf(parts, cellNo)
    // A world of one cell stays the same to the byte.
    const { room, ...gateway } = await openCellGateway({ ...over(own), ...(isAlone ? {} : others) }, own, duties)
    rooms.set(cellNo, room)
    beats.set(cellNo, gateway.lease.heartbeat)
    given.onNumber(cellNo, gateway.processId)
    return openCellOf(cellNo, gateway)
  }
  const served = await openServed({ registry, ground, cells: parts.serves, open }, closing)
  const { routes, of } = served
  const results = isAlone ? of(0)!.gateway.results : served.results
  const lease = of(0)?.gateway.lease ?? (await leaseOfInstallation(over(partsOf(parts, 0)), closing))
  const inbound: Gateway['result'] = (text, peer) =>
    answerResult(Buffer.from(text), { senders: peers, oddities, ...ground }, results, peer)
  return {
    registry: current,
    leadTo(subject) {
      const params = 'token' in subject ? subject : { endpoint: String(subject.endpointId) }
      const roomOf = (cellNo: number) => (of(cellNo)?.takesRequests() ? rooms.get(cellNo) : undefined)
      const room = roomOf(cellOf({ params }, current()) ?? 0)
      return room && { ...room, hosted: leading(room.hosted, roomOf) }
    },
    call: (method, path, body) => callRoute(routes, method, basePath + path, body),
    result: wrap.inbound?.(inbound, partsOf(parts, served.open()[0]!.cellNo)) ?? inbound,
    lost: lease.heartbeat.lost,
    stop: closing.close,
  }
}

function partsOf(parts: ProcessParts & SharedParts, cellNo: number): GatewayParts {
  const own = { ...parts, ...parts.cells.get(cellNo)! }
  return { ...own, stores: own.wrap.stores?.(own.stores, own) ?? own.stores }
}

/** Calls to merchants' servers, each of which is a duty. */
function outgoingOf(
  own: GatewayParts,
  duties: Duties | undefined,
  holding: (cellNo: number, since: number) => boolean,
): Outgoing {
  const { wrap, outgoing, cellNo: over, clock } = own
  const { send, close } = wrap.outgoing?.(outgoing, own) ?? outgoing
  if (!duties) return { send, close }
  const dutyOf = ({ url, body }: Parameters<typeof send>[0]) => {
    const since = clock.monotonic()
    return { over, what: `${url} ${String(body ?? '')}`, isOwned: () => holding(over, since) }
  }
  return { close, send: (request) => duties.during(dutyOf(request), () => send(request)) }
}

const idsOf =
  ({ stores }: GatewayParts): RegistryStores['ids'] =>
  (name, block = blockOfIds) =>
    drawIds(() => stores.reserve(name, block), block)

/** The gateway over one cell, and its rooms as customers reach them. */
async function openCellGateway(parts: OpenGatewayParts, own: GatewayParts, duties: Duties | undefined) {
  const { wrap } = own
  let performing: Performers | undefined
  const gateway = await openGateway(parts, {
    heartbeat: (heartbeat) => wrap.heartbeat?.(heartbeat, own) ?? heartbeat,
    performers(performers) {
      performing = wrap.performers?.(performers) ?? performers
      return duties ? watched(performing, own, duties) : performing
    },
    door: (door, performers) => wrap.door?.(door, performers, own) ?? door,
  })
  const { ports } = gateway
  const uploads = { method: performUploadMethod, cres: performUploadCres, pares: performUploadPares }
  const finding = { locate: ports.orders.locate, order: ports.orders.byId, merchant: (id: bigint) => own.registry().merchant(id) }
  const hosted = hostedOrders({ ...ports, ...finding })
  const room: CellGateway = {
    ports,
    uploads: wrap.uploads?.(uploads) ?? uploads,
    hosted: wrap.hosted?.(hosted, performing!, own) ?? hosted,
  }
  return { ...gateway, room, results: wrap.results?.(gateway.results, own) ?? gateway.results }
}

function watched(performers: Performers, { cellNo: over, owns }: GatewayParts, duties: Duties): Performers {
  const each = Object.entries(performers).map(([step, perform]): [string, Performer] => [
    step,
    (held, transaction, later) => {
      const what = `${step} of order ${held.order.orderId}/${transaction.no}`
      const isOwned = () => owns(held.order, transaction)
      return duties.during({ over, what, isOwned }, () => perform(held, transaction, later))
    },
  ])
  return Object.fromEntries(each) as Performers
}

const none = () => 0
const unchanging: LiveRegistry = {
  current: () => configuration,
  refresh: () => Promise.resolve(),
  lookedAt: () => Infinity,
  stop() {},
}

/** A page of a merchant that has moved is led to the gateway over its cell. */
function leading({ methodBegun, browserCollected }: Hosted, roomOf: (cellNo: number) => CellGateway | undefined): Hosted {
  const elsewhere = (error: unknown): Hosted => {
    const room = error instanceof OpenElsewhere ? roomOf(error.cellNo) : undefined
    if (!room) throw error
    return room.hosted
  }
  return {
    methodBegun: (...args) => methodBegun(...args).catch((error) => elsewhere(error).methodBegun(...args)),
    browserCollected: (...args) => browserCollected(...args).catch((error) => elsewhere(error).browserCollected(...args)),
  }
}

const openCellOf = (cellNo: number, gateway: ProductGateway): OpenCell => ({
  cellNo,
  gateway,
  gauges: gateway.gauges,
  unready: gateway.unready,
  node: () => undefined,
  takesRequests: () => takesRequests(gateway),
  duties: { resealed: none, cardsForgotten: none, partitionDays: none },
  stop: gateway.stop,
})

function cellStores({ cellNo, stores, clock, ...parts }: GatewayParts): CellStores {
  return {
    cellNo,
    ...stores,
    ...heartOf({ ...parts, clock }),
    upkeep: [{ name: 'Idempotency-Keys', everyMs: 60_000, run: () => stores.orders.forgetIdempotencyKeys(clock.now()) }],
    answers: () => Promise.resolve(),
  }
}

const settingsOf = ({ name, legacy, maxHeld, sweepMs }: SharedParts): GatewaySettings => ({
  instance: name,
  basePath,
  publicUrls: [origin],
  callbackPolicy: policy,
  access: { limits: usualLimits, trustedProxies: [] },
  threeDSecure: { server, directories, legacy: legacy.directories },
  steering: false,
  explains: false,
  tuning: { ...usualTuning, maxHeld, sweepMs },
})

function transportsOf(parts: SharedParts) {
  const { wrap, clock, random, log, legacy } = parts
  const gates = openConnectors(
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
  gates.configure(parts.registry())
  const client = directoriesOf(parts)
  return {
    gates,
    directories: { authenticate: client.authenticate, enrol: askBy({ ...legacy, policy, oddities }) },
    close: client.close,
  } satisfies Omit<Transports, 'outgoing'> & { close: () => Promise<void> }
}
