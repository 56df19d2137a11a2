import type { Duplex } from 'node:stream'
import type { Ledger } from '../simulators/acquirer/ledger.ts'
import type { Connector } from '../src/acquirer/connector.ts'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import type { Random } from '../src/base/random.ts'
import type { performUploadCres } from '../src/gateway-api/upload-cres.ts'
import type { performUploadMethod } from '../src/gateway-api/upload-method.ts'
import type { performUploadPares } from '../src/gateway-api/upload-pares.ts'
import type { Ports } from '../src/gateway/open.ts'
import type { Outgoing } from '../src/http/outgoing.ts'
import type { Answer } from '../src/http/server.ts'
import type { Registry } from '../src/merchant/merchant.ts'
import type { Door } from '../src/order/advance.ts'
import type { OutsideStep, Performer } from '../src/order/perform.ts'
import type { hostedOrders } from '../src/pages/three-d-secure-order.ts'
import type { LegacyDirectory } from '../src/three-d-secure/directory-legacy.ts'
import type { Results } from '../src/three-d-secure/inbound.ts'
import type { Pulse } from '../src/storage/pulse.ts'
import type { Heartbeat } from '../src/storage/store-heartbeat.ts'
import type { KeyRing } from '../src/storage/store-keys.ts'
import type { HeartThread } from './beating.ts'
import type { Invoices } from './invoices.ts'
import type { Stores } from './store-line.ts'
import type { StoreModel } from './store-model.ts'
import type { Sums } from './sums.ts'
import type { Strays } from './strays.ts'

/** The parts of a process. A planted bug replaces one, or wraps what is built from them. */
export interface GatewayParts {
  name: string
  clock: Clock
  random: Random
  log: Log
  keys: KeyRing
  stores: Stores
  thread: HeartThread
  registry: Registry
  connect: () => Duplex
  outgoing: Outgoing
  /** Calls to the directory servers. */
  issuers: Outgoing
  /** Calls to the directory servers of 1.0.2, and the servers with their root certificates. */
  legacy: { outgoing: Outgoing; directories: readonly LegacyDirectory[] }
  /** How many orders are in memory at once; few, so that some are committed without a lease. */
  maxHeld: number
  sweepMs: number
  wrap: Wraps
}

export type Performers = Record<OutsideStep, Performer>

/** The places where a planted bug may change the parts. */
export interface Wraps {
  keys?: (keys: KeyRing) => KeyRing
  stores?: (stores: Stores, parts: GatewayParts) => Stores
  heartbeat?: (heartbeat: Heartbeat, parts: GatewayParts) => Heartbeat
  /** The memory that the main loop shares with the heart, as one of them sees it. */
  pulse?: (pulse: Pulse, seenBy: 'loop' | 'heart', clock: Clock) => Pulse
  connector?: (connector: Connector, parts: GatewayParts, strays: Strays) => Connector
  performers?: (performers: Performers) => Performers
  door?: (door: Door, performers: Performers, parts: GatewayParts) => Door
  results?: (results: Results, parts: GatewayParts) => Results
  inbound?: (inbound: Gateway['result'], parts: GatewayParts) => Gateway['result']
  uploads?: (uploads: Uploads) => Uploads
  hosted?: (hosted: Hosted, performers: Performers, parts: GatewayParts) => Hosted
  /** Calls to merchants' servers. */
  outgoing?: (outgoing: Outgoing, parts: GatewayParts) => Outgoing
  /** The tables, and the statements on them. */
  model?: (model: StoreModel) => void
  /** The table of invoices. */
  invoices?: (invoices: Invoices) => Invoices
  /** The table of wrong sums. */
  sums?: (sums: Sums) => Sums
  /** The acquirer's books, for a bug of the acquirer. */
  ledger?: (ledger: Ledger) => Ledger
}

export interface Uploads {
  method: typeof performUploadMethod
  cres: typeof performUploadCres
  pares: typeof performUploadPares
}

/** Calls of the hosted page while it runs the method. */
export type Hosted = Pick<ReturnType<typeof hostedOrders>, 'methodBegun' | 'browserCollected'>

export interface Gateway {
  processId: bigint
  ports: Ports
  uploads: Uploads
  hosted: Hosted
  /** A request over HTTP; the path without the base path. */
  call(method: 'GET' | 'POST', path: string, body?: string): Promise<Answer>
  /**
   * This directory server posts a result. Resolves to the text of the answer, or to nothing if the
   * result could not be stored.
   */
  result(text: string, directory: string): Promise<string | undefined>
  lost: Promise<void>
  /** Stops the parts in the same order as main. */
  stop(): Promise<void>
}
