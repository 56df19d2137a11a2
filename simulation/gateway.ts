import { openConnectors } from '../src/acquirer/connectors.ts'
import { openIso8583Connector } from '../src/acquirer/iso8583/connector.ts'
import { openTurns } from '../src/base/turn.ts'
import { performUploadCres } from '../src/gateway-api/upload-cres.ts'
import { performUploadMethod } from '../src/gateway-api/upload-method.ts'
import { performUploadPares } from '../src/gateway-api/upload-pares.ts'
import { openCounting } from '../src/gateway/counting.ts'
import { openGateway } from '../src/gateway/open.ts'
import type { CellStores, GatewaySettings, RegistryStores, Transports } from '../src/gateway/parts.ts'
import { usualLimits } from '../src/merchant/access-limits.ts'
import { hostedOrders } from '../src/pages/three-d-secure-order.ts'
import { drawIds } from '../src/storage/store-ids.ts'
import { askBy } from '../src/three-d-secure/directory-legacy.ts'
import { answerResult } from '../src/three-d-secure/inbound.ts'
import { heartOf } from './beating.ts'
import { callRoute } from './call-route.ts'
import { cardRanges, directories } from './configuration.ts'
import { directoriesOf, policy, server } from './directory-clients.ts'
import type { Gateway, GatewayParts, Performers } from './gateway-parts.ts'
import { openStrays } from './strays.ts'

const origin = 'https://gateway.test'
const basePath = '/gateway'
/** Address of the pages for random sums, without the token at its end. */
export const sumPages = `${origin}${basePath}/random-sum/`
const blockOfIds = 1_000
/** Directory servers by the common name of their certificate. */
const peers: ReadonlyMap<string, string> = new Map(directories.map((name) => [name, name]))
const meters = { answered: () => {}, repeated: () => {}, accessRefused: () => {} }

/** Starts the gateway of production, on the model and the simulated network. */
export async function startGateway(given: GatewayParts): Promise<Gateway> {
  const { wrap, clock, random, log } = given
  const parts = {
    ...given,
    keys: wrap.keys?.(given.keys) ?? given.keys,
    stores: wrap.stores?.(given.stores, given) ?? given.stores,
  }
  const ground = { clock, random, log, turns: openTurns(queueMicrotask) }
  const registry: RegistryStores = {
    current: () => parts.registry,
    refresh: () => Promise.resolve(),
    keys: parts.keys,
    ids: (name, block = blockOfIds) => drawIds(() => parts.stores.reserve(name, block), block),
    issuerOf: () => undefined,
    ranges: () => cardRanges,
    addRefusedAccess: () => Promise.resolve(),
  }
  const { gates, ...transports } = transportsOf(parts)
  const settings = settingsOf(parts)
  const counting = openCounting({ ground, registry, settings: settings.access, meters })
  let performing: Performers | undefined
  const gateway = await openGateway(
    {
      ground,
      stores: { registry, cell: cellOf(parts) },
      transports: { gates, ...transports },
      settings,
      counting,
      meters,
    },
    {
      heartbeat: (own) => wrap.heartbeat?.(own, parts) ?? own,
      performers: (own) => (performing = wrap.performers?.(own) ?? own),
      door: (own, performers) => wrap.door?.(own, performers, parts) ?? own,
    },
  )
  const { ports, routes } = gateway
  const uploads = { method: performUploadMethod, cres: performUploadCres, pares: performUploadPares }
  const finding = { locate: ports.orders.locate, order: ports.orders.byId, merchant: parts.registry.merchant }
  const hosted = hostedOrders({ ...ports, ...finding })
  const results = wrap.results?.(gateway.results, parts) ?? gateway.results
  const inbound: Gateway['result'] = (text, peer) => answerResult(Buffer.from(text), { peers, ...ground }, results, peer)
  return {
    processId: gateway.processId,
    ports,
    call: (method, path, body) => callRoute(routes, method, basePath + path, body),
    uploads: wrap.uploads?.(uploads) ?? uploads,
    hosted: wrap.hosted?.(hosted, performing!, parts) ?? hosted,
    result: wrap.inbound?.(inbound, parts) ?? inbound,
    lost: gateway.lost,
    async stop() {
      await gateway.stop()
      await transports.close()
      await gates.close()
    },
  }
}

function cellOf({ stores, clock, ...parts }: GatewayParts): CellStores {
  return {
    cellNo: 0,
    ...stores,
    useNonces: () => Promise.resolve([]),
    ...heartOf({ ...parts, clock }),
    upkeep: [{ name: 'Idempotency-Keys', everyMs: 60_000, run: () => stores.orders.forgetIdempotencyKeys(clock.now()) }],
    answers: () => Promise.resolve(),
  }
}

const settingsOf = ({ name, legacy, maxHeld, sweepMs }: GatewayParts): GatewaySettings => ({
  instance: name,
  basePath,
  publicUrls: [origin],
  callbackPolicy: policy,
  access: { limits: usualLimits, trustedProxies: [] },
  threeDSecure: { server, directories, legacy: legacy.directories },
  steering: false,
  explains: false,
  tuning: { maxBatch: 256, maxHeld, handOver: true, lanes: 1, sweepMs },
})

function transportsOf(parts: GatewayParts) {
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
  gates.follow(parts.registry)
  const client = directoriesOf(parts)
  return {
    gates,
    outgoing: wrap.outgoing?.(parts.outgoing, parts) ?? parts.outgoing,
    directories: { authenticate: client.authenticate, enrol: askBy(legacy.directories, legacy.outgoing, policy) },
    close: client.close,
  } satisfies Transports & { close: () => Promise<void> }
}
