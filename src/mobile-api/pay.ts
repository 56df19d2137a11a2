import { uuid } from '../base/random.ts'
import { currencyOf, minorToDecimal } from '../base/money.ts'
import { acceptOrder, type NewOrder } from '../gateway-api/accept.ts'
import type { Asked } from '../gateway-api/asked.ts'
import type { DestinationCard } from '../card/reference.ts'
import type { OrderRequest, TransferFacts } from '../order/order.ts'
import type { OrderKind } from '../spec/words.ts'
import { totalMinor } from './fees.ts'
import type { Funds } from './funds.ts'
import { declines, type Confirmed, type Decline, type Invoice, type MobileKind } from './invoice.ts'
import { mappingUrl } from './merchant-wire.ts'
import type { MobileWorld } from './mobile-world.ts'
import type { Place } from './perform.ts'

/** Makes the order of a confirmed invoice, or of one that is declined: its outcome is told as any order's. Undefined once it is there. */
export async function orderInvoice(
  world: MobileWorld,
  place: Place,
  invoice: Invoice,
  confirmed: Confirmed,
  funds: Funds,
  decline?: Decline,
): Promise<Decline | undefined> {
  const { request, kind, invoiceId, orderId, sumStatus } = invoice
  const { destination, ...source } = funds
  const amountMinor = BigInt(request.amountMinor ?? 0)
  const spelled = (minor: bigint) => minorToDecimal(minor, currencyOf(request.currency)!.exponent)
  const maps = request.card !== undefined || (kind === 'transfer' && request.toClientCardId === undefined)
  const { callbackUrl, merchantServerUrl } = place.endpoint.settings
  const total = totalMinor(invoice)
  const isMade = await makeOrder(world, place, invoice, {
    kind: kinds[kind].order,
    orderId,
    clientOrderid: invoiceId,
    currency: request.currency,
    amountMinor,
    amountText: kind === 'verification' ? '0' : spelled(amountMinor),
    ...(destination && { first: { minor: total, text: spelled(total) } }),
    ...source,
    card: { ...source.card, ...(destination && { destination: destination.pan }) },
    request: {
      ...payerRequest(invoice, confirmed, funds),
      orderDesc: request.description ?? kinds[kind].description,
      ...(destination && { transfer: transferFacts(invoice, destination.card) }),
      ...(callbackUrl === undefined ? {} : { endpointCallbackUrl: callbackUrl }),
      mobile: {
        invoiceId,
        ...(request.email === undefined ? {} : { email: request.email }),
        ...(maps ? { mappingUrl: mappingUrl(merchantServerUrl!, kind) } : {}),
        ...(sumStatus === 'AUTHENTICATED' ? { randomSum: 'named' } : {}),
        ...(decline && { refusal: { code: String(decline.errorCode), message: decline.errorMessage } }),
      },
    },
  })
  return isMade ? undefined : declines.name
}

// oxfmt-ignore
const kinds: Readonly<Record<MobileKind, { order: OrderKind; description: string }>> = {
  verification: { order: 'account-verification', description: 'Card verification' },
  sale:         { order: 'sale',                 description: 'Sale' },
  transfer:     { order: 'transfer',             description: 'Transfer' },
}

const transferFacts = ({ fee }: Invoice, destination: DestinationCard): TransferFacts => ({
  commissionMinor: fee?.commissionMinor ?? '0',
  ...(fee === undefined ? {} : { gateId: fee.gateId }),
  destination,
})

/** Makes an order under its own number; the caller has looked that it is not there. False where its name is another's. */
export async function makeOrder(
  world: MobileWorld,
  { merchant, endpoint }: Place,
  { digest }: Invoice,
  made: Omit<NewOrder, 'digest'> & { orderId: bigint },
): Promise<boolean> {
  const pathId = endpoint.endpointId
  const asked: Asked = {
    world,
    // As far as the gateway API has a name for it: of a transfer it has none.
    operation: made.kind === 'transfer' ? 'sale' : made.kind,
    path: { id: String(pathId), group: false },
    overloaded: false,
    serialNumber: uuid(world.random),
    now: world.clock.now(),
    registry: world.registry(),
    merchant,
    endpoint,
    entry: { pathId, merchant, enabled: true, endpoints: [endpoint] },
  }
  const reply = await acceptOrder(asked, { ...made, digest: () => digest })
  return !('refused' in reply)
}

/** What is known of the payer: what the app said, then what the merchant's server said, then what is known of the card. */
export function payerRequest({ request }: Invoice, confirmed: Confirmed, funds: Funds): OrderRequest {
  const birthday = confirmed.birthDay ?? request.birthDay
  const { siteUrl, purpose } = request
  return {
    ...funds.request,
    ...request.billing,
    ...confirmed.billing,
    orderDesc: '',
    ipAddress: confirmed.ipAddress ?? request.ipAddress,
    email: confirmed.email ?? request.email ?? funds.request.email ?? '',
    ...(birthday === undefined ? {} : { birthday: birthday.replace(/^(..)(..)(....)$/, '$3$2$1') }),
    ...(siteUrl === undefined ? {} : { siteUrl }),
    ...(purpose === undefined ? {} : { purpose }),
  }
}
