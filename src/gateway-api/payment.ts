import { defined } from '../base/defined.ts'
import { binOf, lastFourOf, networkOf } from '../card/number.ts'
import type { BrowserFacts, OrderRequest } from '../order/order.ts'
import { saleRequest, type SaleRequest, type VerificationRequest } from '../spec/gateway/sale.ts'
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

function requestOf(v: PaymentRequest, endpointCallbackUrl: string | undefined): OrderRequest {
  const browser = browserOf(v)
  const { recurrent_expiry: expiry, recurrent_frequency: frequencyDays } = v
  return defined({
    orderDesc: v.order_desc,
    ipAddress: v.ipaddress,
    email: v.email,
    firstName: v.first_name,
    lastName: v.last_name,
    phone: v.phone,
    cellPhone: v.cell_phone,
    country: v.country,
    state: v.state,
    city: v.city,
    zipCode: v.zip_code,
    address1: v.address1,
    birthday: v.birthday,
    ssn: v.ssn,
    siteUrl: v.site_url,
    purpose: v.purpose,
    comment: v.comment,
    merchantData: v.merchant_data,
    series: expiry !== undefined && frequencyDays !== undefined ? { expiry, frequencyDays } : undefined,
    redirectUrl: v.redirect_url,
    redirectSuccessUrl: v.redirect_success_url,
    redirectFailUrl: v.redirect_fail_url,
    serverCallbackUrl: v.server_callback_url,
    notifyUrl: v.notify_url,
    endpointCallbackUrl,
    browser: Object.keys(browser).length > 0 ? browser : undefined,
  })
}

const browserOf = (v: PaymentRequest): BrowserFacts =>
  defined({
    screenWidth: v.customer_browser_screen_width,
    screenHeight: v.customer_browser_screen_height,
    colorDepth: v.customer_browser_color_depth,
    timeZone: v.customer_browser_time_zone,
    javascriptEnabled: v.customer_browser_javascript_enabled,
    javaEnabled: v.customer_browser_java_enabled,
    userAgent: v.customer_user_agent,
    accept: v.customer_accept,
    language: v.customer_accept_language,
  })
