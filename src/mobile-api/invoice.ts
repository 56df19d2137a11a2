import type { Secret } from '../base/secret.ts'

export type MobileKind = 'verification' | 'sale'

/** What the app said, without card and session: personal data. */
export interface MobileRequest {
  serialNumber: string
  email?: string
  currency: string
  /** Of a sale, in hundredths of the unit and in minor units of the currency. */
  amountCentis?: number
  amountMinor?: string
  clientCardId?: string
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

/** In memory only; at rest sealed. */
export interface InvoiceSecrets {
  accessToken: Secret<string>
  signature: Secret<string>
  pan?: Secret<string>
  cvv2?: Secret<string>
}

/** `checking`: the merchant's server is asked. `ordered`: it confirmed, and the order tells the rest. `declined`: it did not, or no order could be made. */
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
  state: 'checking' | 'ordered' | 'declined'
  errorCode?: number
  errorMessage?: string
  tries: number
  createdAt: number
}

/** Codes of what is declined before there is an order; docs/errors.md. */
export const declines = {
  refused: { errorCode: 4001, errorMessage: "The merchant's server does not confirm the transaction" },
  unreachable: { errorCode: 4002, errorMessage: "The merchant's server does not answer" },
  unbelievable: { errorCode: 4003, errorMessage: "The answer of the merchant's server does not fit the transaction" },
  card: { errorCode: 4004, errorMessage: 'The card reference cannot be used' },
  name: { errorCode: 4005, errorMessage: 'The invoice is already in use' },
} as const

export type Decline = (typeof declines)[keyof typeof declines]
