import type { Secret } from '../base/secret.ts'

export type MobileKind = 'verification' | 'sale' | 'transfer'

/** What the app said, without card and session: personal data. */
export interface MobileRequest {
  serialNumber: string
  email?: string
  currency: string
  /** Of a sale or transfer, in hundredths of the unit and in minor units of the currency. */
  amountCentis?: number
  amountMinor?: string
  clientCardId?: string
  /** Of the card that a transfer credits. */
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

/** What the merchant's server said, once it is believed: personal data. */
export interface Confirmed {
  email?: string
  birthDay?: string
  ipAddress?: string
  billing: Billing
  serverCardId?: string
  toServerCardId?: string
  /** The sum to hold where one is asked for. */
  randomSumCentis?: number
}

/** In memory only; at rest sealed. */
export interface InvoiceSecrets {
  accessToken: Secret<string>
  signature: Secret<string>
  pan?: Secret<string>
  /** The card that a transfer credits. */
  toPan?: Secret<string>
  cvv2?: Secret<string>
}

/** What a transfer costs at a gate, as it was listed. */
export interface Fee {
  /** The gate's name for the app. */
  assignedId: string
  gateId: string
  commissionMinor: string
}

/**
 * `checking`: the merchant's server is asked. `choosing`: the consumer of a transfer chooses a fee, until `restsUntil`. `holding`: a sum is held on the card. `answering`: the cardholder is asked for it, until `restsUntil`. `ordering`: nothing stands in the way of the
 * order any more. `releasing`: declined, but the hold is still to be given back. `ordered`: the order tells the rest. `declined`: the merchant or the cardholder did not confirm, or no order could be made.
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
  /** From the end of `checking` on. */
  confirmed?: Confirmed
  /** What a transfer may cost, where the consumer chooses. */
  fees?: readonly Fee[]
  /** The one that holds: chosen, or that of the endpoint's gate. */
  fee?: Fee
  restsUntil?: number
  hold?: Hold
  wrongAnswers: number
  /** As the app is told it. */
  sumStatus?: SumStatus
  errorCode?: number
  errorMessage?: string
  tries: number
  createdAt: number
}

export type SumStatus = 'AUTHENTICATED' | 'NOT_AUTHENTICATED'

/** The random sum: a preauthorisation of its own. */
export interface Hold {
  orderId: bigint
  sumMinor: bigint
  /** Of the page that asks for the sum. */
  pageToken: string
}

/** Codes of what is declined before there is an order; docs/errors.md. */
export const declines = {
  refused: { errorCode: 4001, errorMessage: "The merchant's server does not confirm the transaction" },
  unreachable: { errorCode: 4002, errorMessage: "The merchant's server does not answer" },
  unbelievable: { errorCode: 4003, errorMessage: "The answer of the merchant's server does not fit the transaction" },
  card: { errorCode: 4004, errorMessage: 'The card reference cannot be used' },
  name: { errorCode: 4005, errorMessage: 'The invoice is already in use' },
  fee: { errorCode: 4006, errorMessage: 'No fee was chosen in time' },
  sum: { errorCode: 4007, errorMessage: 'The random sum was not confirmed' },
  hold: { errorCode: 4008, errorMessage: 'The random sum could not be held' },
} as const

export type Decline = (typeof declines)[keyof typeof declines]
