import { hostname } from 'node:os'
import { openConnectors } from '../acquirer/connectors.ts'
import { openIso8583Connector } from '../acquirer/iso8583/connector.ts'
import { nextTurn, sleep, type Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import { openTurns } from '../base/turn.ts'
import { openBins } from '../card/store-bins.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Network } from '../http/client-address.ts'
import { openOutgoing } from '../http/outgoing.ts'
import { openServer, type Route } from '../http/server.ts'
import { watchRegistry } from '../merchant/store.ts'
import { pendingMigrations } from '../storage/migrate.ts'
import { openPool } from '../storage/pool.ts'
import { openKeyRing } from '../storage/store-keys.ts'
import { openCell } from './cell.ts'
import { openGateway } from './open.ts'
import { startPeriodic } from './periodic.ts'
import { noDirectories, noRanges, openThreeDSServer, type ThreeDSecureOptions } from './three-d-secure.ts'
import type { Tuning } from './tuning.ts'
import { openMeters, watchRoutes } from './watch.ts'

export interface GatewayOptions {
  databaseUrl: string
  kek: Secret<Buffer>
  host: string
  /** 0 takes a free one. */
  port: number
  /** Where merchants' servers may be called. */
  callbackPolicy: TargetPolicy
  clock: Clock
  random: Random
  log: Log
  /** Where this gateway is reached, such as https://pay.example, browsers by the first; without any the loopback address. */
  publicUrls?: readonly [string, ...string[]]
  /** Proxies in front of it, whose X-Forwarded-For is believed. */
  trustedProxies?: readonly Network[]
  /** Without it no card can be authenticated. */
  threeDSecure?: ThreeDSecureOptions
  /** CVV2 values of the sandbox that steer 3-D Secure. */
  steering: boolean
  /** The log says of a refused checksum what it should have been made of. */
  explains: boolean
  tuning: Tuning
  /** Pages besides, which may need the base URL. */
  routes?: (baseUrl: string) => Route[]
  /** Done when the base URL is known, before the configuration is read: for servers that must know it, and whose own address belongs in the configuration. */
  beforeServing?: (baseUrl: string) => Promise<void>
}

/** A process that serves. */
export interface GatewayProcess {
  port: number
  /** Resolves when the process lost its lease and must go. */
  lost: Promise<void>
  /** Takes at most ten seconds. */
  stop(): Promise<void>
}

export const basePath = '/gateway'
/** All bodies under way together; what comes beyond is refused for load. */
const maxBodiesBytes = 64 * 1024 * 1024
const maxConnections = 5_000
/** How long a stop waits for requests under way. */
const drainMs = 1_500

/**
 * Opens what a gateway stands on, over one PostgreSQL and real sockets, and serves. The database has
 * to be migrated. The server listens first, since others must know its address; it answers 503
 * until everything is there. What was opened is closed again when something fails.
 */
export async function startGateway(o: GatewayOptions): Promise<GatewayProcess> {
  const { clock, random, log } = o
  const ground = { clock, random, log, turns: openTurns(nextTurn) }
  /** Closes what is open, the newest first. */
  const closes: (() => unknown)[] = []
  const close = async () => {
    for (const one of closes.splice(0).reverse()) await one()
  }
  try {
    const pool = openPool({ url: o.databaseUrl, connections: 10, use: 'oltp', log })
    closes.push(() => Promise.race([pool.close(), sleep(clock, 1_000)]))
    const pending = await pendingMigrations(pool)
    if (pending.length > 0) throw new Error(`The database lacks ${pending.join(', ')}. Run \`npx tollgate migrate\` first.`)
    const keys = await openKeyRing(pool, o.kek, clock, random)
    const cell = await openCell(pool, o.databaseUrl, keys, ground)

    const proxies = o.trustedProxies ? { trustedProxies: o.trustedProxies } : {}
    const server = await openServer({ host: o.host, port: o.port, maxBodiesBytes, maxConnections, ...proxies, random, log })
    const closeServer = () => server.close(drainMs)
    closes.push(closeServer)
    const local = (name: string) => `http://${name}:${server.port}`
    const publicUrls = o.publicUrls ?? ([local('127.0.0.1'), local('localhost')] as const)
    const baseUrl = publicUrls[0] + basePath
    await o.beforeServing?.(baseUrl)

    const meters = openMeters()
    const outgoing = openOutgoing({ policy: o.callbackPolicy, clock, perOrigin: 32 })
    closes.push(() => outgoing.close())
    const gates = openConnectors(
      (gate) =>
        openIso8583Connector({
          gate: { ...gate.settings, gateId: gate.gateId },
          clock,
          random,
          log,
          limits: { maxOpen: gate.settings.maxOpen },
          onStray: ({ kind }) => meters.stray(String(gate.gateId), kind),
        }),
      (closed) => void closed,
    )
    closes.push(() => gates.close())
    const bins = await openBins(pool)
    const configuration = await watchRegistry(pool, keys, clock, log, gates.follow)
    closes.push(() => configuration.stop())
    closes.push(
      startPeriodic(clock, log, [
        { name: 'cvv2 keys', everyMs: 300_000, run: () => keys.turn() },
        { name: 'BIN table', everyMs: 1_000, run: () => bins.refresh() },
      ]),
    )
    const threeDSServer = o.threeDSecure && (await openThreeDSServer(o.threeDSecure, pool, ground))
    closes.push(() => threeDSServer?.stop())

    const gateway = await openGateway({
      ground,
      stores: {
        registry: {
          current: configuration.current,
          keys,
          issuerOf: bins.issuerOf,
          ranges: threeDSServer?.ranges ?? (() => noRanges),
        },
        cell,
      },
      transports: { gates, outgoing, directories: threeDSServer?.directories ?? noDirectories },
      settings: {
        instance: `${hostname()}:${server.port}`,
        basePath,
        publicUrls,
        callbackPolicy: o.callbackPolicy,
        ...(threeDSServer && { threeDSecure: threeDSServer.facts }),
        steering: o.steering,
        explains: o.explains,
        tuning: o.tuning,
      },
      meters,
    })
    closes.push(() => gateway.stop())
    closes.push(() => threeDSServer?.refuse())
    await threeDSServer?.begin(gateway.lease, gateway.results)
    await server.serve([
      ...watchRoutes(meters, [gateway], {
        pools: () => outgoing.pools(),
        gates: () => gates.states(),
        configuration: () => configuration.current().version,
        turns: ground.turns.counts,
      }),
      ...(o.routes?.(baseUrl) ?? []),
      ...gateway.routes,
    ])
    closes.splice(closes.indexOf(closeServer), 1)
    closes.push(closeServer)
    return { port: server.port, lost: gateway.lost, stop: close }
  } catch (error) {
    await close()
    throw error
  }
}
