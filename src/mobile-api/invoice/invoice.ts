import type { Secret } from '../../base/secret.ts'
import type { Card } from '../../card/vault.ts'
import type { MobileKind } from '../../spec/mobile/kinds.ts'

/** The app's request without card and session: personal data. */
export interface MobileRequest {
  serialNumber: string
  email?: string
  currency: string
  /** Only for a sale or transfer: in hundredths of the unit, and in minor units. */
  amountCentis?: number
  amountMinor?: string
  clientCardId?: string
  /** The card that a transfer credits, by the merchant's id. */
  toClientCardId?: string
  ipAddress: string
  card?: { expiryMonth: number; expiryYear: number; printedName: string; firstName?: string; lastName?: string }
  billing: Billing
  birthDay?: string
  description?: string
  siteUrl?: string
  purpose?: string
}

export interface Billing {
  phone?: string
  city?: string
  /** ISO 3166-1 alpha-2. */
  country?: string
  zipCode?: string
  state?: string
  address1?: string
}

/** The verified answer of the merchant's server: personal data. */
export interface Confirmed {
  email?: string
  birthDay?: string
  ipAddress?: string
  billing: Billing
  serverCardId?: string
  toServerCardId?: string
  /** The sum to hold, if the merchant chose one. */
  randomSumCentis?: number
}

/** In clear only in memory; stored sealed. An ended invoice keeps only its tokens. */
export interface InvoiceSecrets {
  accessToken: Secret<string>
  signature: Secret<string>
  pan?: Secret<string>
  /** The card that a transfer credits. */
  toPan?: Secret<string>
  cvv2?: NonNullable<Card['cvv2']>
}

/** The price of a transfer at a gate, as it was listed. */
export interface Fee {
  /** The gate's name for the app. */
  assignedId: string
  gateId: string
  commissionMinor: string
}

/**
 * - `checking`: the merchant's server is asked.
 * - `choosing`: the consumer of a transfer chooses a fee, until `restsUntil`.
 * - `holding`: a sum is being held on the card.
 * - `answering`: the cardholder is asked for that sum, until `restsUntil`.
 * - `ordering`: nothing stands in the way of the order any more.
 * - `releasing`: declined, but the hold is still to be released.
 * - `ordered`: the order has the rest.
 * - `declined`: the merchant or the cardholder did not confirm, or no order could be made.
 */
export type InvoiceState = 'checking' | 'choosing' | 'holding' | 'answering' | 'ordering' | 'releasing' | 'ordered' | 'declined'

export interface Invoice {
  merchantId: bigint
  invoiceId: string
  endpointId: bigint
  kind: MobileKind
  nonce: string
  sessionToken: string
  orderId: bigint
  digest: Buffer
  request: MobileRequest
  state: InvoiceState
  /** Present from the end of `checking`. */
  confirmed?: Confirmed
  /** The possible fees of a transfer, if the consumer chooses. */
  fees?: readonly Fee[]
  /** The fee that applies: the chosen one, or that of the endpoint's gate. */
  fee?: Fee
  restsUntil?: number
  hold?: Hold
  wrongAnswers: number
  /** As shown to the app by status. */
  sumStatus?: SumStatus
  errorCode?: number
  errorMessage?: string
  tries: number
  createdAt: number
}

export type InvoiceName = Pick<Invoice, 'merchantId' | 'invoiceId'>

export const invoiceKey = ({ merchantId, invoiceId }: InvoiceName): string => `${merchantId}/${invoiceId}`

export type SumStatus = 'AUTHENTICATED' | 'NOT_AUTHENTICATED'

/** The random sum: a separate preauthorisation. */
export interface Hold {
  orderId: bigint
  sumMinor: bigint
  /** In the address of the page that asks for the sum. */
  pageToken: string
}

/** The random sum of an invoice that has one: in state `answering` every invoice does. */
export function holdOf({ invoiceId, state, hold }: Invoice): Hold {
  if (!hold) throw new Error(`invoice ${invoiceId} is ${state} and holds no random sum`)
  return hold
}

/** The answer of the merchant's server: every invoice has it from the end of `checking`. */
export function confirmedOf({ invoiceId, state, confirmed }: Invoice): Confirmed {
  if (!confirmed) throw new Error(`invoice ${invoiceId} is ${state} without a confirmation`)
  return confirmed
}

/** Codes of declines before an order exists; docs/errors.md. */
export const declines = {
  refused: { errorCode: 4001, errorMessage: "The merchant's server does not confirm the transaction" },
  unreachable: { errorCode: 4002, errorMessage: "The merchant's server does not answer" },
  unbelievable: { errorCode: 4003, errorMessage: "The answer of the merchant's server does not fit the transaction" },
  card: { errorCode: 4004, errorMessage: 'The card reference cannot be used' },
  name: { errorCode: 4005, errorMessage: 'The invoice is already in use' },
  fee: { errorCode: 4006, errorMessage: 'No fee was chosen in time' },
  sum: { errorCode: 4007, errorMessage: 'The random sum was not confirmed' },
  hold: { errorCode: 4008, errorMessage: 'The random sum could not be held' },
} as const satisfies Record<string, Decline>

export interface Decline {
  errorCode: number
  errorMessage: string
}

/**
 * Why an invoice ends without an approved order: every invoice in state `releasing` has a reason.
 */
export function declineOf({ invoiceId, state, errorCode, errorMessage }: Invoice): Decline {
  if (errorCode === undefined || errorMessage === undefined) throw new Error(`invoice ${invoiceId} is ${state} without a decline`)
  return { errorCode, errorMessage }
}
