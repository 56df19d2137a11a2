import { uuid } from '../base/random.ts'
import { currencyOf, minorToDecimal } from '../base/money.ts'
import { acceptOrder, type NewOrder } from '../gateway-api/accept.ts'
import type { Asked } from '../gateway-api/asked.ts'
import type { OrderRequest } from '../order/order.ts'
import type { Operation } from '../spec/gateway/operations.ts'
import type { Funds } from './funds.ts'
import { declines, type Confirmed, type Decline, type Invoice } from './invoice.ts'
import { mappingUrl } from './merchant-wire.ts'
import type { MobileWorld } from './mobile-world.ts'
import type { Place } from './perform.ts'

/** Makes the order of a confirmed invoice; undefined once it is there. */
export async function orderInvoice(
  world: MobileWorld,
  place: Place,
  invoice: Invoice,
  confirmed: Confirmed,
  funds: Funds,
): Promise<Decline | undefined> {
  const { request, kind, invoiceId, orderId, sumStatus } = invoice
  const amountMinor = BigInt(request.amountMinor ?? 0)
  const { exponent } = currencyOf(request.currency)!
  const operation = kind === 'sale' ? 'sale' : 'account-verification'
  const mapped = request.card ? { mappingUrl: mappingUrl(place.endpoint.settings.merchantServerUrl!, kind) } : {}
  const { callbackUrl } = place.endpoint.settings
  const isMade = await makeOrder(world, place, invoice, operation, {
    kind: operation,
    orderId,
    clientOrderid: invoiceId,
    currency: request.currency,
    amountMinor,
    amountText: kind === 'sale' ? minorToDecimal(amountMinor, exponent) : '0',
    ...funds,
    request: {
      ...payerRequest(invoice, confirmed, funds),
      orderDesc: request.description ?? (kind === 'sale' ? 'Sale' : 'Card verification'),
      ...(callbackUrl === undefined ? {} : { endpointCallbackUrl: callbackUrl }),
      mobile: { invoiceId, ...mapped, ...(sumStatus === undefined ? {} : { randomSum: 'named' }) },
    },
  })
  return isMade ? undefined : declines.name
}

/** Makes an order under its own number, once: whoever takes the invoice over finds it, whatever became of it. False where its name is another's. */
export async function makeOrder(
  world: MobileWorld,
  { merchant, endpoint }: Place,
  { digest }: Invoice,
  operation: Operation,
  made: Omit<NewOrder, 'digest'> & { orderId: bigint },
): Promise<boolean> {
  const { merchantId } = merchant
  const { orderId } = made
  if (await world.orders.byId({ merchantId, orderId })) return true
  const pathId = endpoint.endpointId
  const asked: Asked = {
    world,
    operation,
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
