import { binOf, lastFourOf, networkOf } from '../card/number.ts'
import type { OrderRequest } from '../order/decide/order.ts'
import { saleRequest, storedRequest, type SaleRequest, type VerificationRequest } from '../spec/gateway/sale.ts'
import type { Currency } from '../base/money.ts'
import type { Refusal } from '../spec/refusals.ts'
import { acceptPayment, type Paying } from './accept.ts'
import { requestDigest } from './digest.ts'
import type { Reply } from './reply.ts'
import type { Addressed, ByMerchant, Payment, WithEndpoint } from './stages.ts'

/** The fields of a payment; an account verification has no amount. */
type PaymentRequest = VerificationRequest &
  Pick<Partial<SaleRequest>, 'amount' | 'recurrent_expiry' | 'recurrent_frequency'> & { currency: Currency }

type Request = Addressed<Payment> & ByMerchant & WithEndpoint & { readonly values: PaymentRequest }

/** Accepts a sale, preauthorisation or account verification. */
export async function performPayment(request: Request, parts: Paying): Promise<Reply | Refusal> {
  const { operation, values, endpoint } = request
  const pan = values.credit_card_number.reveal()
  const network = networkOf(pan)
  // The digest of a sale does not include the operation, so that stored digests stay valid.
  const named = operation === 'sale' ? undefined : operation
  return acceptPayment(
    parts,
    request,
    {
      kind: operation,
      clientOrderid: values.client_orderid,
      currency: values.currency.code,
      amountMinor: values.amount?.minor ?? 0n,
      amountText: values.amount?.text ?? '0',
      request: requestOf(values, endpoint.settings.callbackUrl),
      card: { pan: values.credit_card_number, cvv2: values.cvv2 },
      shown: {
        bin: binOf(pan),
        lastFour: lastFourOf(pan),
        ...(network === undefined ? {} : { network }),
        expiryMonth: values.expire_month,
        expiryYear: values.expire_year,
        printedName: values.card_printed_name,
      },
    },
    (numberId) => requestDigest(parts, saleRequest, values, named, numberId),
  )
}

function requestOf(values: PaymentRequest, endpointCallbackUrl: string | undefined): OrderRequest {
  const { recurrent_expiry: expiry, recurrent_frequency: frequencyDays } = values
  const request: OrderRequest = storedRequest(values)
  if (expiry !== undefined && frequencyDays !== undefined) request.series = { expiry, frequencyDays }
  if (endpointCallbackUrl !== undefined) request.endpointCallbackUrl = endpointCallbackUrl
  return request
}
