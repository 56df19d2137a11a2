import type { ProcessorData } from '../../acquirer/connector.ts'
import type { ShownCard } from '../../card/number.ts'
import type { RecurrentInitiator, RecurrentScenario } from '../../merchant/fields/gate.ts'
import type { Screening } from '../../risk/screening.ts'
import type { BrowserFacts, StoredRequest } from '../../spec/gateway/sale.ts'
import type { OrderKind, Status, TransactionKind } from '../../spec/words.ts'
import type { Authentication, VerifiedStatus } from '../../three-d-secure/authentication.ts'

/**
 * The aggregate: an order with all its transactions. Values are never changed in place: a decision
 * makes new objects, and the new objects are what gets saved. Amounts are in minor units of the
 * order's currency, times in milliseconds since 1970.
 */
export interface Order {
  merchantId: bigint
  orderId: bigint
  /** Incremented by each saved change; a save names the version that it read. */
  version: number
  kind: OrderKind
  clientOrderid: string
  /** The id in the path: the endpoint itself or a group. */
  pathId: bigint
  endpointId: bigint
  currency: string
  amountMinor: bigint
  amountText: string
  request: OrderRequest
  card: ShownCard
  /** The result of the filters; absent if the endpoint had none. */
  screening?: Screening
  /** How many event and delivery rows exist; the next row gets the next number. */
  events: number
  deliveries: number
  createdAt: number
  finalAt?: number
  transactions: readonly Transaction[]
  attempts: readonly Attempt[]
}

/**
 * The merchant's request except identifiers, amount and card; for the most part what the rows of a
 * payment's fields say. Personal data: masked in logs.
 */
export interface OrderRequest extends StoredRequest {
  /** When the payer's data was erased, in ISO 8601; then most fields are absent or empty. */
  erasedAt?: string
  /** The payment begins a series, which ends with this day, YYYYMMDD. */
  series?: { expiry: string; frequencyDays: string }
  /** The endpoint's own callback URL when the order was made. */
  endpointCallbackUrl?: string
  /** The endpoint's own descriptor when the order was made. */
  descriptor?: string
  browser?: BrowserFacts
  recurrent?: RecurrentFacts
  mobile?: MobileFacts
  transfer?: TransferFacts
}

/** Facts of an order from the mobile API. */
export interface MobileFacts {
  invoiceId: string
  /** The address that the app sent. The one in the request may come from the merchant's server. */
  email?: string
  /** Why it was declined before any acquirer was asked. */
  refusal?: { code: string; message: string }
  /**
   * Where the card mapping is sent once the payment is approved. Absent if the payment was made
   * with a reference.
   */
  mappingUrl?: string
  /**
   * The cardholder names a random sum instead of passing 3-D Secure. The order is the hold of that
   * sum, or the payment after the sum was named.
   */
  randomSum?: 'hold' | 'named'
  /** Only with a hold: the amount of the payment that follows it. Filters judge this amount. */
  holdsForMinor?: string
}

/**
 * A transfer from card to card: the source pays the order's amount plus the commission, the
 * destination receives the amount.
 */
export interface TransferFacts {
  /** In minor units; the head's amount is the order's amount plus this. */
  commissionMinor: string
  /** The gate whose commission was chosen; if absent, the endpoint's next gate. */
  gateId?: string
  destination: Pick<ShownCard, 'bin' | 'lastFour' | 'network' | 'country'>
}

/** A payment with a registered card. */
export interface RecurrentFacts {
  initiator: RecurrentInitiator
  scenario: RecurrentScenario
  /** The network's reference of the first payment with the card. */
  networkReference?: string
  /** Amounts to try one after the other, in minor units and as the merchant wrote them. */
  amounts?: readonly (readonly [minor: string, text: string])[]
}

/**
 * Where a transaction stands.
 *   enrolling           the directory server is asked whether the card is enrolled in 1.0.2
 *   awaiting method, awaiting challenge, awaiting pares
 *                       the cardholder's browser and the issuer have to act
 *   crediting           the debit of a transfer was approved, and its credit is under way
 *   returning           the debit of a transfer is being reversed
 *   owed, reversing     a reversal, before and after its first message
 *   unknown             the answer to a payment was lost; its reversal is owed
 */
export type State =
  | 'new'
  | 'filtering'
  | 'awaiting method'
  | 'authenticating'
  | 'awaiting challenge'
  | 'enrolling'
  | 'awaiting pares'
  | 'ready'
  | 'authorising'
  | 'crediting'
  | 'returning'
  | 'unknown'
  | 'owed'
  | 'reversing'
  | 'approved'
  | 'declined'
  | 'filtered'
  | 'error'

/**
 * What a transaction does next. `record attempt` needs nothing outside and runs inside the commit.
 * `await method`, `await challenge` and `await pares` are time limits: no process works on them,
 * and they are due when the browser did not come back in time. The others are calls to a directory
 * server or an acquirer.
 */
export type Step =
  | 'record attempt'
  | 'await method'
  | 'authenticate'
  | 'await challenge'
  | 'enrol'
  | 'await pares'
  | 'authorise'
  | 'reverse'

export interface Transaction {
  no: number
  kind: TransactionKind
  /**
   * Whether a request of its merchant or an operator created it, or the gateway owes it. Replies
   * never show the latter as the order's transaction.
   */
  origin: 'request' | 'gateway'
  /** The request's serial number; absent for a transaction that the gateway owes. */
  serialNumber?: string
  /** The transaction that a reversal, a credit or a merchant's follow-up refers to. */
  parentNo?: number
  state: State
  amountMinor: bigint
  amountText: string
  result: TransactionResult
  /** The request of a capture, return or void. */
  asked?: FollowAsked
  /** The authentication of the payment, if 3-D Secure ran. */
  authentication?: Authentication
  step?: Step
  dueAt?: number
  /** The process that is working on it. */
  lease?: bigint
  /** How often the step was run without a usable answer. */
  tries: number
  /** Set when it was parked for an operator. */
  alarm?: string
  createdAt: number
  finalAt?: number
}

export interface FollowAsked {
  operation: 'capture' | 'return' | 'void'
  /** The request had no amount and means all that was left. */
  whole?: true
  comment?: string
  idempotencyKey?: string
  /** An operator asked for it. The reason is for operators, never for merchant or acquirer. */
  operator?: { who: string; reason: string }
}

export interface TransactionResult {
  gateId?: string
  descriptor?: string
  partialReversal?: boolean
  partialCapture?: boolean
  sellerCommission?: string
  acquirerCommission?: string
  errorCode?: string
  errorMessage?: string
  receiptId?: string
  /** The result of 3-D Secure; absent if it did not run. */
  verified?: VerifiedStatus
  eci?: string
  processor?: ProcessorData
  /** When the acquirer's answer arrived. */
  processedAt?: number
}

export interface Attempt {
  no: number
  transactionNo: number
  gateId: bigint
  terminalId: string
  stan: string
  rrn: string
  startedAt: number
  /** How long to wait for an answer. */
  deadlineAt: number
  outcome?: 'approved' | 'declined' | 'unknown' | 'not sent'
  actionCode?: string
  why?: string
  endedAt?: number
}

const stateStatus: Readonly<Record<State, Status>> = {
  new: 'processing',
  filtering: 'processing',
  'awaiting method': 'processing',
  authenticating: 'processing',
  'awaiting challenge': 'processing',
  enrolling: 'processing',
  'awaiting pares': 'processing',
  ready: 'processing',
  authorising: 'processing',
  crediting: 'processing',
  returning: 'processing',
  unknown: 'unknown',
  owed: 'processing',
  reversing: 'processing',
  approved: 'approved',
  declined: 'declined',
  filtered: 'filtered',
  error: 'error',
}

export const statusOfState = (state: State): Status => stateStatus[state]

/** The transaction that the order was made for. */
export const head = (order: Order): Transaction => order.transactions[0]!

export const statusOf = (order: Order): Status => statusOfState(head(order).state)

/**
 * The hold of a random sum belongs to the gateway: a merchant can neither capture nor release it,
 * nor take a card reference from it.
 */
export const isRandomSum = (order: Order): boolean => order.request.mobile?.randomSum === 'hold'
