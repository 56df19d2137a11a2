import type { MobileKind } from '../../src/spec/mobile/kinds.ts'
import { secret } from '../../src/base/secret.ts'
import { checkParts, initiateParts, notificationParts, sign, signatureKey } from '../../simulators/merchant-server/signatures.ts'
import { configuration } from '../model/configuration.ts'

/** An invoice as the merchant initiated it, before its app performs it. */
export interface Initiated {
  merchantId: bigint
  endpointId: bigint
  kind: MobileKind
  invoiceId: string
  nonce: string
  accessToken: string
  serialNumber: string
  signature: string
  amountCentis?: number
  /** The mapped card that pays; absent if the app sends the card itself. */
  clientCardId?: string
  /** The mapped card that a transfer credits; absent if the app sends the card itself. */
  toClientCardId?: string
}

/** How a merchant's server confirmed an invoice, with the server card ids that it named. */
export interface Confirmation {
  token: string
  source: string | undefined
  destination: string | undefined
}

/** The gateway asks whether the merchant initiated an invoice. */
export interface Question {
  consumer: { device: { serialNumber: string } }
  session: { accessToken: string; nonce: string; signature: string; token: string }
  sourceOfFunds?: { reference: { clientCardId: string } }
  destinationOfFunds?: { reference: { clientCardId: string } }
}

/** The gateway reports the cards that paid or were credited. */
export interface Notice {
  session: { accessToken: string; token: string }
  reference?: { serverCardId: string }
  sourceCard?: { reference?: { serverCardId: string } }
  destinationCard?: { reference: { serverCardId: string } }
}

export interface Reply {
  status: number
  body: string
}

const keyOf = (merchantId: bigint) => signatureKey(secret(configuration.merchant(merchantId)!.controlKeys[0]!.reveal()))!

export const refusal = (status: number): Reply => ({
  status,
  body: JSON.stringify({ error: { cause: 'INVALID_REQUEST', message: 'no' } }),
})

/** The signature with which an app shows that its merchant initiated the invoice. */
export function initiateSignature(invoice: Omit<Initiated, 'signature'>): string {
  const { accessToken, serialNumber, endpointId, nonce, invoiceId, amountCentis, merchantId } = invoice
  const parts = initiateParts({
    accessToken,
    serialNumber,
    endpointId: String(endpointId),
    nonce,
    invoiceId,
    amountCentis: amountCentis?.toString(),
    currency: 'USD',
  })
  return sign(parts, keyOf(merchantId))
}

/** Confirms that the merchant initiated this invoice, with these cards. */
export function checkAnswer(invoice: Initiated, { token, source, destination }: Confirmation, more = {}): string {
  const { merchantId, nonce, endpointId, invoiceId, serialNumber } = invoice
  const parts = checkParts({
    serialNumber,
    nonce,
    endpointId: String(endpointId),
    invoiceId,
    sourceServerCardId: source,
    destinationServerCardId: destination,
  })
  const session = { checkSignature: sign(parts, keyOf(merchantId)), nonce, token }
  const reference = (of: string, serverCardId: string | undefined) =>
    serverCardId === undefined ? {} : { [of]: { reference: { serverCardId } } }
  return JSON.stringify({
    invoiceId,
    session,
    ...reference('sourceOfFunds', source),
    ...reference('destinationOfFunds', destination),
    ...more,
  })
}

/** Confirms a notification. A false answer signs another nonce than that of the invoice. */
export function notificationAnswer(invoice: Initiated, token: string, signedNonce: string): string {
  const { merchantId, nonce, endpointId, invoiceId } = invoice
  const parts = notificationParts({ nonce: signedNonce, endpointId: String(endpointId), invoiceId })
  return JSON.stringify({ invoiceId, session: { checkSignature: sign(parts, keyOf(merchantId)), nonce, token } })
}
