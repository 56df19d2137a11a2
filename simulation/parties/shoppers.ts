import type { Random } from '../../src/base/random.ts'
import { performCreateCardRef } from '../../src/gateway-api/card-references.ts'
import { referenceIsThisMerchants } from '../../src/gateway-api/checks.ts'
import { performRebill } from '../../src/gateway-api/rebill.ts'
import type { Reply } from '../../src/gateway-api/reply.ts'
import { performPayment } from '../../src/gateway-api/payment.ts'
import { statusOf, type Order } from '../../src/order/decide/order.ts'
import type { Refusal } from '../../src/spec/refusals.ts'
import type { Chance } from '../world/chance.ts'
import { askedOf, type Asked, type Asking, type Slot, type Wanted } from '../world/asking.ts'
import type { Operators } from '../world/operators.ts'
import type { BackOffices } from './back-offices.ts'
import type { Cardholders } from './cardholders.ts'
import { configuration } from '../model/configuration.ts'
import { wantedRebill, type HandedOut } from './wants.ts'

export interface ShopEvents {
  onPaying(wanted: Wanted): void
  /** The gateway answered a payment with the id of its order, or with the name of a refusal. */
  onAnswer(wanted: Wanted, answer: { orderId: bigint } | { refused: string }): void
  /** A payment reaches a gateway with this key. `onKeyedAnswer` reports the reply to it. */
  onKeyed(wanted: Wanted, key: string): void
  onKeyedAnswer(wanted: Wanted, key: string, reply: Reply | Refusal): void
  onStatus(wanted: Wanted, orderId: bigint, status: string): void
  /** A gateway does not find an order that was acknowledged. */
  onMissing(orderId: bigint): void
  /** The card of this order was registered, and has this reference. */
  onRegistered(orderId: bigint, cardRefId: bigint): void
  /** Writes a line of the time line; calls `what` only when somebody reads it. */
  trace(what: () => string): void
}

export interface ShopParts {
  chance: Chance
  slots: readonly Slot[]
  asking: Asking
  cardholders: Cardholders
  backOffices: BackOffices
  operators: Operators
  observer: ShopEvents
}

export interface Shoppers {
  begin(wanted: Wanted): void
  /** Payments that still wait for an answer. */
  waiting(): number
}

const maxAsks = 8

interface State extends ShopParts {
  random: Random
  waiting: number
  /** Orders with a cardholder at work, so that a repeated payment does not start another. */
  authenticating: Set<bigint>
  followed: Set<bigint>
  handedOut: HandedOut[]
  rebills: number
}

/**
 * Merchants' shops. They send payments, sometimes twice, repeat them when no reply comes, ask for
 * the status, and charge the cards that they registered.
 */
export function openShoppers(parts: ShopParts): Shoppers {
  const state: State = {
    ...parts,
    random: parts.chance.random(),
    waiting: 0,
    authenticating: new Set(),
    followed: new Set(),
    handedOut: [],
    rebills: 0,
  }
  return { begin: (wanted) => begin(state, wanted), waiting: () => state.waiting }
}

function begin(state: State, wanted: Wanted): void {
  const { chance, asking, observer } = state
  observer.onPaying(wanted)
  const times = chance.happens(0.15) ? 2 : 1
  for (let n = 0; n < times; n++) {
    state.waiting++
    const late = n === 0 ? 0 : chance.happens(0.5) ? chance.between(0, 30) : chance.between(0, 60_000)
    void asking
      .pause(late)
      .then(() => sell(state, wanted, maxAsks))
      .finally(() => state.waiting--)
  }
}

async function sell(state: State, wanted: Wanted, asks: number): Promise<void> {
  const { chance, slots, asking, observer } = state
  for (let n = 0; n < asks; n++) {
    const slot = chance.pick(slots)
    observer.trace(() => `shop     ${wanted.clientOrderid} asks ${slot.name}`)
    const key = keyFor(wanted, chance)
    const reply = await asking.ask(slot, wanted, (gateway) => perform(state, gateway, wanted, key))
    if (reply && isRefusal(reply) && reply.refused === 'key in use') {
      // Another request holds the key, so the shop continues without one.
      const { idempotencyKey: _used, ...rest } = wanted
      return sell(state, rest, asks)
    }
    if (reply && isRefusal(reply)) return observer.onAnswer(wanted, { refused: reply.refused })
    if (reply) {
      const orderId = BigInt(reply['gateway-order-id']!)
      observer.onAnswer(wanted, { orderId })
      return look(state, wanted, orderId)
    }
    await asking.pause(chance.between(200, 6_000))
  }
}

/** Usually the key of the payment; sometimes none, or another one that may be in use. */
const keyFor = ({ idempotencyKey }: Wanted, chance: Chance): string | undefined =>
  chance.happens(0.9) ? idempotencyKey : chance.pick([undefined, `again-${chance.whole(1, 20)}`])

async function perform(
  { random, observer }: State,
  gateway: Asked,
  wanted: Wanted,
  idempotencyKey: string | undefined,
): Promise<Reply | Refusal> {
  const named = idempotencyKey === undefined ? {} : { idempotencyKey }
  const asked = { ...askedOf(gateway, wanted.operation, wanted, random), ...named }
  if (idempotencyKey !== undefined) observer.onKeyed(wanted, idempotencyKey)
  const reply =
    wanted.referenceOf === undefined
      ? await performPayment({ ...asked, operation: wanted.operation, values: wanted.values }, gateway.ports)
      : await rebill(gateway, { ...asked, operation: wanted.operation, values: wanted.values })
  if (idempotencyKey !== undefined) observer.onKeyedAnswer(wanted, idempotencyKey, reply)
  return reply
}

async function rebill({ ports }: Asked, asked: Omit<Parameters<typeof performRebill>[0], 'reference'>) {
  const found = await referenceIsThisMerchants(asked, ports)
  return isRefusal(found) ? found : performRebill({ ...asked, ...found }, ports)
}

/** Asks for the status a few times, each time from either process. */
async function look(state: State, wanted: Wanted, orderId: bigint): Promise<void> {
  const { chance, slots, asking, cardholders, authenticating, observer } = state
  const { merchantId, settings } = configuration.endpoint(wanted.endpointId)!
  if (settings.threeDSecure && !isAbsent(wanted) && !authenticating.has(orderId)) {
    authenticating.add(orderId)
    await cardholders.pay(wanted, orderId)
  }
  for (let n = 0; n < 2; n++) {
    await asking.pause(chance.between(50, 30_000))
    const order = await asking.ask(chance.pick(slots), wanted, async ({ ports }) => {
      const found = await ports.orders.byId({ merchantId, orderId })
      if (!found) observer.onMissing(orderId)
      return found
    })
    if (!order) continue
    observer.onStatus(wanted, orderId, statusOf(order))
    if (statusOf(order) === 'approved' || chance.happens(0.05)) await follow(state, wanted, order)
  }
}

/** Starts what the merchant does with a payment: only once, though repeats are answered too. */
async function follow(state: State, wanted: Wanted, order: Order): Promise<void> {
  const { chance, backOffices, operators, followed } = state
  if (followed.has(order.orderId)) return
  followed.add(order.orderId)
  const registered = chance.happens(0.15) && register(state, wanted, order)
  await Promise.all([registered, backOffices.work(wanted, order), operators.work(order)])
}

/** Registers the card of a payment at one process or at both, and charges it. */
async function register(state: State, wanted: Wanted, { merchantId, orderId }: Order): Promise<void> {
  const { chance, random, slots, asking, handedOut, observer } = state
  const asked = chance.happens(0.4) ? slots : [chance.pick(slots)]
  const replies = await Promise.all(
    asked.map((slot) =>
      asking.ask(slot, wanted, async (gateway) => {
        const order = await gateway.ports.orders.byId({ merchantId, orderId })
        if (!order) throw new Error(`order ${orderId} is not there`)
        return performCreateCardRef({ ...askedOf(gateway, 'create-card-ref', wanted, random), order }, gateway.ports)
      }),
    ),
  )
  const ids = replies.flatMap((reply) => (reply && !isRefusal(reply) ? (reply['card-ref-id'] ?? []) : []))
  for (const id of ids) observer.onRegistered(orderId, BigInt(id))
  if (ids[0] === undefined) return
  const own = { merchantId, cardRefId: BigInt(ids[0]) }
  handedOut.push(own)
  for (let n = chance.whole(1, 2); n > 0; n--) {
    const foreign = handedOut.filter((h) => h.merchantId !== merchantId)
    const reference = foreign.length > 0 && chance.happens(0.15) ? chance.pick(foreign) : own
    begin(state, wantedRebill(++state.rebills, merchantId, reference, chance))
  }
}

const isRefusal = (reply: object): reply is Refusal => 'refused' in reply

/** The cardholder is absent, so authentication is impossible. */
const isAbsent = ({ values, referenceOf }: Wanted): boolean =>
  referenceOf !== undefined && values.recurrent_initiator !== 'CARDHOLDER'
