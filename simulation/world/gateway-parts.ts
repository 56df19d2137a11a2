import type { Duplex } from 'node:stream'
import type { Ledger } from '../../simulators/acquirer/ledger.ts'
import type { Connector } from '../../src/acquirer/connector.ts'
import type { Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import type { performUploadCres } from '../../src/gateway-api/upload-cres.ts'
import type { performUploadMethod } from '../../src/gateway-api/upload-method.ts'
import type { performUploadPares } from '../../src/gateway-api/upload-pares.ts'
import type { Ports } from '../../src/gateway/open.ts'
import type { Outgoing } from '../../src/http/outgoing.ts'
import type { Answer } from '../../src/http/server.ts'
import type { Registry } from '../../src/merchant/merchant.ts'
import type { RegistryReads } from '../../src/merchant/live.ts'
import type { Change, OrderKey } from '../../src/order/decide/change.ts'
import type { Transaction } from '../../src/order/decide/order.ts'
import type { Door } from '../../src/order/door/advance.ts'
import type { OutsideStep, Performer } from '../../src/order/perform.ts'
import type { hostedOrders } from '../../src/pages/three-d-secure-order.ts'
import type { LegacyDirectory } from '../../src/three-d-secure/legacy/directory.ts'
import type { Results } from '../../src/three-d-secure/inbound.ts'
import type { Pulse } from '../../src/leases/pulse.ts'
import type { Heartbeat } from '../../src/leases/heartbeat.ts'
import type { KeyRing } from '../../src/keys/ring.ts'
import type { HeartThread } from '../model/beating.ts'
import type { Invoices } from '../model/invoices.ts'
import type { Stores } from '../model/store-line.ts'
import type { StoreModel } from '../model/store-model.ts'
import type { Sums } from '../model/sums.ts'
import type { Strays } from '../watch/strays.ts'

/** The parts that the gateways of a process share. */
export interface SharedParts {
  name: string
  clock: Clock
  random: Random
  log: Log
  keys: KeyRing
  /** The configuration as this process has read it. */
  registry: () => Registry
  connect: () => Duplex
  outgoing: Outgoing
  /** Calls to the directory servers. */
  issuers: Outgoing
  /** Calls to the directory servers of 1.0.2, and the servers with their root certificates. */
  legacy: { outgoing: Outgoing; directories: readonly LegacyDirectory[] }
  /** How many orders may be in memory; few, so that some are committed without a lease. */
  maxHeld: number
  sweepMs: number
  wrap: Wraps
}

/** The parts of a process for one cell. */
export interface CellParts {
  cellNo: number
  stores: Stores
  thread: HeartThread
  /** Whether the process that began this step owns it still. */
  owns: (orderKey: OrderKey, step: Pick<Transaction, 'no' | 'lease'>) => boolean
}

/**
 * The parts of a gateway over one cell. A planted bug replaces one, or wraps what is built from
 * them.
 */
export interface GatewayParts extends SharedParts, CellParts {}

export interface ProcessParts extends Omit<SharedParts, 'registry'> {
  /** How it reads the configuration; absent if that never changes. */
  configured?: RegistryReads | undefined
  serves: ReadonlySet<number>
  /** Those that it serves, and cell 0, over which every process has a lease. */
  cells: ReadonlyMap<number, CellParts>
  /** Two gateways of the process do the same. */
  onTwice: (what: string) => void
  /** Its number in a cell, from now on. */
  onNumber: (cellNo: number, processId: bigint) => void
}

export type Performers = Record<OutsideStep, Performer>

/** The places where a planted bug may change the parts. */
export interface Wraps {
  keys?: (keys: KeyRing) => KeyRing
  /** The configuration as a process uses it that serves these cells. */
  registry?: (registry: Registry, serves: ReadonlySet<number>) => Registry
  stores?: (stores: Stores, parts: GatewayParts) => Stores
  heartbeat?: (heartbeat: Heartbeat, parts: GatewayParts) => Heartbeat
  /** The memory that the main loop shares with the heart, as one of them sees it. */
  pulse?: (pulse: Pulse, seenBy: 'loop' | 'heart', clock: Clock) => Pulse
  connector?: (connector: Connector, parts: SharedParts, strays: Strays) => Connector
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
  /** The changes that an operator's command saves. */
  operator?: (change: Change) => Change
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

/** The gateway over one cell, as requests reach it whose checks have passed. */
export interface CellGateway {
  ports: Ports
  uploads: Uploads
  hosted: Hosted
}

/** The target of a request: an endpoint, or a page. */
export type Subject = { endpointId: bigint } | { token: string }

/** A gateway process. */
export interface Gateway {
  registry: () => Registry
  /** The gateway over the cell of a request; undefined if this process cannot serve it. */
  leadTo(subject: Subject): CellGateway | undefined
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
