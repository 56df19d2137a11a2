/** The facts of an app's request as it passes through the matrix, stage by stage. */
import type { Endpoint, Registry } from '../merchant/merchant.ts'
import type { JsonValues } from '../spec/mobile/field.ts'
import type { MobileKind } from '../spec/mobile/kinds.ts'
import { mobileOperationNames, mobileRow, type Deed, type MobileOperation } from '../spec/mobile/operations.ts'
import type { OpenInvoice } from './invoice/rows.ts'
import type { KeyedDigest } from '../keys/digest.ts'

/** An operation that the service answers, from its row. */
export interface Answered {
  readonly operation: MobileOperation
  readonly kind: MobileKind
  readonly does: Deed
}

export const answeredByService: readonly Answered[] = mobileOperationNames.flatMap((operation) => {
  const { side, kind, does } = mobileRow(operation)
  return side === 'service' && kind && does ? [{ operation, kind, does }] : []
})

/** A request as received. */
export interface AppRequest extends Answered {
  /** As in the path. */
  readonly endpointId: string
  readonly invoiceId: string
  /** Undefined if the server did not read all of it. */
  readonly body: Buffer | undefined
  /** The server had no room for the body. */
  readonly overloaded: boolean
  readonly clientAddress: string
  readonly now: number
  readonly registry: Registry
}

/** Its path names an endpoint. */
export interface OfEndpoint {
  readonly endpoint: Endpoint
}

/** Its body is a JSON object. */
export interface WithJson {
  readonly json: object
}

/** Its fields are read, by the table of its operation. */
export interface WithValues {
  readonly values: JsonValues
}

/** In minor units of the currency, where the operation has one. */
export interface WithAmount {
  readonly amountMinor: bigint | undefined
}

export interface WithDigest {
  /** Equal for the same request. */
  readonly digest: KeyedDigest
}

/** Its tokens match this invoice. */
export type WithInvoice = OpenInvoice
