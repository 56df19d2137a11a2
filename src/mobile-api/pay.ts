import { minorToDecimal, currencyOf } from '../base/money.ts'
import { binOf, lastFourOf, networkOf } from '../card/number.ts'
import { acceptOrder, type NewOrder } from '../gateway-api/accept.ts'
import type { Asked } from '../gateway-api/asked.ts'
import { uuid } from '../base/random.ts'
import type { OrderRequest } from '../order/order.ts'
import { declines, type Decline, type Invoice, type InvoiceSecrets } from './invoice.ts'
import type { Verdict } from './merchant-calls.ts'
import { mappingUrl } from './merchant-wire.ts'
import type { MobileWorld } from './mobile-world.ts'
import type { Place } from './perform.ts'

type Confirmed = Extract<Verdict, { is: 'confirmed' }>

/** Makes the order of a confirmed invoice. Doing it again finds the same order, so that whoever takes the invoice over makes no second one. */
export async function orderInvoice(
  world: MobileWorld,
  place: Place,
  invoice: Invoice,
  secrets: InvoiceSecrets,
  confirmed: Confirmed,
): Promise<Decline | undefined> {
  const paidWith = await fundsOf(world, invoice, secrets, confirmed)
  if (!paidWith) return declines.card
  const { request, kind, invoiceId, orderId, digest } = invoice
  const amountMinor = BigInt(request.amountMinor ?? 0)
  const { exponent } = currencyOf(request.currency)!
  const operation = kind === 'sale' ? 'sale' : 'account-verification'
  const asked: Asked = {
    world,
    operation,
    path: { id: String(invoice.endpointId), group: false },
    overloaded: false,
    serialNumber: uuid(world.random),
    now: world.clock.now(),
    registry: world.registry(),
    merchant: place.merchant,
    endpoint: place.endpoint,
    entry: { pathId: invoice.endpointId, merchant: place.merchant, enabled: true, endpoints: [place.endpoint] },
  }
  const reply = await acceptOrder(asked, {
    kind: operation,
    orderId,
    clientOrderid: invoiceId,
    currency: request.currency,
    amountMinor,
    amountText: kind === 'sale' ? minorToDecimal(amountMinor, exponent) : '0',
    digest: () => digest,
    ...paidWith,
    request: orderRequest(invoice, place, confirmed, paidWith.request),
  })
  return 'refused' in reply ? declines.name : undefined
}

type PaidWith = Pick<NewOrder, 'card' | 'shown'> & { request: Partial<OrderRequest> }

/** The card of the app, or that of a reference of this merchant whose e-mail address is still the same. */
async function fundsOf(
  world: MobileWorld,
  { merchantId, request }: Invoice,
  { pan, cvv2 }: InvoiceSecrets,
  { serverCardId, email }: Confirmed,
): Promise<PaidWith | undefined> {
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
  if (serverCardId === undefined || !/^[0-9]{1,19}$/.test(serverCardId)) return undefined
  const reference = await world.findReference(merchantId, BigInt(serverCardId))
  if (!reference) return undefined
  const mapped = reference.first.payer.email
  const given = request.email ?? email
  if (mapped !== '' && mapped.toLowerCase() !== given?.toLowerCase()) return undefined
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

/** What the app said, then what the merchant's server said, then what is known of the card. */
function orderRequest(
  { request, invoiceId, kind }: Invoice,
  { endpoint }: Place,
  confirmed: Confirmed,
  paidWith: Partial<OrderRequest>,
): OrderRequest {
  const { callbackUrl, merchantServerUrl } = endpoint.settings
  const birthday = confirmed.birthDay ?? request.birthDay
  const mapped = request.card ? { mappingUrl: mappingUrl(merchantServerUrl!, kind) } : {}
  const { description, siteUrl, purpose } = request
  return {
    ...paidWith,
    ...request.billing,
    ...confirmed.billing,
    orderDesc: description ?? (kind === 'sale' ? 'Sale' : 'Card verification'),
    ipAddress: confirmed.ipAddress ?? request.ipAddress,
    email: confirmed.email ?? request.email ?? paidWith.email ?? '',
    ...(birthday === undefined ? {} : { birthday: birthday.replace(/^(..)(..)(....)$/, '$3$2$1') }),
    ...(siteUrl === undefined ? {} : { siteUrl }),
    ...(purpose === undefined ? {} : { purpose }),
    ...(callbackUrl === undefined ? {} : { endpointCallbackUrl: callbackUrl }),
    mobile: { invoiceId, ...mapped },
  }
}
