import { currencyOf } from '../../src/base/money.ts'
import { performFollow } from '../../src/gateway-api/follow.ts'
import type { Reply } from '../../src/gateway-api/reply.ts'
import type { Order } from '../../src/order/decide/order.ts'
import type { Refusal } from '../../src/spec/refusals.ts'
import { askedOf, type Asking, type Intent, type Slot, type Wanted } from '../world/asking.ts'
import type { Chance } from '../world/chance.ts'
import { configuration } from '../model/configuration.ts'
import { intentOf } from './wants.ts'

export interface FollowEvents {
  /** A request reaches a gateway, under this serial number. */
  onFollowing(intent: Intent, serialNumber: string): void
  /** The gateway answered. `again`: it had acknowledged the same request before this one. */
  onFollowed(intent: Intent, serialNumber: string, reply: Reply | Refusal, again: boolean): void
  /** The gateway failed because of a defect of its own. */
  onDefect(intent: Intent, why: string): void
  /** A gateway does not find an order that was acknowledged. */
  onMissing(orderId: bigint): undefined
  trace(what: () => string): void
}

export interface BackOfficeParts {
  chance: Chance
  slots: readonly Slot[]
  asking: Asking
  observer: FollowEvents
}

/** Back offices of merchants: they capture, return and release payments. */
export interface BackOffices {
  /**
   * Sends this merchant's requests for an order, perhaps none. Resolves when each was answered or
   * given up.
   */
  work(wanted: Wanted, order: Order): Promise<void>
}

const tries = 4
const busyOdds = { sale: 0.4, preauth: 0.85, 'account-verification': 0.1, transfer: 0.1 } as const

export function openBackOffices({ chance, slots, asking, observer }: BackOfficeParts): BackOffices {
  const { ask, pause } = asking
  const random = chance.fork().random()
  const acknowledged = new Set<Intent>()
  let intents = 0

  function send(wanted: Wanted, intent: Intent, slot: Slot): Promise<Reply | Refusal | undefined> {
    const { merchantId } = configuration.endpoint(wanted.endpointId)!
    const { orderId, operation, amount, comment, idempotencyKey } = intent
    observer.trace(
      () => `shop     ${wanted.clientOrderid} asks ${slot.name} to ${operation} ${amount?.text ?? 'all'} ${idempotencyKey ?? ''}`,
    )
    return ask(slot, wanted, async (gateway) => {
      const order = await gateway.ports.orders.byId({ merchantId, orderId })
      if (!order) return observer.onMissing(orderId)
      const values = {
        client_orderid: wanted.clientOrderid,
        orderid: orderId,
        ...(amount ? { amount, currency: currencyOf('USD')! } : {}),
        ...(comment === undefined ? {} : { comment }),
      }
      const named = idempotencyKey === undefined ? {} : { idempotencyKey }
      const asked = { ...askedOf(gateway, operation, wanted, random), values, order, ...named }
      const again = acknowledged.has(intent)
      observer.onFollowing(intent, asked.serialNumber)
      try {
        const reply = await performFollow(asked, gateway.ports)
        if (!('refused' in reply)) acknowledged.add(intent)
        observer.onFollowed(intent, asked.serialNumber, reply, again)
        return reply
      } catch (error) {
        if (error instanceof Error && error.message.startsWith('the door answered')) observer.onDefect(intent, error.message)
        throw error
      }
    })
  }

  /** Without a key, a merchant seldom repeats an unanswered request: it might be done twice. */
  async function insist(wanted: Wanted, intent: Intent, slot?: Slot): Promise<void> {
    for (let n = 0; n < tries; n++) {
      if (await send(wanted, intent, slot ?? chance.pick(slots))) return
      if (intent.idempotencyKey === undefined && chance.happens(0.6)) return
      await pause(chance.between(200, 5_000))
    }
  }

  async function carryOut(wanted: Wanted, intent: Intent): Promise<void> {
    const way = chance.pick(['once', 'once', 'once', 'again', 'both', 'both'] as const)
    // Sends two copies together, or a different request under the same key.
    const rival = intent.idempotencyKey !== undefined && chance.happens(0.2) ? { ...intent, comment: 'and this' } : intent
    if (way === 'both') return void (await Promise.all(slots.map((slot, n) => insist(wanted, n === 0 ? intent : rival, slot))))
    await insist(wanted, intent)
    if (way !== 'again') return
    await pause(chance.between(0, chance.pick([500, 40_000, 200_000])))
    await insist(wanted, intent)
  }

  return {
    async work(wanted, order) {
      if (!chance.happens(busyOdds[order.kind])) return
      const carried: Promise<void>[] = []
      for (let n = chance.whole(1, 4); n > 0; n--) {
        carried.push(carryOut(wanted, intentOf(order, ++intents, chance)))
        // Half of the requests do not wait for the outcome of the one before.
        await pause(chance.happens(0.5) ? chance.between(0, 1_000) : chance.between(0, 25_000))
      }
      await Promise.all(carried)
    },
  }
}
