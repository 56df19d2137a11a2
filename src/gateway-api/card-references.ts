import type { FirstPayment } from '../card/reference.ts'
import { head, isRandomSum, statusOf, type Order } from '../order/order.ts'
import { cardInfoReply, createCardRefReply, createCardRefV4Reply } from '../spec/gateway/card.ts'
import { refusals, type Refusal } from '../spec/refusals.ts'
import { finalStatuses } from '../spec/words.ts'
import { defined } from './accept.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'

/** Turns an approved payment into a reference of its card; asked again, it answers with the same one. */
export async function performCreateCardRef(asked: Asked): Promise<Reply | Refusal> {
  const { world, serialNumber, operation, now } = asked
  const order = asked.order!
  const about = {
    type: 'create-card-ref-response',
    'serial-number': serialNumber,
    'merchant-order-id': order.clientOrderid,
    'end-point-id': String(order.endpointId),
  }
  const status = statusOf(order)
  if (status !== 'approved' || order.kind === 'transfer' || isRandomSum(order)) {
    const { code, text } = refusals['wrong state']
    const reply = {
      ...about,
      status: finalStatuses.has(status) ? 'declined' : 'error',
      'error-message': text(`${order.orderId} does not allow create-card-ref`),
      'error-code': String(code),
    }
    return inOrder(createCardRefReply, reply)
  }
  const reference = await world.registerCard({ place: order, card: order.card, first: firstPaymentOf(order), at: now })
  const { cardRefId, recurringPaymentId, dstCardRefId, dstRecurringPaymentId } = reference.ids
  const registered = { ...about, status, 'card-ref-id': String(cardRefId) }
  return operation === 'create-card-ref'
    ? inOrder(createCardRefReply, { ...registered, 'unq-card-ref-id': String(reference.uniqueReference) })
    : inOrder(createCardRefV4Reply, {
        ...registered,
        'recurring-payment-id': String(recurringPaymentId),
        'dst-card-ref-id': String(dstCardRefId),
        'dst-recurring-payment-id': String(dstRecurringPaymentId),
      })
}

/** What may be shown of a registered card. */
export function performGetCardInfo({ reference, serialNumber }: Asked): Promise<Reply | Refusal> {
  const { printedName, expiryYear, expiryMonth, bin, lastFour } = reference!.card
  return Promise.resolve(
    inOrder(cardInfoReply, {
      type: 'get-card-info-response',
      'serial-number': serialNumber,
      'card-printed-name': printedName,
      'expire-year': String(expiryYear),
      'expire-month': String(expiryMonth),
      bin,
      'last-four-digits': lastFour,
    }),
  )
}

const inOrder = (fields: Readonly<Record<string, unknown>>, reply: Readonly<Record<string, string>>): Reply =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, reply[name]]))

/** What a later payment takes from this one. */
export function firstPaymentOf(order: Order): FirstPayment {
  const { email, firstName, lastName, phone, cellPhone, country, state, city, zipCode, address1 } = order.request
  const { result, authentication } = head(order)
  const networkReference = result.processor?.networkReference
  const appEmail = order.request.mobile?.email
  return {
    ...(networkReference === undefined ? {} : { networkReference }),
    ...(appEmail === undefined ? {} : { appEmail }),
    ...(authentication && result.verified !== undefined
      ? {
          authentication: {
            verified: result.verified,
            version: authentication.version,
            ...(result.eci === undefined ? {} : { eci: result.eci }),
            ...(authentication.dsTransId === undefined ? {} : { dsTransId: authentication.dsTransId }),
          },
        }
      : {}),
    payer: defined({ email, firstName, lastName, phone, cellPhone, country, state, city, zipCode, address1 }),
  }
}
