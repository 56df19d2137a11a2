import { firstPaymentOf, type Cards } from '../order/cards.ts'
import { isRandomSum, statusOf } from '../order/decide/order.ts'
import type { cardInfoReply, createCardRefReply, createCardRefV4Reply } from '../spec/gateway/card.ts'
import { refusals, type Refusal } from '../spec/refusals.ts'
import { finalStatuses } from '../spec/words.ts'
import type { Reply, ReplyOf } from './reply.ts'
import type { Received, WithOrder, WithReference } from './stages.ts'

type Request = Pick<Received<'create-card-ref' | 'create-card-ref-v4'>, 'operation' | 'serialNumber' | 'now'> & WithOrder

/**
 * Registers the card of an approved payment under a reference; repeating the request returns the
 * same reference.
 */
export async function performCreateCardRef(
  { order, serialNumber, operation, now }: Request,
  { registerCard }: Pick<Cards, 'registerCard'>,
): Promise<Reply | Refusal> {
  const about = {
    type: 'create-card-ref-response',
    'serial-number': serialNumber,
    'merchant-order-id': order.clientOrderid,
    'end-point-id': String(order.endpointId),
  }
  const status = statusOf(order)
  const refused = (why: string) => {
    const { code, text } = refusals['wrong state']
    return {
      ...about,
      status: finalStatuses.has(status) ? 'declined' : 'error',
      'error-message': text(`${order.orderId} ${why}`),
      'error-code': String(code),
    } satisfies ReplyOf<typeof createCardRefReply>
  }
  if (status !== 'approved' || order.kind === 'transfer' || isRandomSum(order)) return refused('does not allow create-card-ref')
  const reference = await registerCard({ orderKey: order, card: order.card, first: firstPaymentOf(order), at: now })
  if (!reference) return refused('does not allow create-card-ref: its card number is no longer kept')
  const { cardRefId, recurringPaymentId, dstCardRefId, dstRecurringPaymentId } = reference.ids
  const registered = { ...about, status, 'card-ref-id': String(cardRefId) }
  return operation === 'create-card-ref'
    ? ({ ...registered, 'unq-card-ref-id': String(reference.uniqueReference) } satisfies ReplyOf<typeof createCardRefReply>)
    : ({
        ...registered,
        'recurring-payment-id': String(recurringPaymentId),
        'dst-card-ref-id': String(dstCardRefId),
        'dst-recurring-payment-id': String(dstRecurringPaymentId),
      } satisfies ReplyOf<typeof createCardRefV4Reply>)
}

/** The public data of a registered card. */
export function performGetCardInfo({
  reference,
  serialNumber,
}: Pick<Received, 'serialNumber'> & WithReference): Promise<Reply | Refusal> {
  const { printedName, expiryYear, expiryMonth, bin, lastFour } = reference.card
  return Promise.resolve({
    type: 'get-card-info-response',
    'serial-number': serialNumber,
    'card-printed-name': printedName,
    'expire-year': String(expiryYear),
    'expire-month': String(expiryMonth),
    bin,
    'last-four-digits': lastFour,
  } satisfies ReplyOf<typeof cardInfoReply>)
}
