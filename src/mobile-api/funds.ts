import { issuerFacts } from '../card/bins.ts'
import { binOf, lastFourOf, networkOf } from '../card/number.ts'
import type { DestinationCard, FirstPayment } from '../card/reference.ts'
import type { Secret } from '../base/secret.ts'
import type { NewOrder } from '../gateway-api/accept.ts'
import type { OrderRequest } from '../order/order.ts'
import type { Confirmed, Invoice, InvoiceSecrets } from './invoice.ts'
import type { MobileWorld } from './mobile-world.ts'

export type Funds = Pick<NewOrder, 'card' | 'shown'> & { request: Partial<OrderRequest>; destination?: Destination }

/** The card that a transfer credits. */
interface Destination {
  pan: Secret<string>
  card: DestinationCard
}

type FundsWorld = Pick<MobileWorld, 'findReference' | 'openReference' | 'findDestination' | 'issuerOf'>

/** The cards of an invoice; undefined where one cannot be used. */
export async function fundsOf(
  world: FundsWorld,
  invoice: Invoice,
  secrets: InvoiceSecrets,
  confirmed: Confirmed,
): Promise<Funds | undefined> {
  const source = await sourceOf(world, invoice, secrets, confirmed)
  if (!source || invoice.kind !== 'transfer') return source
  const destination = await destinationOf(world, invoice, secrets, confirmed)
  return destination && { ...source, destination }
}

async function destinationOf(
  world: FundsWorld,
  { merchantId }: Invoice,
  { toPan }: InvoiceSecrets,
  { toServerCardId }: Confirmed,
): Promise<Destination | undefined> {
  if (!toPan) return isNumber(toServerCardId) ? world.findDestination(merchantId, BigInt(toServerCardId)) : undefined
  const pan = toPan.reveal()
  const network = networkOf(pan)
  const { country } = issuerFacts(world.issuerOf(pan))
  const known = { ...(network === undefined ? {} : { network }), ...(country === undefined ? {} : { country }) }
  return { pan: toPan, card: { bin: binOf(pan), lastFour: lastFourOf(pan), ...known } }
}

/** As the gateway gives it out, without zeros before it. */
const isNumber = (id: string | undefined): id is string => id !== undefined && /^[1-9][0-9]{0,18}$/.test(id)

/** The card of the app, or that of a reference of this merchant whose e-mail address is still the same. */
async function sourceOf(
  world: FundsWorld,
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
        ...(network === undefined ? {} : { network }),
        expiryMonth,
        expiryYear,
        printedName,
      },
      request: { ...(firstName === undefined ? {} : { firstName }), ...(lastName === undefined ? {} : { lastName }) },
    }
  }
  if (!isNumber(serverCardId)) return undefined
  const reference = await world.findReference(merchantId, BigInt(serverCardId))
  if (!reference) return undefined
  if (!isSameEmail(reference.first, request.email, email)) return undefined
  const { hashId: _same, ...shown } = reference.card
  const { networkReference } = reference.first
  return {
    card: { ...world.openReference(reference), ...code },
    shown,
    request: {
      ...reference.first.payer,
      recurrent: {
        initiator: 'CARDHOLDER',
        scenario: 'REGULAR',
        ...(networkReference === undefined ? {} : { networkReference }),
      },
    },
  }
}

/** What the app gave at mapping must come again. Where it gave none, or that is not known, what its merchant said then may be said by either. */
function isSameEmail({ appEmail, payer }: FirstPayment, given: string | undefined, confirmed: string | undefined): boolean {
  const mapped = (appEmail ?? payer.email).toLowerCase()
  const said = appEmail === undefined ? [given, confirmed] : [given ?? confirmed]
  return mapped === '' || said.some((one) => one?.toLowerCase() === mapped)
}
