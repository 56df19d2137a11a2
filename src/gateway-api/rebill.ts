import { hmacSha256 } from '../base/digest.ts'
import type { Currency } from '../base/money.ts'
import type { OrderRequest, RecurrentFacts } from '../order/order.ts'
import { rebillRequest, type RebillRequest } from '../spec/gateway/rebill.ts'
import type { Refusal } from '../spec/refusals.ts'
import { acceptOrder, defined } from './accept.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'

/** Charges a registered card: an order like any other, whose card and payer are those of the first payment. */
export async function performRebill(asked: Asked): Promise<Reply | Refusal> {
  const values = asked.values as RebillRequest
  const reference = asked.reference!
  const { amount, currency, enumerate_amounts: amounts } = values
  const recurrent = recurrentOf(asked)
  const [first] = amounts ?? []
  const { hashId: _same, ...shown } = reference.card
  return acceptOrder(asked, {
    kind: asked.operation === 'make-rebill-preauth' ? 'preauth' : 'sale',
    clientOrderid: values.client_orderid,
    currency: currency.code,
    amountMinor: amount.minor!,
    amountText: amount.text,
    ...(first ? { first: { minor: first.minor!, text: first.text } } : {}),
    request: requestOf(values, asked, recurrent),
    card: { ...asked.world.openReference(reference), ...(values.cvv2 ? { cvv2: values.cvv2 } : {}) },
    shown,
    digest: (fingerprint) => digestOf(values, fingerprint, asked),
  })
}

function recurrentOf({ values, reference }: Asked): RecurrentFacts {
  const { recurrent_initiator, recurrent_scenario, enumerate_amounts } = values as RebillRequest
  const { networkReference } = reference!.first
  return {
    initiator: (recurrent_initiator ?? 'MERCHANT') as RecurrentFacts['initiator'],
    scenario: (recurrent_scenario ?? 'REGULAR') as RecurrentFacts['scenario'],
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

/** Equal for the same request by any of the paths: all its fields but control and cvv2. */
function digestOf(values: RebillRequest, fingerprint: Buffer, asked: Asked): Buffer {
  const said: [string, unknown][] = [
    ['operation', asked.operation === 'make-rebill-preauth' ? 'make-rebill-preauth' : 'make-rebill-sale'],
  ]
  for (const name of Object.keys(rebillRequest) as (keyof RebillRequest)[]) {
    const value = values[name]
    if (value === undefined || name === 'control' || name === 'cvv2') continue
    if (name === 'amount') said.push([name, values.amount.text])
    else if (name === 'currency') said.push([name, (value as Currency).code])
    else if (name === 'enumerate_amounts') said.push([name, values.enumerate_amounts!.map(({ text }) => text)])
    else said.push([name, typeof value === 'bigint' ? String(value) : value])
  }
  return hmacSha256(asked.world.keys.current('digest').key, JSON.stringify([said, fingerprint.toString('hex')]))
}
