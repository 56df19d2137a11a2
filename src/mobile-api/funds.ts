import { issuerFacts, type Issuer } from '../card/bins.ts'
import { binOf, lastFourOf, networkOf } from '../card/number.ts'
import type { DestinationCard, FirstPayment } from '../card/reference.ts'
import { defined } from '../base/defined.ts'
import type { Secret } from '../base/secret.ts'
import type { NewOrder } from '../order/accept.ts'
import type { Cards } from '../order/cards.ts'
import type { OrderRequest } from '../order/decide/order.ts'
import { mobileKind } from '../spec/mobile/kinds.ts'
import type { Confirmed, Invoice, InvoiceSecrets } from './invoice/invoice.ts'

export type Funds = Pick<NewOrder, 'card' | 'shown'> & { request: Partial<OrderRequest>; destination?: Destination }

/** The card that a transfer credits. */
interface Destination {
  pan: Secret<string>
  card: DestinationCard
}

export interface FundsParts extends Pick<Cards, 'findReference' | 'openReference' | 'findDestination'> {
  /** The issuer of a card number, from the BIN table. */
  issuerOf: (pan: string) => Issuer | undefined
}

/** The cards of an invoice; undefined if one cannot be used. */
export async function fundsOf(
  parts: FundsParts,
  invoice: Invoice,
  secrets: InvoiceSecrets,
  confirmed: Confirmed,
): Promise<Funds | undefined> {
  const source = await sourceOf(parts, invoice, secrets, confirmed)
  if (!source || !mobileKind(invoice.kind).credits) return source
  const destination = await destinationOf(parts, invoice, secrets, confirmed)
  return destination && { ...source, destination }
}

async function destinationOf(
  parts: FundsParts,
  { merchantId }: Invoice,
  { toPan }: InvoiceSecrets,
  { toServerCardId }: Confirmed,
): Promise<Destination | undefined> {
  if (!toPan) return isNumber(toServerCardId) ? parts.findDestination(merchantId, BigInt(toServerCardId)) : undefined
  const pan = toPan.reveal()
  const network = networkOf(pan)
  const { country } = issuerFacts(parts.issuerOf(pan))
  return { pan: toPan, card: { bin: binOf(pan), lastFour: lastFourOf(pan), ...defined({ network, country }) } }
}

/** As the gateway issues it, without leading zeros. */
const isNumber = (id: string | undefined): id is string => id !== undefined && /^[1-9][0-9]{0,18}$/.test(id)

/**
 * The card that the app sent, or the card of this merchant's reference if its e-mail address is
 * unchanged.
 */
async function sourceOf(
  parts: FundsParts,
  { merchantId, request }: Invoice,
  { pan, cvv2 }: InvoiceSecrets,
  { serverCardId, email }: Confirmed,
): Promise<Funds | undefined> {
  const code = cvv2 === undefined ? {} : { cvv2 }
  if (request.card && pan) {
    const { expiryMonth, expiryYear, printedName, firstName, lastName } = request.card
    const network = networkOf(pan.reveal())
    return {
      card: { pan, ...code },
      shown: {
        bin: binOf(pan.reveal()),
        lastFour: lastFourOf(pan.reveal()),
        ...defined({ network }),
        expiryMonth,
        expiryYear,
        printedName,
      },
      request: defined({ firstName, lastName }),
    }
  }
  if (!isNumber(serverCardId)) return undefined
  const reference = await parts.findReference(merchantId, BigInt(serverCardId))
  if (!reference) return undefined
  if (!isSameEmail(reference.first, request.email, email)) return undefined
  const { hashId: _same, ...shown } = reference.card
  const { networkReference } = reference.first
  return {
    card: { ...parts.openReference(reference), ...code },
    shown,
    request: {
      ...reference.first.payer,
      recurrent: { initiator: 'CARDHOLDER', scenario: 'REGULAR', ...defined({ networkReference }) },
    },
  }
}

/**
 * If the app sent an e-mail address at mapping, the address that it sends now must be the same; if
 * it sends none now, the one that the merchant's server confirms. If the app sent none at mapping,
 * the address of the merchant's server may come from either.
 */
function isSameEmail({ appEmail, payer }: FirstPayment, given: string | undefined, confirmed: string | undefined): boolean {
  const mapped = (appEmail ?? payer.email).toLowerCase()
  const candidates = appEmail === undefined ? [given, confirmed] : [given ?? confirmed]
  return mapped === '' || candidates.some((one) => one?.toLowerCase() === mapped)
}
