/** Payments that merchants request, and what they do with approved ones. */
import { currencyOf } from '../../src/base/money.ts'
import { secret } from '../../src/base/secret.ts'
import type { Order } from '../../src/order/decide/order.ts'
import type { RebillRequest } from '../../src/spec/gateway/rebill.ts'
import type { SaleRequest } from '../../src/spec/gateway/sale.ts'
import type { Intent, Wanted } from '../world/asking.ts'
import type { Chance } from '../world/chance.ts'
import { mallory } from '../watch/filters.ts'
import { cards, configuration, legacyCard, legacyEndpoints, secureCards } from '../model/configuration.ts'

export const cvv2s = ['123', '123', '123', '123', '111', '321', '116', '101', '209', '217'] as const
/** With 165 the acquirer demands a challenge. */
export const secureCvv2s = [...cvv2s.slice(0, 5), '165', '165', '116', '217'] as const
/** Most of these have the sum held, so that the cardholder can be asked for it. */
export const sumCvv2s = [...cvv2s.slice(0, 3), ...cvv2s.slice(0, 3), '116', '217'] as const

const usd = currencyOf('USD')!
const dollars = (cents: number) => ({
  text: `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`,
  minor: BigInt(cents),
})

/**
 * Usually no key. Otherwise a key of its own, or sometimes the key of a recent request, of this
 * merchant or of another.
 */
function keyOf(kind: 'pay' | 'rebill' | 'follow', number: number, chance: Chance): { idempotencyKey?: string } {
  if (!chance.happens(0.4)) return {}
  return { idempotencyKey: `${kind}-${chance.happens(0.1) ? number - chance.whole(1, 6) : number}` }
}

/** The payer's address. A registered card keeps it, so it shows whose card is charged. */
export const payerOf = (merchantId: bigint): string => `buyer@shop${merchantId}.test`

const addressOf = (chance: Chance): string =>
  chance.happens(0.02) ? mallory : chance.pick(['192.0.2.1', '192.0.2.2', '192.0.2.3'])

function callbacks(merchantId: bigint, chance: Chance) {
  const host = `http://shop${merchantId}.test`
  return {
    ...(chance.happens(0.8) ? { server_callback_url: `${host}/sale` } : {}),
    ...(chance.happens(0.3) ? { notify_url: chance.happens(0.5) ? `${host}/sale` : 'http://books.test/notify' } : {}),
  }
}

/** The browser data that a merchant without a browser knows of the cardholder. */
const browser = {
  customer_browser_screen_width: '1400',
  customer_browser_screen_height: '900',
  customer_browser_color_depth: '24',
  customer_browser_time_zone: '-60',
  customer_browser_javascript_enabled: true,
  customer_browser_java_enabled: false,
  customer_user_agent: 'Browser/1',
  customer_accept: '*/*',
  customer_accept_language: 'en-GB',
}

/** The payment of this number: the purchase, the card, and the callback addresses. */
export function wantedPayment(number: number, chance: Chance): Wanted {
  const endpointId = chance.happens(0.02)
    ? 14n
    : chance.happens(0.33)
      ? chance.pick([15n, 15n, 16n])
      : chance.pick([11n, 12n, 13n])
  const endpoint = configuration.endpoint(endpointId)!
  const { threeDSecure } = endpoint.settings
  const operation = chance.happens(0.6) ? 'sale' : chance.happens(0.8) ? 'preauth' : 'account-verification'
  const values = {
    client_orderid: `order-${number}`,
    order_desc: 'a thing',
    ...(operation === 'account-verification' ? {} : { amount: dollars(chance.whole(100, 90_000)) }),
    currency: usd,
    control: '',
    ipaddress: addressOf(chance),
    email: payerOf(endpoint.merchantId),
    credit_card_number: secret<string>(chance.pick(threeDSecure ? secureCards : cards)),
    card_printed_name: 'A BUYER',
    expire_month: 12,
    expire_year: chance.happens(0.02) ? 2025 : 2031,
    cvv2: secret<string>(chance.pick(threeDSecure ? secureCvv2s : cvv2s)),
    ...(endpoint.settings.withoutMethod && number % 3 === 0 ? browser : {}),
    ...callbacks(endpoint.merchantId, chance),
  } as SaleRequest
  return { clientOrderid: values.client_orderid, endpointId, operation, values, ...keyOf('pay', number, chance) }
}

/** The payment of this number with a card of 3-D Secure 1.0.2. */
export function wantedLegacy(number: number, chance: Chance): Wanted {
  const endpointId = chance.pick(legacyEndpoints)
  const { merchantId } = configuration.endpoint(endpointId)!
  const values = {
    client_orderid: `old-${number}`,
    order_desc: 'a thing',
    amount: dollars(chance.whole(100, 90_000)),
    currency: usd,
    control: '',
    ipaddress: addressOf(chance),
    email: payerOf(merchantId),
    credit_card_number: secret<string>(legacyCard(number)),
    card_printed_name: 'A BUYER',
    expire_month: 12,
    expire_year: 2031,
    cvv2: secret<string>(chance.pick(['123', '123', '123', '116', '217'])),
    ...callbacks(merchantId, chance),
  } as SaleRequest
  const operation = chance.happens(0.6) ? 'sale' : 'preauth'
  return { clientOrderid: values.client_orderid, endpointId, operation, values }
}

const endpointsOf: Record<string, readonly bigint[]> = { 1: [11n, 15n], 2: [12n, 16n], 3: [13n], 4: [23n] }

/**
 * A payment with a registered card. Without CVV2 the acquirer approves only up to 1,000.00, so that
 * it declines some amounts of a list first. With CVV2 116 it never approves.
 */
export function wantedRebill(number: number, merchantId: bigint, reference: HandedOut, chance: Chance): Wanted {
  const endpointId = chance.pick(endpointsOf[String(merchantId)]!)
  const amounts = Array.from({ length: chance.whole(2, 5) }, () => chance.whole(40_000, 250_000)).sort((a, b) => b - a)
  const isList = chance.happens(0.7)
  const values = {
    client_orderid: `rebill-${number}`,
    login: `shop${merchantId}`,
    cardrefid: reference.cardRefId,
    order_desc: 'the same thing again',
    amount: dollars(isList ? (chance.happens(0.5) ? amounts[0]! : 260_000) : chance.whole(100, 110_000)),
    currency: usd,
    control: '',
    ipaddress: addressOf(chance),
    redirect_url: 'http://shop.test/back',
    ...(isList ? { enumerate_amounts: [...new Set(amounts)].map(dollars) } : {}),
    ...(chance.happens(0.1) ? { cvv2: secret<string>(chance.pick(['116', '123'])) } : {}),
    ...(!isList && chance.happens(0.4) ? { recurrent_initiator: 'CARDHOLDER' } : {}),
    ...callbacks(merchantId, chance),
  } as RebillRequest
  const operation = chance.happens(0.4) ? 'make-rebill-preauth' : 'make-rebill-sale'
  const about = { clientOrderid: values.client_orderid, endpointId, operation, values } as const
  return { ...about, referenceOf: reference.merchantId, ...keyOf('rebill', number, chance) }
}

export interface HandedOut {
  merchantId: bigint
  cardRefId: bigint
}

// oxfmt-ignore
const usual = {
  sale:                   ['return', 'return', 'return', 'void', 'capture'],
  preauth:                ['capture', 'capture', 'capture', 'capture', 'return', 'return', 'void'],
  'account-verification': ['return', 'void', 'capture'],
  transfer: ['return', 'void', 'capture'],
} as const

/** A request of the merchant for this order; usually one that the order allows. */
export function intentOf(order: Order, number: number, chance: Chance): Intent {
  const { amountMinor } = order.transactions[0]!
  const operation = chance.pick(usual[order.kind])
  const share = chance.pick([1, 2, 2, 3, 3, 4])
  const minor = chance.happens(0.05) ? amountMinor + 1n : amountMinor / BigInt(share)
  const isPart = operation !== 'void' && minor > 0n && chance.happens(0.6)
  return {
    orderId: order.orderId,
    operation,
    ...(isPart ? { amount: dollars(Number(minor)) } : {}),
    ...(chance.happens(0.2) ? { comment: 'as agreed' } : {}),
    ...keyOf(chance.happens(0.9) ? 'follow' : 'pay', number, chance),
  }
}
