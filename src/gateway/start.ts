import { hostname } from 'node:os'
import { nextTurn, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { openTurns, type Turns } from '../base/turn.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Network } from '../http/client-address.ts'
import { openOutgoing } from '../http/outgoing.ts'
import type { ReadKeyPair } from '../http/key-pair.ts'
import type { Sharing } from '../http/listening.ts'
import { openServer, type Route, type Server } from '../http/server.ts'
import type { LimitSettings } from '../merchant/access-limits.ts'
import { staysAt } from '../storage/cells.ts'
import type { Pool } from '../storage/pool.ts'
import type { KeyRing } from '../keys/ring.ts'
import { peerStore } from './peers/rows.ts'
import { aliveProcesses } from '../leases/silence.ts'
import { openCell } from './cells/cell.ts'
import { openCellGateway } from './cells/cell-gateway.ts'
import type { Cells } from './cells/cells.ts'
import { closingOnFailure, type Closing } from './closing.ts'
import { countingWork, openCounting, type Counting } from './counting.ts'
import type { KeptFor } from '../card/forgetting.ts'
import { leaseOfInstallation, openGates, openInstallation, openRegistry, type InstallationOptions } from './installation.ts'
import { openNodes } from './cells/nodes.ts'
import { openOperatorPort, type OperatorAddress } from './operator-port.ts'
import type { GatewaySettings, Ground, ThreeDSecureFacts } from './parts.ts'
import { openPeering, type PeerAddress, type PeeringParts } from './peers/peering.ts'
import { startPeriodic } from './periodic.ts'
import { openServed, type ServedParts } from './cells/served.ts'
import { noDirectories, noRanges, openThreeDSServer, type ThreeDSecureOptions } from './three-d-secure.ts'
import { renewal } from './renewal.ts'
import type { Tuning } from './tuning.ts'
import { openMeters, watchRoutes, type Meters } from './watch.ts'

/** A process among several of a machine that serve on the same ports. */
export interface Slot {
  /** From 0. Whoever has the number next, of the same parent or a later one, is its successor. */
  no: number
  /** How it comes to the ports of the API and of results. */
  sharing: Sharing
  /** The port of the operator: the parent listens there, and asks all its processes. */
  operator(at: OperatorAddress): Pick<Server, 'port' | 'serve' | 'close'>
}

export interface GatewayOptions extends InstallationOptions {
  host: string
  /** 0 picks a free port. */
  port: number
  /** Where it tells the operator how it is. A port of its own, or a flood would shut that out. */
  operator: OperatorAddress
  /** If it shares its ports with other processes of this machine. */
  slot?: Slot | undefined
  /** Serves the API by TLS, with what it reads; else in plain HTTP. */
  tls?: ReadKeyPair
  /** Where merchants' servers may be called. */
  callbackPolicy: TargetPolicy
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
  /** The cells that this process serves; all if absent. */
  cells?: ReadonlySet<number>
  /** Where others pass requests to this process; if absent, none are passed to it. */
  peer?: PeerAddress
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
/** A few hundred simultaneous connections are then accepted within some dozen turns. */
const acceptsInTurn = 16
/** How long a stop waits for running requests. */
const drainMs = 1_500

/**
 * Opens the foundations of the gateways of a process, over PostgreSQL and real sockets, and serves.
 * The databases must be migrated. If something fails, everything opened is closed again.
 */
export const startGateway = (o: GatewayOptions): Promise<GatewayProcess> => closingOnFailure((closing) => start(o, closing))

async function start(given: GatewayOptions, closing: Closing): Promise<GatewayProcess> {
  const { random, log } = given
  const { pool, keys, clock } = await openInstallation(given, closing)
  const o = { ...given, clock }
  const meters = openMeters(o.tuning.lagEveryMs)
  const turns = openMeteredTurns(clock, meters)
  const ground = { clock, random, log, turns }

  // The servers listen first, as others need an address. They answer 503 until they have routes.
  const { server, renewals, publicUrls } = await openApi(o, turns, closing)
  const operator = await openOperator(o, closing)
  const baseUrl = publicUrls[0] + basePath
  await o.beforeServing?.(baseUrl)

  const outgoing = openOutgoing({ policy: o.callbackPolicy, clock, perOrigin: 256 })
  closing.add(() => outgoing.close())
  const gates = openGates(ground, o.tuning, meters, closing)
  let follow = () => {}
  const configured = await openRegistry({ pool, keys, ground }, closing, (now) => {
    gates.configure(now)
    follow()
  })
  const counting = openCounting({ ground, registry: configured, settings: accessOf(o), meters })
  closing.add(() => lastAccount(counting, log))
  const { oddities } = counting
  const threeDSServer =
    o.threeDSecure && (await openThreeDSServer(o.threeDSecure, { pool, oddities, sharing: o.slot?.sharing }, ground))
  closing.add(() => threeDSServer?.stop())
  const { facts, directories = noDirectories, ranges = () => noRanges } = threeDSServer ?? {}
  const registry = { ...configured, ranges }
  const instance = instanceOf(`${hostname()}:${server.port}`, o.slot)
  const settings = settingsOf(o, { instance, publicUrls, facts })
  const foundations = { registry, ground, transports: { gates, outgoing, directories }, settings }
  const peering =
    o.cells || o.peer ? await openPeering(peeringOf(o, { ...ground, pool, keys, instance, meters }), closing) : undefined
  const nodes = await openNodes({ databaseUrl: o.databaseUrl, pool, clock, log }, closing)
  const open: ServedParts['open'] = (own, shared) =>
    openCellGateway({ ...o, ...foundations, ...shared, pool, nodes, counting, meters }, own)
  const cells = await openServed({ registry, ground, cells: o.cells, passing: peering?.passing, open }, closing)
  follow = cells.openNew
  const inFirst = () => ({ registry, cell: openCell({ cellNo: 0, pool, where: staysAt({ url: o.databaseUrl }), keys }, ground) })
  const lease = cells.of(0)?.gateway.lease ?? (await leaseOfInstallation({ ...foundations, stores: inFirst() }, closing))
  closing.add(() => threeDSServer?.refuse())
  await threeDSServer?.begin(lease, cells.results)
  const work = [...renewals, ...(threeDSServer?.renewals ?? []), ...countingWork(counting, () => aliveProcesses(pool))]
  closing.add(startPeriodic(clock, log, work))
  const shared = {
    connections: () => server.connections(),
    pools: () => outgoing.pools(),
    gates: () => gates.states(),
    configuration: () => registry.current().version,
    directories: () => (facts?.directories ?? []).map((directory) => ({ directory, loaded: ranges().loaded(directory) })),
    turns: turns.counts,
    limits: counting.accessLimits.counts,
    aheadMs: clock.aheadMs,
    away: cells.away,
  }
  await operator.serve(watchRoutes(meters, cells.open, shared))
  await peering?.serve({ routes: cells.routes, gatewayOf: cells.takes, cells: () => takingCells(cells) })
  await server.serve([...(o.routes?.(baseUrl) ?? []), ...cells.routes])
  // Requests end before the parts that answer them.
  closing.add(() => Promise.all([server.close(drainMs), operator.close(drainMs), peering?.refuse(drainMs)]))
  return {
    port: server.port,
    operatorPort: operator.port,
    lost: lease.heartbeat.lost,
    stop: closing.close,
  }
}

interface Peered extends Ground {
  pool: Pool
  keys: KeyRing
  instance: string
  meters: Meters
}

const peeringOf = (o: GatewayOptions, { pool, instance, meters, ...more }: Peered): PeeringParts => ({
  ...more,
  ...meters,
  store: peerStore(pool),
  at: o.peer,
  instance,
  slotNo: o.slot?.no ?? 0,
  limits: { maxBodiesBytes, maxConnections: usualMaxConnections, maxWaiting },
})

/** The cells whose requests this process takes. */
const takingCells = (cells: Cells): number[] =>
  cells
    .open()
    .filter((cell) => cell.takesRequests())
    .map(({ cellNo }) => cellNo)

/** The name of a process in the heartbeats: alone a host and port, else its slot as well. */
const instanceOf = (hostAndPort: string, slot: Slot | undefined): string => (slot ? `${hostAndPort}/${slot.no}` : hostAndPort)

interface FoundSettings {
  instance: string
  publicUrls: readonly [string, ...string[]]
  facts: ThreeDSecureFacts | undefined
}

const settingsOf = (o: GatewayOptions, { facts, ...found }: FoundSettings): GatewaySettings => ({
  ...found,
  basePath,
  callbackPolicy: o.callbackPolicy,
  access: accessOf(o),
  ...(facts && { threeDSecure: facts }),
  steering: o.steering,
  explains: o.explains,
  tuning: o.tuning,
})

const accessOf = ({ limits, trustedProxies = [] }: GatewayOptions): GatewaySettings['access'] => ({ limits, trustedProxies })

const lastAccount = ({ access, oddities }: Counting, log: Log): Promise<unknown> =>
  Promise.all([access.flush(), oddities.flush()]).catch((error) =>
    log.warn({ reason: reasonOf(error) }, 'the last refused requests and oddities were not stored'),
  )

async function openApi(o: GatewayOptions, turns: Turns, closing: Closing) {
  const { host, port, clock, random, log, trustedProxies, maxConnections = usualMaxConnections } = o
  const { maxPerAddress = Math.ceil(maxConnections / 5) } = o
  const limits = { maxBodiesBytes, maxConnections, maxPerAddress, maxWaiting, acceptsInTurn }
  const proxies = trustedProxies ? { trustedProxies } : {}
  const pair = o.tls?.()
  const tls = pair ? { tls: pair } : {}
  const server = await openServer({ host, port, sharing: o.slot?.sharing, ...limits, ...proxies, ...tls, turns, random, log })
  closing.add(() => server.close(drainMs))
  const renewals = pair ? [renewal('the API', { pair, read: o.tls!, renew: server.renew }, { clock, log })] : []
  const local = (name: string) => `${pair ? 'https' : 'http'}://${name}:${server.port}`
  return { server, renewals, publicUrls: o.publicUrls ?? ([local('127.0.0.1'), local('localhost')] as const) }
}

async function openOperator({ operator: at, slot, random, log }: GatewayOptions, closing: Closing) {
  if (slot) return slot.operator(at)
  const operator = await openOperatorPort(at, { random, log })
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
