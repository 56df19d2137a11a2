/** An app's requests in the mobile API, by the interface's names; the client adds `session`. */

interface Consumer {
  device: { serialNumber: string; imei?: string }
  /** Mandatory for a verification. With a reference, the one that the card was registered with. */
  email?: string
  /** As `ddMMyyyy`. */
  birthDay?: string
  ipAddresses?: string[]
}

interface Billing {
  phone?: string
  address?: {
    city?: string
    /** Three letters. */
    country?: string
    postcodeZip?: string
    state?: string
    street?: string
    street2?: string
  }
}

type Holder =
  | { printedName: string; firstName?: string; lastName?: string }
  | { firstName: string; lastName: string; printedName?: string }

interface Card {
  number: string
  expiry: { month: number; year: number }
  securityCode: string
  holder: Holder
}

/** A card that is registered, as the merchant's server calls it. */
interface Reference {
  clientCardId: string
  securityCode?: string
}

interface Surroundings {
  location?: { lat?: number; lng?: number }
  billing?: Billing
  order?: { description?: string; siteUrl?: string; purpose?: string }
}

interface Money {
  /** Hundredths of the unit, whatever the currency. */
  amountCentis: number
  currency: string
}

export interface MobileVerificationRequest extends Surroundings {
  consumer: Consumer & { email: string }
  sourceCard: Card
  transaction: { currency: string }
}

export interface MobileSaleRequest extends Surroundings {
  consumer: Consumer
  sourceOfFunds: { card: Card } | { reference: Reference }
  transaction: Money
}

export interface MobileTransferRequest extends MobileSaleRequest {
  destinationOfFunds: { card: { number: string } } | { reference: { clientCardId: string } }
}

/** The request of each kind of transaction. */
export interface MobileRequests {
  verification: MobileVerificationRequest
  sale: MobileSaleRequest
  transfer: MobileTransferRequest
}

export type MobileKind = keyof MobileRequests

/** First digits of the two cards of a transfer, by which a merchant's server may set its fee. */
export interface TransferBins {
  fromBin?: string
  toBin?: string
}
