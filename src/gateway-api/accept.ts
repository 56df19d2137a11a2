import { issuerFacts } from '../card/bins.ts'
import type { ShownCard } from '../card/number.ts'
import { hashIdOf, sealCard, type Card } from '../card/vault.ts'
import type { Order, OrderRequest } from '../order/order.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { OrderKind } from '../spec/words.ts'
import { noteRepeat } from './acknowledge.ts'
import type { Asked } from './asked.ts'
import { endpointHasRoom } from './checks.ts'
import type { Reply } from './reply.ts'

/** What a new order is made of, wherever its card comes from. */
export interface NewOrder {
  /** Where it was taken before; else a new one. */
  orderId?: bigint
  kind: OrderKind
  clientOrderid: string
  currency: string
  /** What the merchant asked for, which never changes. */
  amountMinor: bigint
  amountText: string
  /** What is tried first, where it is not the same. */
  first?: { minor: bigint; text: string }
  request: OrderRequest
  card: Card
  shown: Omit<ShownCard, 'hashId'>
  /** Equal for the same request; of the fingerprint of its card, among others. */
  digest: (fingerprint: Buffer) => Buffer
}

/** Makes an order, seals its card, and answers once both are durable. */
export async function acceptOrder(asked: Asked, made: NewOrder): Promise<Reply | Refusal> {
  const { world, now, serialNumber } = asked
  const { kind, card, shown, digest, first, amountMinor, amountText, orderId: given, ...facts } = made
  const merchantId = asked.merchant!.merchantId
  const orderId = given ?? (await world.orderIds.take())
  // Others came in while this was checked. What was accepted before, under a number of its own, had
  // its room then.
  if (given === undefined && !endpointHasRoom(asked, asked.endpoint!)) return refuse('too many requests')
  const sealed = sealCard(card, { merchantId, orderId }, world.keys, world.random)
  const { descriptor } = asked.endpoint!.settings
  const order: Order = {
    ...facts,
    request: { ...facts.request, ...(descriptor === undefined ? {} : { descriptor }) },
    merchantId,
    orderId,
    version: 0,
    kind,
    pathId: asked.entry!.pathId,
    endpointId: asked.endpoint!.endpointId,
    amountMinor,
    amountText,
    card: { ...shown, ...issuerFacts(world.issuerOf(card.pan.reveal())), hashId: hashIdOf(sealed.fingerprint, world.keys) },
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
        amountMinor: first?.minor ?? amountMinor,
        amountText: first?.text ?? amountText,
        result: {},
        tries: 0,
        createdAt: now,
      },
    ],
    attempts: [],
  }
  const { idempotencyKey } = asked
  const advanced = await world.door.submit({
    is: 'accept',
    order,
    card,
    sealed,
    digest: digest(sealed.fingerprint),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  })
  if (advanced.is === 'key in use') return refuse('key in use', idempotencyKey)
  if (advanced.is === 'in use') return refuse('order id in use')
  if (advanced.is !== 'accepted') throw new Error(`the door answered a ${kind} with ${advanced.is}`)
  if (advanced.repeat) noteRepeat(asked, advanced.orderId)
  // A repeat may have come by another path; the reply speaks of the order there is.
  const there = advanced.repeat ? (await world.orders.shown({ merchantId, orderId: advanced.orderId }))?.order : order
  return {
    type: 'async-response',
    'serial-number': serialNumber,
    'merchant-order-id': made.clientOrderid,
    'gateway-order-id': String(advanced.orderId),
    'end-point-id': there && String(there.endpointId),
  }
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Leaves out what is undefined, so that absent stays absent when it is stored. */
export const defined = <T extends object>(facts: T): Defined<T> =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Defined<T>
