import { hostname } from 'node:os'
import { openConnectors, type Connectors } from '../acquirer/connectors.ts'
import { openIso8583Connector } from '../acquirer/iso8583/connector.ts'
import { nextTurn, sleep, type Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { openTurns, type Turns } from '../base/turn.ts'
import { openBins } from '../card/store-bins.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Network } from '../http/client-address.ts'
import { openOutgoing } from '../http/outgoing.ts'
import type { ReadKeyPair } from '../http/key-pair.ts'
import { openServer, type Route, type Server } from '../http/server.ts'
import type { LimitSettings } from '../merchant/access-limits.ts'
import { addRefusedAccess } from '../merchant/store-refused-access.ts'
import { watchRegistry } from '../merchant/store.ts'
import { openPool, type Pool } from '../storage/pool.ts'
import { openIds } from '../storage/store-ids.ts'
import type { HourKeys } from '../storage/hour-keys.ts'
import type { KeyEncryption } from '../storage/key-encryption.ts'
import { openKeyRing, refreshMs, type KeyRing } from '../storage/store-keys.ts'
import { openCell } from './cell.ts'
import { refuseDatabase, watchPartitions } from './database.ts'
import { startForgetting, type KeptFor } from './forgetting.ts'
import { openGateway } from './open.ts'
import type { Ground, RegistryStores } from './parts.ts'
import { startPeriodic } from './periodic.ts'
import { noDirectories, noRanges, openThreeDSServer, type ThreeDSecureOptions } from './three-d-secure.ts'
import { renewal } from './renewal.ts'
import { startResealing } from './resealing.ts'
import type { Tuning } from './tuning.ts'
import { openMeters, watchRoutes, type Meters } from './watch.ts'

export interface GatewayOptions {
  databaseUrl: string
  /** Whether it may connect as the owner of the tables. It only warns then. */
  ownerAllowed: boolean
  kek: KeyEncryption
  hourKeys: HourKeys
  host: string
  /** 0 picks a free port. */
  port: number
  /** Where it tells the operator how it is. A port of its own, or a flood would shut that out. */
  operator: { host: string; port: number }
  /** Serves the API by TLS, with what it reads; else in plain HTTP. */
  tls?: ReadKeyPair
  /** Where merchants' servers may be called. */
  callbackPolicy: TargetPolicy
  clock: Clock
  random: Random
  log: Log
  /**
   * The addresses of this gateway, such as https://pay.example. Browsers are sent to the first. By
   * default the loopback address.
   */
  publicUrls?: readonly [string, ...string[]]
  /** Proxies in front of it, whose X-Forwarded-For is trusted. */
  trustedProxies?: readonly Network[]
  /** So many connections are open at most; 5,000 by default. */
  maxConnections?: number
  /** So many of them may be of one address, unless it is a trusted proxy's; a fifth by default. */
  maxPerAddress?: number
  limits: LimitSettings
  /** How long card numbers of ended payments are kept; if absent, until an operator erases them. */
  cardsKeptFor?: KeptFor
  /** If absent, no card can be authenticated. */
  threeDSecure?: ThreeDSecureOptions
  /** CVV2 values of the sandbox that steer 3-D Secure. */
  steering: boolean
  /** Whether the log shows the text from which a rejected checksum should have been made. */
  explains: boolean
  tuning: Tuning
  /** Further pages, which may need the base URL. */
  routes?: (baseUrl: string) => Route[]
  /**
   * Runs once the base URL is known, before the configuration is read: for servers that need the
   * base URL, and whose own address belongs in the configuration.
   */
  beforeServing?: (baseUrl: string) => Promise<void>
}

/** A process that serves. */
export interface GatewayProcess {
  port: number
  operatorPort: number
  /** Resolves when the process has lost its lease and must stop. */
  lost: Promise<void>
  /** Takes at most ten seconds. */
  stop(): Promise<void>
}

export const basePath = '/gateway'
/**
 * The total size of all bodies being read, in bytes. Further requests are refused because of load.
 */
const maxBodiesBytes = 64 * 1024 * 1024
const usualMaxConnections = 5_000
/**
 * So many requests may wait for their turn before further payments are refused because of load. The
 * last one then waits for half a second, or for a second under a flood.
 */
const maxWaiting = 1_500
/** A few hundred that come at once are then accepted within some dozen turns. */
const acceptsInTurn = 16
/** Nobody but the operator's probes comes there. */
const operatorLimits = { maxBodiesBytes: 0, maxConnections: 100 }
/** How long a stop waits for running requests. */
const drainMs = 1_500

/** Everything that is open, the newest first. It is closed at the end, or if a start fails. */
interface Closing {
  add(close: () => unknown): void
  close(): Promise<void>
}

function openClosing(): Closing {
  const closes: (() => unknown)[] = []
  return {
    add: (close) => void closes.push(close),
    async close() {
      for (const one of closes.splice(0).reverse()) await one()
    },
  }
}

/**
 * Opens the foundations of a gateway, over one PostgreSQL and real sockets, and serves. The
 * database must be migrated. If something fails, everything opened is closed again.
 */
export async function startGateway(o: GatewayOptions): Promise<GatewayProcess> {
  const closing = openClosing()
  try {
    return await start(o, closing)
  } catch (error) {
    await closing.close()
    throw error
  }
}

async function start(o: GatewayOptions, closing: Closing): Promise<GatewayProcess> {
  const { clock, random, log, callbackPolicy } = o
  const meters = openMeters()
  const turns = openMeteredTurns(clock, meters)
  const ground = { clock, random, log, turns }
  const { pool, partitionDays } = await openDatabase(o, closing)
  const keys = await openKeyRing(pool, o.kek, clock, random, o.hourKeys)
  const cell = openCell({ pool, databaseUrl: o.databaseUrl, keys }, ground)

  // The servers listen first, as others need an address. They answer 503 until they have routes.
  const { server, renewals, publicUrls } = await openApi(o, turns, closing)
  const operator = await openOperator(o, closing)
  const baseUrl = publicUrls[0] + basePath
  await o.beforeServing?.(baseUrl)

  const outgoing = openOutgoing({ policy: callbackPolicy, clock, perOrigin: 256 })
  closing.add(() => outgoing.close())
  const gates = openGates(ground, meters)
  closing.add(() => gates.close())
  const { configuration, bins } = await openRegistry(pool, keys, ground, gates, closing)
  const threeDSServer = o.threeDSecure && (await openThreeDSServer(o.threeDSecure, pool, ground))
  closing.add(() => threeDSServer?.stop())
  const { facts, directories = noDirectories, ranges = () => noRanges } = threeDSServer ?? {}

  const gateway = await openGateway({
    ground,
    stores: {
      registry: { ...registryOf(pool, keys), current: configuration.current, issuerOf: bins.issuerOf, ranges },
      cell,
    },
    transports: { gates, outgoing, directories },
    settings: {
      instance: `${hostname()}:${server.port}`,
      basePath,
      publicUrls,
      callbackPolicy,
      access: { limits: o.limits, trustedProxies: o.trustedProxies ?? [] },
      ...(facts && { threeDSecure: facts }),
      steering: o.steering,
      explains: o.explains,
      tuning: o.tuning,
    },
    meters,
  })
  closing.add(() => gateway.stop())
  closing.add(() => threeDSServer?.refuse())
  await threeDSServer?.begin(gateway.lease, gateway.results)
  const resealing = startResealing({ pool, keys, ...gateway.lease, clock, random, log })
  closing.add(() => resealing.stop())
  const forgetting = startForgetting({ pool, keys, ...gateway.lease, clock, random, log }, o.cardsKeptFor)
  closing.add(() => forgetting.stop())
  const shared = {
    connections: () => server.connections(),
    pools: () => outgoing.pools(),
    gates: () => gates.states(),
    configuration: () => configuration.current().version,
    directories: () => (facts?.directories ?? []).map((directory) => ({ directory, loaded: ranges().loaded(directory) })),
    turns: turns.counts,
    resealed: resealing.rows,
    cardsForgotten: forgetting.cards,
    partitionDays,
  }
  closing.add(startPeriodic(clock, log, [...renewals, ...(threeDSServer?.renewals ?? [])]))
  await operator.serve(watchRoutes(meters, [gateway], shared))
  await server.serve([...(o.routes?.(baseUrl) ?? []), ...gateway.routes])
  // Requests end before the parts that answer them.
  closing.add(() => Promise.all([server.close(drainMs), operator.close(drainMs)]))
  return { port: server.port, operatorPort: operator.port, lost: gateway.lost, stop: closing.close }
}

async function openApi(o: GatewayOptions, turns: Turns, closing: Closing) {
  const { host, port, clock, random, log, trustedProxies, maxConnections = usualMaxConnections } = o
  const { maxPerAddress = Math.ceil(maxConnections / 5) } = o
  const limits = { maxBodiesBytes, maxConnections, maxPerAddress, maxWaiting, acceptsInTurn }
  const proxies = trustedProxies ? { trustedProxies } : {}
  const pair = o.tls?.()
  const tls = pair ? { tls: pair } : {}
  const server = await openServer({ host, port, ...limits, ...proxies, ...tls, turns, random, log })
  closing.add(() => server.close(drainMs))
  const renewals = pair ? [renewal('the API', { pair, read: o.tls!, renew: server.renew }, { clock, log })] : []
  const local = (name: string) => `${pair ? 'https' : 'http'}://${name}:${server.port}`
  return { server, renewals, publicUrls: o.publicUrls ?? ([local('127.0.0.1'), local('localhost')] as const) }
}

/** Its requests wait for no turn: a probe must not take a busy process for a dead one. */
async function openOperator({ operator: at, random, log }: GatewayOptions, closing: Closing): Promise<Server> {
  const operator = await openServer({ ...at, ...operatorLimits, turns: { begin: () => undefined }, random, log })
  closing.add(() => operator.close(drainMs))
  return operator
}

function openMeteredTurns(clock: Clock, meters: Meters): Turns {
  return openTurns((fn) => {
    const began = clock.monotonic()
    nextTurn(() => {
      meters.turned((clock.monotonic() - began) / 1_000)
      fn()
    })
  })
}

async function openDatabase({ databaseUrl, ownerAllowed, clock, log }: GatewayOptions, closing: Closing) {
  const pool = openPool({ url: databaseUrl, connections: 10, use: 'oltp', log })
  closing.add(() => Promise.race([pool.close(), sleep(clock, 1_000)]))
  await refuseDatabase(pool, ownerAllowed, log)
  const partitions = await watchPartitions(pool, clock, log)
  closing.add(partitions.stop)
  return { pool, partitionDays: partitions.days }
}

/** The lines to the acquirers, one for each gate. */
const openGates = ({ clock, random, log }: Ground, meters: Meters): Connectors =>
  openConnectors(
    (gate) =>
      openIso8583Connector({
        gate: { ...gate.settings, gateId: gate.gateId, ...(gate.secrets && { secrets: gate.secrets }) },
        clock,
        random,
        log,
        limits: { maxOpen: gate.settings.maxOpen },
        onStray: ({ kind }) => meters.stray(String(gate.gateId), kind),
      }),
    (closed) => void closed,
  )

const registryOf = (pool: Pool, keys: KeyRing): Pick<RegistryStores, 'keys' | 'ids' | 'addRefusedAccess'> => ({
  keys,
  ids: (name, block) => openIds(pool, name, block),
  addRefusedAccess: (sums) => addRefusedAccess(pool, sums),
})

/** The configuration and the BIN table. Both are kept up to date from now on. */
async function openRegistry(pool: Pool, keys: KeyRing, { clock, log }: Ground, gates: Connectors, closing: Closing) {
  const bins = await openBins(pool)
  const configuration = await watchRegistry(pool, keys, clock, log, gates.follow)
  closing.add(() => configuration.stop())
  closing.add(
    startPeriodic(clock, log, [
      { name: 'turn of keys', everyMs: 300_000, run: () => keys.turn() },
      { name: 'versions of keys', everyMs: refreshMs, run: () => keys.refresh() },
      { name: 'BIN table', everyMs: 1_000, run: () => bins.refresh() },
    ]),
  )
  return { configuration, bins }
}
