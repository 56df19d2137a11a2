import { uuid, type Random } from '../src/base/random.ts'
import type { Asked } from '../src/gateway-api/asked.ts'
import type { Operation } from '../src/spec/gateway/operations.ts'
import type { FollowRequest } from '../src/spec/gateway/follow.ts'
import type { RebillRequest } from '../src/spec/gateway/rebill.ts'
import type { SaleRequest, VerificationRequest } from '../src/spec/gateway/sale.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import { configuration } from './configuration.ts'
import type { Gateway } from './gateway-parts.ts'

/** A gateway process that may be asked, if it is there. */
export interface Slot {
  name: string
  actor: Actor
  gateway: Gateway | undefined
}

export type PaymentOperation = 'sale' | 'preauth' | 'account-verification' | 'make-rebill-sale' | 'make-rebill-preauth'

/** A payment by the name that its merchant gave it. */
export interface Named {
  clientOrderid: string
  endpointId: bigint
}

export interface Wanted extends Named {
  operation: PaymentOperation
  values: SaleRequest | VerificationRequest | RebillRequest
  /** Under which it is sent most often. */
  idempotencyKey?: string
  /** The merchant whose card reference it names. */
  referenceOf?: bigint
}

/** A request that a merchant means once, however often it is sent. */
export interface Intent {
  orderId: bigint
  operation: 'capture' | 'return' | 'void'
  /** Absent: all that is left. */
  amount?: FollowRequest['amount']
  comment?: string
  idempotencyKey?: string
}

/** How merchants and cardholders reach the gateway and pass their time. */
export interface Asking {
  /** A request over the network to one process, either way of which may be lost. Undefined: no answer. */
  ask<T>(slot: Slot, perform: (gateway: Gateway) => Promise<T>): Promise<T | undefined>
  pause(ms: number): Promise<void>
}

const patienceMs = 10_000

export const openAsking = (events: Events, chance: Chance, lostOdds: () => number): Asking => ({
  ask: (slot, perform) =>
    new Promise((resolve) => {
      events.after(patienceMs, undefined, () => resolve(undefined))
      if (chance.happens(lostOdds())) return
      events.after(chance.between(0.5, 20), slot.actor, () => {
        if (!slot.gateway) return
        const answer = <V>(value: V, give: (value: V) => void) => {
          if (chance.happens(lostOdds())) return
          events.after(chance.between(0.5, 20), undefined, () => give(value))
        }
        perform(slot.gateway).then(
          (value) => answer(value, resolve),
          () => answer(undefined, resolve),
        )
      })
    }),
  pause: (ms) => new Promise((resolve) => events.after(ms, undefined, resolve)),
})

/** A request as it is when the checks have held. */
export function askedOf(gateway: Gateway, operation: Operation, wanted: Named & Pick<Asked, 'values'>, random: Random) {
  const endpoint = configuration.endpoint(wanted.endpointId)!
  const entry = configuration.entry(wanted.endpointId, false)!
  return {
    world: gateway.served,
    operation,
    path: { id: String(wanted.endpointId), group: false },
    overloaded: false,
    serialNumber: uuid(random),
    now: gateway.served.clock.now(),
    registry: configuration,
    merchantOrderId: wanted.clientOrderid,
    entry,
    values: wanted.values ?? {},
    merchant: entry.merchant,
    endpoint,
  } satisfies Asked
}
