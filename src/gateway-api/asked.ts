import type { Issuer } from '../card/bins.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Turns } from '../base/turn.ts'
import type { CardReference } from '../card/reference.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Answer } from '../http/server.ts'
import type { Endpoint, Entry, Merchant, Registry } from '../merchant/merchant.ts'
import type { Door } from '../order/advance.ts'
import type { Cards } from '../order/cards.ts'
import type { ReadCres } from '../order/authentication/browser.ts'
import type { Order, Transaction } from '../order/order.ts'
import type { PareqParts } from '../order/authentication/pareq.ts'
import type { Place } from '../order/change.ts'
import type { OrderStore } from '../order/store.ts'
import type { Shown } from '../order/store-shown.ts'
import type { Pairs, Values, Table } from '../spec/field.ts'
import type { Operation } from '../spec/gateway/operations.ts'
import type { HostedUrls } from '../three-d-secure/forms.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { Ids } from '../storage/store-ids.ts'
import type { Secret } from '../base/secret.ts'

/** What the operations work with, passed in by main. */
export interface World extends Cards {
  registry: () => Registry
  door: Door
  orders: OrderReader
  /** True once for each nonce of a merchant. */
  useNonce: (merchantId: bigint, nonce: string, timestampSeconds: number) => Promise<boolean>
  /** Every origin under which merchants reach this gateway; what they sign names one. */
  publicUrls: readonly string[]
  /** The page of a request that nobody may make; of a room below. */
  denied: () => Answer
  processId: bigint
  /** The gateway's own pages of an authentication. */
  pages: (token: string) => HostedUrls
  /** What a PAReq says besides the order. */
  pareqParts: (order: Order) => PareqParts
  /** Roots of the network that a directory server of 1.0.2 stands for. */
  paresRoots: (directory: string) => readonly string[]
  /** Whether a browser may be sent to a merchant's URL, such as a notification URL. */
  usable: (url: string) => boolean
  keys: KeyRing
  orderIds: Ids
  /** What the BIN table says of a card number. */
  issuerOf: (pan: string) => Issuer | undefined
  clock: Clock
  /** Reads what clients send in pieces, so that a large body does not hold up other requests. */
  turns: Turns
  random: Random
  log: Log
  limits: { maxWaiting: number; maxOfMerchant: number }
  /** Which callback URLs may be given; an endpoint may allow plain http on top. */
  callbackPolicy: TargetPolicy
  /** The log says of a refused checksum what it should have been made of. */
  explains: boolean
  /** Counts an answered request: `ok`, or the name of the refusal. */
  answered: (operation: Operation, outcome: string) => void
  /** Counts a request that was answered with what an earlier one had made. */
  repeated: (operation: Operation) => void
  /** Stands in for the control key of a merchant who does not exist, so that refusing takes the same work. */
  decoyKey: Secret<string>
}

/** Orders as they are stored, many reads sharing a round trip. */
export interface OrderReader {
  byId(place: Place): Promise<Order | undefined>
  signedAmounts: OrderStore['signedAmounts']
  shown(wanted: Place | { merchantId: bigint; clientOrderid: string }, serialNumber?: string): Promise<Shown | undefined>
}

/** One request on its way through the checks; each check adds what it found out. */
export interface Asked {
  world: World
  operation: Operation
  path: { id: string; group: boolean }
  /** The server had no room for the body. */
  overloaded: boolean
  serialNumber: string
  now: number
  registry: Registry
  /** Absent when the body is no form. */
  pairs?: Pairs
  merchantOrderId?: string
  entry?: Entry
  values?: Values<Table>
  raw?: Readonly<Record<string, string>>
  merchant?: Merchant
  endpoint?: Endpoint
  order?: Order
  /** The one transaction that a status shows of its order. */
  transaction?: Transaction | undefined
  cres?: ReadCres
  /** As it was sent, until a check has judged it. */
  idempotencyKey?: string
  reference?: CardReference
}
