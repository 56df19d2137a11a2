import { hmacSha256 } from '../base/digest.ts'
import type { Currency } from '../base/money.ts'
import { binOf, lastFourOf, networkOf } from '../card/number.ts'
import { hashIdOf, sealCard, type Card } from '../card/vault.ts'
import type { BrowserFacts, Order, OrderRequest } from '../order/order.ts'
import { saleRequest, type SaleRequest, type VerificationRequest } from '../spec/gateway/sale.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { OrderKind } from '../spec/words.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'

/** What a payment asks for; nothing, of an account verification. */
type PaymentRequest = VerificationRequest & Pick<Partial<SaleRequest>, 'amount'>

/** Accepts a sale, preauthorisation or account verification: makes the order, seals its card, and answers once both are durable. */
export async function performPayment(asked: Asked): Promise<Reply | Refusal> {
  const { world, now, serialNumber } = asked
  const kind = asked.operation as OrderKind
  const values = asked.values as PaymentRequest
  const merchantId = asked.merchant!.merchantId
  const orderId = await world.orderIds.take()
  const card: Card = { pan: values.credit_card_number, cvv2: values.cvv2 }
  const sealed = sealCard(card, { merchantId, orderId }, world.keys, world.random)
  const pan = card.pan.reveal()
  const network = networkOf(pan)
  const amountMinor = values.amount?.minor ?? 0n
  const amountText = values.amount?.text ?? '0'
  const order: Order = {
    merchantId,
    orderId,
    version: 0,
    kind,
    clientOrderid: values.client_orderid,
    pathId: asked.entry!.pathId,
    endpointId: asked.endpoint!.endpointId,
    currency: values.currency!.code,
    amountMinor,
    amountText,
    request: requestOf(values, asked.endpoint!.settings.callbackUrl),
    card: {
      bin: binOf(pan),
      lastFour: lastFourOf(pan),
      ...(network === undefined ? {} : { network }),
      expiryMonth: values.expire_month,
      expiryYear: values.expire_year,
      printedName: values.card_printed_name,
      hashId: hashIdOf(sealed.fingerprint, world.keys),
    },
    events: 0,
    deliveries: 0,
    createdAt: now,
    transactions: [
      {
        no: 1,
        kind,
        origin: 'request',
        serialNumber,
        state: 'new',
        amountMinor,
        amountText,
        result: {},
        tries: 0,
        createdAt: now,
      },
    ],
    attempts: [],
  }
  const digest = digestOf(values, sealed.fingerprint, asked)
  const advanced = await world.door.submit({ is: 'accept', order, digest, card, sealed })
  if (advanced.is === 'in use') return refuse('order id in use')
  if (advanced.is !== 'accepted') throw new Error(`the door answered a ${kind} with ${advanced.is}`)
  // A repeat may have come by another path; the reply speaks of the order there is.
  const made = advanced.repeat ? await world.orders.byId({ merchantId, orderId: advanced.orderId }) : order
  return {
    type: 'async-response',
    'serial-number': serialNumber,
    'merchant-order-id': values.client_orderid,
    'gateway-order-id': String(advanced.orderId),
    'end-point-id': made && String(made.endpointId),
  }
}

/** Equal for the same request: all its fields but control and cvv2, the card by its fingerprint. Keyed, since it covers personal data of few possible values. */
function digestOf(values: PaymentRequest, fingerprint: Buffer, asked: Asked): Buffer {
  // A sale is told by its fields alone, as it always was.
  const said: [string, unknown][] = asked.operation === 'sale' ? [] : [['operation', asked.operation]]
  for (const name of Object.keys(saleRequest) as (keyof SaleRequest)[]) {
    const value = values[name]
    if (value === undefined || name === 'control' || name === 'cvv2' || name === 'credit_card_number') continue
    said.push([name, name === 'amount' ? values.amount!.text : name === 'currency' ? (value as Currency).code : value])
  }
  return hmacSha256(asked.world.keys.current('digest').key, JSON.stringify([said, fingerprint.toString('hex')]))
}

function requestOf(v: PaymentRequest, endpointCallbackUrl: string | undefined): OrderRequest {
  const browser = browserOf(v)
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

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Leaves out what is undefined, so that absent stays absent when it is stored. */
const defined = <T extends object>(facts: T): Defined<T> =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Defined<T>
