import { defined } from '../base/defined.ts'
import type { CardReference } from '../card/reference.ts'
import type { Card } from '../card/vault.ts'
import type { OrderRequest, RecurrentFacts } from '../order/decide/order.ts'
import { rebillRequest, storedRebill, type RebillRequest } from '../spec/gateway/rebill.ts'
import type { Refusal } from '../spec/refusals.ts'
import { acceptPayment, type Paying } from './accept.ts'
import { requestDigest } from './digest.ts'
import { recurrenceOf } from './needs.ts'
import type { Reply } from './reply.ts'
import type { Addressed, ByMerchant, Rebill, WithEndpoint, WithReference } from './stages.ts'

type Request = Addressed<Rebill> & ByMerchant & WithEndpoint & WithReference & { readonly values: RebillRequest }

/** Charges a registered card: an order with the card and the payer of the first payment. */
export async function performRebill(
  request: Request,
  parts: Paying & { openReference: (reference: CardReference) => Card },
): Promise<Reply | Refusal> {
  const { values, reference, operation } = request
  const { amount, currency, enumerate_amounts: amounts, cvv2 } = values
  const [first] = amounts ?? []
  const kind = operation === 'make-rebill-preauth' ? 'preauth' : 'sale'
  const { hashId: _same, ...shown } = reference.card
  // Two of the three paths are the same operation.
  const named = kind === 'preauth' ? 'make-rebill-preauth' : 'make-rebill-sale'
  return acceptPayment(
    parts,
    request,
    {
      kind,
      clientOrderid: values.client_orderid,
      currency: currency.code,
      amountMinor: amount.minor,
      amountText: amount.text,
      ...(first ? { first } : {}),
      request: requestOf(request),
      card: { ...parts.openReference(reference), ...(cvv2 ? { cvv2 } : {}) },
      shown,
    },
    (numberId) => requestDigest(parts, rebillRequest, values, named, numberId),
  )
}

function recurrentOf({ values, reference, endpoint, registry }: Request): RecurrentFacts {
  const { enumerate_amounts: amounts } = values
  const { networkReference } = reference.first
  return {
    ...recurrenceOf(values, endpoint, registry),
    ...(networkReference === undefined ? {} : { networkReference }),
    ...(amounts ? { amounts: amounts.map(({ minor, text }) => [String(minor), text] as const) } : {}),
  }
}

const requestOf = (request: Request): OrderRequest => ({
  ...request.reference.first.payer,
  ...storedRebill(request.values),
  ...defined({ endpointCallbackUrl: request.endpoint.settings.callbackUrl }),
  recurrent: recurrentOf(request),
})
