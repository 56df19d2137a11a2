import type { OrderRequest, RecurrentFacts } from '../order/order.ts'
import { rebillRequest, type RebillRequest } from '../spec/gateway/rebill.ts'
import type { Refusal } from '../spec/refusals.ts'
import { acceptOrder, defined } from './accept.ts'
import type { Asked } from './asked.ts'
import { requestDigest } from './digest.ts'
import { recurrenceOf } from './needs.ts'
import type { Reply } from './reply.ts'

/** Charges a registered card: an order like any other, whose card and payer are those of the first payment. */
export async function performRebill(asked: Asked): Promise<Reply | Refusal> {
  const values = asked.values as RebillRequest
  const reference = asked.reference!
  const { amount, currency, enumerate_amounts: amounts } = values
  const recurrent = recurrentOf(asked)
  const [first] = amounts ?? []
  const kind = asked.operation === 'make-rebill-preauth' ? 'preauth' : 'sale'
  const { hashId: _same, ...shown } = reference.card
  return acceptOrder(asked, {
    kind,
    clientOrderid: values.client_orderid,
    currency: currency.code,
    amountMinor: amount.minor!,
    amountText: amount.text,
    ...(first ? { first: { minor: first.minor!, text: first.text } } : {}),
    request: requestOf(values, asked, recurrent),
    card: { ...asked.world.openReference(reference), ...(values.cvv2 ? { cvv2: values.cvv2 } : {}) },
    shown,
    // Two of the three paths are one operation.
    digest: (fingerprint) =>
      requestDigest(asked, rebillRequest, kind === 'preauth' ? 'make-rebill-preauth' : 'make-rebill-sale', fingerprint),
  })
}

function recurrentOf({ values, reference, endpoint, registry }: Asked): RecurrentFacts {
  const { enumerate_amounts } = values as RebillRequest
  const { networkReference } = reference!.first
  return {
    ...recurrenceOf(values as RebillRequest, endpoint!, registry),
    ...(networkReference === undefined ? {} : { networkReference }),
    ...(enumerate_amounts ? { amounts: enumerate_amounts.map(({ minor, text }) => [String(minor), text] as const) } : {}),
  }
}

const requestOf = (v: RebillRequest, { reference, endpoint }: Asked, recurrent: RecurrentFacts): OrderRequest => ({
  ...reference!.first.payer,
  ...defined({
    orderDesc: v.order_desc,
    ipAddress: v.ipaddress,
    purpose: v.purpose,
    comment: v.comment,
    merchantData: v.merchant_data,
    redirectUrl: v.redirect_url,
    redirectSuccessUrl: v.redirect_success_url,
    redirectFailUrl: v.redirect_fail_url,
    serverCallbackUrl: v.server_callback_url,
    notifyUrl: v.notify_url,
    endpointCallbackUrl: endpoint!.settings.callbackUrl,
  }),
  recurrent,
})
