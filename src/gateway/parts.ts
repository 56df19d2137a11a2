/**
 * The foundations of a gateway: PostgreSQL and sockets in a process that serves, a model and a
 * simulated network in the simulation. Nothing else differs.
 */
import type { Connectors } from '../acquirer/connectors.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Turns } from '../base/turn.ts'
import type { Issuer } from '../card/bins.ts'
import type { ReferenceStore } from '../card/reference-rows.ts'
import type { DeliveryStore } from '../delivery/store.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Network } from '../http/client-address.ts'
import type { Outgoing } from '../http/outgoing.ts'
import type { LimitSettings } from '../merchant/access-limits.ts'
import type { Registry } from '../merchant/merchant.ts'
import type { RefusedSum } from '../merchant/refused-access.ts'
import type { NonceUse } from '../merchant/nonce-rows.ts'
import type { InvoiceStore } from '../mobile-api/invoice/store.ts'
import type { WrongSums } from '../mobile-api/sum/store.ts'
import type { ServerIdentity } from '../order/authentication/areq.ts'
import type { AuthenticationParts } from '../order/authentication/ask-issuer.ts'
import type { OrderStore } from '../order/store/store.ts'
import type { Pulse } from '../leases/pulse.ts'
import type { HeartbeatStore, HeartStart } from '../leases/heartbeat.ts'
import type { IdName, Ids } from '../storage/ids.ts'
import type { KeyRing } from '../keys/ring.ts'
import type { Silence } from '../leases/silence.ts'
import type { AskEnrolment, LegacyDirectory } from '../three-d-secure/legacy/directory.ts'
import type { LoadedRanges } from '../three-d-secure/ranges.ts'
import type { OdditySum } from '../three-d-secure/oddities.ts'
import type { Periodic } from './periodic.ts'
import type { Tuning } from './tuning.ts'

export interface Ground {
  clock: Clock
  random: Random
  log: Log
  /** Reads what clients send in pieces, so that a large body does not hold up other requests. */
  turns: Turns
}

/**
 * Everything that is stored, in two parts that SQL never joins and that have no foreign keys
 * between them.
 */
export interface Stores {
  registry: RegistryStores
  cell: CellStores
}

/**
 * One for the installation: configuration, keys, BIN table, card ranges. Opened outside; gateways
 * of one process share it.
 */
export interface RegistryStores {
  /** The current configuration. */
  current: () => Registry
  /** Reads the configuration again now, if it has changed. */
  refresh: () => Promise<void>
  /** Monotonic time at which the last look at it began: it was current then. */
  lookedAt: () => number
  keys: KeyRing
  /**
   * Ids that only one gateway of the installation gets: of orders, of attempts (STAN and RRN of a
   * shared line) and of processes.
   */
  ids: (name: IdName, block?: number) => Ids
  /** The entry of a card number in the BIN table. */
  issuerOf: (pan: string) => Issuer | undefined
  /** The bytes of a merchant's logo. */
  logo: (merchantId: bigint) => Promise<Buffer | undefined>
  /** The current card ranges of the directory servers. */
  ranges: () => LoadedRanges
  /** Adds to the account of refused access. */
  addRefusedAccess: (sums: readonly RefusedSum[]) => Promise<void>
  /** Adds to the account of odd messages of 3-D Secure. */
  addOddities: (sums: readonly OdditySum[]) => Promise<void>
}

/** The orders of some merchants, and everything that belongs to them. */
export interface CellStores {
  cellNo: number
  orders: OrderStore
  deliveries: DeliveryStore
  invoices: InvoiceStore
  wrongSums: WrongSums
  references: ReferenceStore
  /** True once for each nonce of a merchant. */
  useNonces: (uses: readonly NonceUse[]) => Promise<boolean[]>
  heartbeat: HeartbeatStore
  heart: HeartStart
  /** The memory that the process shares with its heart; if absent, the heartbeat opens its own. */
  pulse?: Pulse
  /** Processes that have been silent long enough to be dead. */
  silent: () => Promise<Silence>
  /** Periodic work of removal and preparation. */
  upkeep: readonly Periodic[]
  /** Rejects if the database does not answer. */
  answers: () => Promise<unknown>
}

/**
 * Everything that leaves the process. Opened outside; gateways of one process share the lines and
 * their limits.
 */
export interface Transports {
  /** The lines to the acquirers, by gate. */
  gates: Pick<Connectors, 'connector'>
  /** Calls to merchants' servers. */
  outgoing: Outgoing
  directories: Directories
}

export interface Directories {
  authenticate: AuthenticationParts['ask']
  /** Asks a directory server of 1.0.2. */
  enrol: AskEnrolment
}

export interface GatewaySettings {
  /**
   * A name that only this process can have, such as its host and port, and its slot if it shares
   * them. An older row with the same name belongs to a dead predecessor.
   */
  instance: string
  /** Path before every operation, such as `/gateway`. */
  basePath: string
  /** Every origin under which merchants reach this gateway; browsers are sent to the first. */
  publicUrls: readonly [string, ...string[]]
  /** Where merchants' servers may be called; an endpoint may additionally allow plain http. */
  callbackPolicy: TargetPolicy
  /**
   * The directory servers, and how they know this gateway. If absent, no card can be authenticated.
   */
  threeDSecure?: ThreeDSecureFacts
  /** The limits of access, and proxies, whose own addresses stand for many clients. */
  access: { limits: LimitSettings; trustedProxies: readonly Network[] }
  /** CVV2 values of the sandbox that steer 3-D Secure. */
  steering: boolean
  /** Whether the log shows the text from which a rejected checksum should have been made. */
  explains: boolean
  tuning: Tuning
}

export interface ThreeDSecureFacts {
  server: Omit<ServerIdentity, 'pages'>
  /** Names of the directory servers of 2.x. */
  directories: readonly string[]
  /** The directory servers of 1.0.2. */
  legacy: readonly LegacyDirectory[]
}
