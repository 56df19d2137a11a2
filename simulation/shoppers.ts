import { currencyOf } from '../src/base/money.ts'
import { secret } from '../src/base/secret.ts'
import type { Reply } from '../src/gateway-api/reply.ts'
import { performPayment } from '../src/gateway-api/payment.ts'
import { statusOf } from '../src/order/order.ts'
import type { Refusal } from '../src/spec/refusals.ts'
import type { SaleRequest } from '../src/spec/gateway/sale.ts'
import type { Chance } from './chance.ts'
import { askedOf, type Asking, type Slot, type Wanted } from './asking.ts'
import type { Cardholders } from './cardholders.ts'
import { cards, configuration, secureCards } from './configuration.ts'

export interface ShopEvents {
  /** A sale was answered: with the id of its order, or with the name of a refusal. */
  onAnswer(wanted: Wanted, answer: { orderId: bigint } | { refused: string }): void
  onStatus(wanted: Wanted, orderId: bigint, status: string): void
  /** For the time line; `what` is only asked when it is written. */
  trace(what: () => string): void
}

export interface ShopParts {
  chance: Chance
  slots: readonly Slot[]
  asking: Asking
  cardholders: Cardholders
  told: ShopEvents
}

export interface Shoppers {
  begin(wanted: Wanted): void
  /** Sales that still wait for an answer. */
  waiting(): number
}

const maxAsks = 8

/** Merchants' shops: they send sales, sometimes twice, ask again when no answer comes, and ask for the status. */
export function openShoppers({ chance, slots, asking, cardholders, told }: ShopParts): Shoppers {
  const { ask, pause } = asking
  let waiting = 0
  const random = chance.random()
  /** Who pays with a card that is to be authenticated does so once, however often his order was sent. */
  const authenticating = new Set<bigint>()

  async function sell(wanted: Wanted, asks: number): Promise<void> {
    for (let n = 0; n < asks; n++) {
      const slot = chance.pick(slots)
      told.trace(() => `shop     ${wanted.clientOrderid} asks ${slot.name}`)
      const reply = await ask(slot, (gateway) => performPayment(askedOf(gateway, 'sale', wanted, random)))
      if (reply && isRefusal(reply)) return told.onAnswer(wanted, { refused: reply.refused })
      if (reply) {
        const orderId = BigInt(reply['gateway-order-id']!)
        told.onAnswer(wanted, { orderId })
        return look(wanted, orderId)
      }
      await pause(chance.between(200, 6_000))
    }
  }

  /** Asks for the status a few times, of whichever process. */
  async function look(wanted: Wanted, orderId: bigint): Promise<void> {
    const { merchantId, settings } = configuration.endpoint(wanted.endpointId)!
    if (settings.threeDSecure && !authenticating.has(orderId)) {
      authenticating.add(orderId)
      await cardholders.pay(wanted, orderId)
    }
    for (let n = 0; n < 2; n++) {
      await pause(chance.between(50, 30_000))
      const order = await ask(chance.pick(slots), (gateway) => gateway.served.orders.byId({ merchantId, orderId }))
      if (order) told.onStatus(wanted, orderId, statusOf(order))
    }
  }

  return {
    begin(wanted) {
      const times = chance.happens(0.15) ? 2 : 1
      for (let n = 0; n < times; n++) {
        waiting++
        const late = n === 0 ? 0 : chance.happens(0.5) ? chance.between(0, 30) : chance.between(0, 60_000)
        void pause(late)
          .then(() => sell(wanted, maxAsks))
          .finally(() => waiting--)
      }
    },
    waiting: () => waiting,
  }
}

const isRefusal = (reply: Reply | Refusal): reply is Refusal => 'refused' in reply

const cvv2s = ['123', '123', '123', '123', '111', '321', '116', '101', '209', '217'] as const
/** 165: the acquirer wants a challenge. */
const secureCvv2s = [...cvv2s.slice(0, 5), '165', '165', '116', '217'] as const

/** The sale of this number: what is bought, with which card, and who wants to hear of it. */
export function wantedSale(number: number, chance: Chance): Wanted {
  const endpointId = chance.happens(0.02)
    ? 14n
    : chance.happens(0.33)
      ? chance.pick([15n, 15n, 16n])
      : chance.pick([11n, 12n, 13n])
  const { threeDSecure } = configuration.endpoint(endpointId)!.settings
  const host = `http://shop${configuration.endpoint(endpointId)!.merchantId}.test`
  const cents = chance.whole(100, 90_000)
  const values = {
    client_orderid: `order-${number}`,
    order_desc: 'a thing',
    amount: { text: `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`, minor: BigInt(cents) },
    currency: currencyOf('USD')!,
    control: '',
    ipaddress: '192.0.2.1',
    email: 'buyer@example.com',
    credit_card_number: secret<string>(chance.pick(threeDSecure ? secureCards : cards)),
    card_printed_name: 'A BUYER',
    expire_month: 12,
    expire_year: chance.happens(0.02) ? 2025 : 2031,
    cvv2: secret<string>(chance.pick(threeDSecure ? secureCvv2s : cvv2s)),
    ...(chance.happens(0.8) ? { server_callback_url: `${host}/sale` } : {}),
    ...(chance.happens(0.3) ? { notify_url: chance.happens(0.5) ? `${host}/sale` : 'http://books.test/notify' } : {}),
  } as SaleRequest
  return { clientOrderid: values.client_orderid, endpointId, values }
}
