import { acceptOrder, type Accepting, type NewOrder } from '../order/accept.ts'
import type { Reader } from '../order/read.ts'
import type { asyncReply } from '../spec/gateway/reply.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { KeyedDigest } from '../keys/digest.ts'
import type { Ids } from '../storage/ids.ts'
import { noteRepeat, type Noting } from './acknowledge.ts'
import type { Payment, Rebill, Addressed, WithEndpoint } from './stages.ts'
import { endpointHasRoom, type RoomParts } from './room.ts'
import type { Reply, ReplyOf } from './reply.ts'

/** The ports that payments and rebills need to become orders. */
export type Paying = Accepting &
  RoomParts &
  Pick<Noting, 'log' | 'repeated'> & {
    orderIds: Ids
    orders: Pick<Reader, 'shown'>
  }

/**
 * Creates the order of a request that passed its checks, and acknowledges it once it is durable.
 */
export async function acceptPayment(
  parts: Paying,
  request: Addressed<Payment | Rebill> & WithEndpoint,
  made: Omit<NewOrder, 'orderId'>,
  digest: (numberId: Buffer) => KeyedDigest,
): Promise<Reply | Refusal> {
  const { endpoint, entry, serialNumber, now, idempotencyKey } = request
  const orderId = await parts.orderIds.take()
  // Other orders may have arrived while this request was checked.
  if (!endpointHasRoom(parts, request.registry, endpoint)) return refuse('too many requests')
  const by = { endpoint, pathId: entry.pathId, serialNumber, at: now, digest }
  const accepted = await acceptOrder(parts, { orderId, ...made }, idempotencyKey === undefined ? by : { ...by, idempotencyKey })
  if (accepted.is === 'key in use') return refuse('key in use', idempotencyKey)
  if (accepted.is === 'in use') return refuse('order id in use')
  const { merchantId } = endpoint
  // A repeat may use another path; the reply names the endpoint of the existing order.
  let endpointId: bigint | undefined = endpoint.endpointId
  if (accepted.repeat) {
    noteRepeat(parts, request, accepted.orderId)
    endpointId = (await parts.orders.shown({ merchantId, orderId: accepted.orderId }))?.order.endpointId
  }
  return {
    type: 'async-response',
    'serial-number': serialNumber,
    'merchant-order-id': made.clientOrderid,
    'gateway-order-id': String(accepted.orderId),
    'end-point-id': endpointId === undefined ? undefined : String(endpointId),
  } satisfies ReplyOf<typeof asyncReply>
}
