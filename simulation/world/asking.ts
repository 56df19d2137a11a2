import { uuid, type Random } from '../../src/base/random.ts'
import type { Addressed, ByMerchant, WithEndpoint } from '../../src/gateway-api/stages.ts'
import type { Operation } from '../../src/spec/gateway/operations.ts'
import type { FollowRequest } from '../../src/spec/gateway/follow.ts'
import type { RebillRequest } from '../../src/spec/gateway/rebill.ts'
import type { SaleRequest } from '../../src/spec/gateway/sale.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import type { CellGateway, Gateway, Subject } from './gateway-parts.ts'

/** The place of a gateway process, which may be down. */
export interface Slot {
  name: string
  actor: Actor
  gateway: Gateway | undefined
}

/** A payment under its merchant's client_orderid. */
export interface Named {
  clientOrderid: string
  endpointId: bigint
}

export type Wanted = Named & {
  /** The key that most of its requests carry. */
  idempotencyKey?: string
} & (
    | {
        operation: 'sale' | 'preauth' | 'account-verification'
        values: SaleRequest
        referenceOf?: undefined
      }
    | {
        operation: 'make-rebill-sale' | 'make-rebill-preauth'
        values: RebillRequest
        /** The merchant whose card reference it names. */
        referenceOf: bigint
      }
  )

/** An operation that a merchant wants done exactly once, with any number of requests. */
export interface Intent {
  orderId: bigint
  operation: 'capture' | 'return' | 'void'
  /** Absent: all that is left. */
  amount?: FollowRequest['amount']
  comment?: string
  idempotencyKey?: string
}

/** The gateway that a request has reached. */
export type Asked = CellGateway & Pick<Gateway, 'registry'>

/** How merchants and cardholders call the gateway, and wait. */
export interface Asking {
  /**
   * Calls one process over the network. Undefined if the network lost the request or the reply, or
   * if this process cannot serve the cell of what the request is about.
   */
  ask<T>(slot: Slot, subject: Subject, perform: (gateway: Asked) => Promise<T>): Promise<T | undefined>
  /** The same for a request over HTTP, which the process leads to its cell. */
  call<T>(slot: Slot, perform: (gateway: Pick<Gateway, 'call'>) => Promise<T>): Promise<T | undefined>
  pause(ms: number): Promise<void>
}

const patienceMs = 10_000

export function openAsking(events: Events, chance: Chance, lostOdds: () => number): Asking {
  const call = <T>(slot: Slot, perform: (gateway: Gateway) => Promise<T>): Promise<T | undefined> =>
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
    })
  return {
    ask: (slot, subject, perform) =>
      call(slot, (gateway) => {
        const room = gateway.leadTo(subject)
        return room ? perform({ ...room, registry: gateway.registry }) : Promise.reject(new Error(`${slot.name} has no room`))
      }),
    call,
    pause: (ms) => new Promise((resolve) => events.after(ms, undefined, resolve)),
  }
}

/** A request as the gateway has it once its checks have passed. */
export function askedOf<O extends Operation>({ ports, registry }: Asked, operation: O, wanted: Named, random: Random) {
  const configuration = registry()
  const endpoint = configuration.endpoint(wanted.endpointId)!
  const entry = configuration.entry(wanted.endpointId, false)!
  return {
    operation,
    path: { id: String(wanted.endpointId), group: false },
    overloaded: false,
    serialNumber: uuid(random),
    now: ports.clock.now(),
    client: { clientAddress: '127.0.0.1' },
    registry: configuration,
    merchantOrderId: wanted.clientOrderid,
    entry,
    merchant: entry.merchant,
    endpoint,
  } satisfies Addressed<O> & ByMerchant & WithEndpoint
}
