import { binOf, lastFourOf, networkOf } from '../card/number.ts'
import type { NewOrder } from '../gateway-api/accept.ts'
import type { OrderRequest } from '../order/order.ts'
import type { Confirmed, Invoice, InvoiceSecrets } from './invoice.ts'
import type { MobileWorld } from './mobile-world.ts'

export type Funds = Pick<NewOrder, 'card' | 'shown'> & { request: Partial<OrderRequest> }

/** The card of the app, or that of a reference of this merchant whose e-mail address is still the same. */
export async function fundsOf(
  world: Pick<MobileWorld, 'findReference' | 'openReference'>,
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
