import type { Random } from '../base/random.ts'
import { issuerFacts, type Issuer } from '../card/bins.ts'
import type { ShownCard } from '../card/number.ts'
import { hashIdOf, numberIdOf, sealCard, type Card } from '../card/vault.ts'
import type { Endpoint } from '../merchant/merchant.ts'
import type { OrderKind } from '../spec/words.ts'
import type { KeyedDigest } from '../keys/digest.ts'
import type { KeyRing } from '../keys/ring.ts'
import type { Door } from './door/advance.ts'
import type { Order, OrderRequest } from './decide/order.ts'
import type { Advanced } from './door/submission.ts'

export interface Accepting {
  door: Pick<Door, 'submit'>
  keys: KeyRing
  random: Random
  /** The issuer of a card number, from the BIN table. */
  issuerOf: (pan: string) => Issuer | undefined
}

/** The parts of a new order, whichever operation creates it. */
export interface NewOrder {
  orderId: bigint
  kind: OrderKind
  clientOrderid: string
  currency: string
  /** The merchant's request, which never changes. */
  amountMinor: bigint
  amountText: string
  /** The amount to try first, if it differs. */
  first?: { minor: bigint; text: string }
  request: OrderRequest
  card: Card
  shown: Omit<ShownCard, 'hashId'>
}

/** The request that creates the order. */
export interface AskedBy {
  endpoint: Endpoint
  /** The endpoint or group named in the path. */
  pathId: bigint
  serialNumber: string
  at: number
  idempotencyKey?: string
  /** Equal for the same request; it covers the id of the card's number, among others. */
  digest: (numberId: Buffer) => KeyedDigest
}

export type Accepted = Extract<Advanced, { is: 'accepted' | 'in use' | 'key in use' }>

/**
 * Creates an order and seals its card; resolves once both are durable. `in use`: the client_orderid
 * belongs to an order with other content. `key in use`: the same for the Idempotency-Key.
 */
export async function acceptOrder(parts: Accepting, made: NewOrder, by: AskedBy): Promise<Accepted> {
  const { keys, random } = parts
  const { merchantId } = by.endpoint
  const { orderId, card } = made
  const sealed = sealCard(card, { merchantId, orderId }, keys, random)
  const numberId = numberIdOf(card.pan, merchantId, keys)
  const advanced = await parts.door.submit({
    is: 'accept',
    order: orderOf(parts, made, by, numberId),
    card,
    sealed,
    digest: by.digest(numberId),
    ...(by.idempotencyKey === undefined ? {} : { idempotencyKey: by.idempotencyKey }),
  })
  if (advanced.is === 'accepted' || advanced.is === 'in use' || advanced.is === 'key in use') return advanced
  throw new Error(`the door answered a ${made.kind} with ${advanced.is}`)
}

/** In state `new`, with its one transaction. */
function orderOf({ keys, issuerOf }: Accepting, made: NewOrder, by: AskedBy, numberId: Buffer): Order {
  const { card, shown, first, request, kind, amountMinor, amountText } = made
  const { endpointId, merchantId, settings } = by.endpoint
  const { descriptor } = settings
  return {
    merchantId,
    orderId: made.orderId,
    version: 0,
    kind,
    clientOrderid: made.clientOrderid,
    currency: made.currency,
    amountMinor,
    amountText,
    request: descriptor === undefined ? request : { descriptor, ...request },
    pathId: by.pathId,
    endpointId,
    card: Object.assign({ hashId: hashIdOf(numberId, keys) }, shown, issuerFacts(issuerOf(card.pan.reveal()))),
    events: 0,
    deliveries: 0,
    createdAt: by.at,
    transactions: [
      {
        no: 1,
        kind,
        origin: 'request',
        serialNumber: by.serialNumber,
        state: 'new',
        amountMinor: first?.minor ?? amountMinor,
        amountText: first?.text ?? amountText,
        result: {},
        tries: 0,
        createdAt: by.at,
      },
    ],
    attempts: [],
  }
}
