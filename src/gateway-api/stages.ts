/**
 * What is known of a request as it passes through the matrix, stage by stage. Each stage extends
 * the one before and changes nothing in it. The type of a check names the stage that it needs.
 */
import type { Currency } from '../base/money.ts'
import type { CardReference } from '../card/reference.ts'
import type { Endpoint, Entry, Merchant, Registry } from '../merchant/merchant.ts'
import type { Client } from '../merchant/access-limits.ts'
import type { SignedMessage } from '../merchant/message-signature.ts'
import type { ReadCres } from '../order/authentication/browser.ts'
import type { Order, Transaction } from '../order/decide/order.ts'
import type { Pairs, Raw, Values } from '../spec/field.ts'
import type { operations, Operation } from '../spec/gateway/operations.ts'

/** The operations of these kinds. */
type OfKind<K> = { [O in Operation]: (typeof operations)[O]['kind'] extends K ? O : never }[Operation]

export type Payment = OfKind<'payment'>
export type Rebill = OfKind<'rebill'>
export type Follow = OfKind<'follow'>
export type Upload = OfKind<'upload'>
export type StatusOperation = OfKind<'status'>
export type SignedByOAuth = 'create-card-ref-v4' | 'status-v4'
/** Operations whose request has a checksum. */
export type SignedByKey = Exclude<Operation, SignedByOAuth>

/** A request as received. */
export interface Received<O extends Operation = Operation> {
  readonly operation: O
  readonly path: { readonly id: string; readonly group: boolean }
  readonly serialNumber: string
  readonly now: number
  readonly client: Client
  readonly registry: Registry
  /** The server had no room for the body. */
  readonly overloaded: boolean
  /** Absent if the body is not a form. */
  readonly pairs?: Pairs | undefined
  /** The merchant's name of the order, returned in every reply. */
  readonly merchantOrderId?: string | undefined
  readonly idempotencyKey?: string | undefined
}

/** An endpoint or group of a path, for operators. */
export const endpointText = ({ id, group }: Received['path']): string => (group ? `group ${id}` : id)

/** The parts of the request that a signature covers. */
export interface WithMessage {
  readonly message: SignedMessage
}

/** Its path names an endpoint or a group. */
export type Addressed<O extends Operation = Operation> = Received<O> & { readonly entry: Entry }

/** Its body is a form. */
export type Filled<O extends Operation = Operation> = Addressed<O> & { readonly pairs: Pairs }

/** The values of an operation's table; an account verification has the currency of its endpoint. */
type ValuesOf<O extends Operation> = Values<(typeof operations)[O]['request']> &
  (O extends 'account-verification' ? { currency: Currency } : unknown)

/** The fields of a form, by the table of its operation. */
export type FormFields<O extends Operation = Operation> = {
  [K in O]: {
    readonly operation: K
    readonly values: ValuesOf<K>
    /** As sent: checksums cover either spelling. */
    readonly raw: Raw
  }
}[O]

/** Its fields are read. */
export type WithFields<O extends Operation = Operation> = Filled & FormFields<O>

/** Its merchant signed it. */
export type Known<O extends Operation = Operation> = WithFields<O> & ByMerchant

export interface ByMerchant {
  readonly merchant: Merchant
}

/** The findings of the last checks. */
export interface WithOrder {
  readonly order: Order
}
export interface WithTransaction extends WithOrder {
  /** The transaction that a status shows; absent if `by-request-sn` matches none. */
  readonly transaction: Transaction | undefined
}
export interface WithReference {
  readonly reference: CardReference
}
export interface WithEndpoint {
  /** In a group, the member for the currency. */
  readonly endpoint: Endpoint
}
export interface WithCres {
  readonly cres: ReadCres
}
