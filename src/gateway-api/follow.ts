import { currencyOf, minorToDecimal } from '../base/money.ts'
import { isSwitchedOff } from '../merchant/merchant.ts'
import type { FollowAsk } from '../order/amounts.ts'
import { isRandomSum } from '../order/order.ts'
import { followRequest, type FollowRequest } from '../spec/gateway/follow.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'
import { acknowledge, noteRepeat, wrongState } from './acknowledge.ts'
import { requestDigest } from './digest.ts'

/** Captures, returns or releases an approved order: a transaction of its own, whose outcome is told by status and callback. */
export async function performFollow(asked: Asked): Promise<Reply | Refusal> {
  const { world, serialNumber, operation, idempotencyKey } = asked
  const order = asked.order!
  const { amount, currency, comment } = asked.values as FollowRequest
  const endpoint = asked.registry.endpoint(order.endpointId)
  if (endpoint && isSwitchedOff(endpoint, operation)) return refuse('operation not enabled')
  if (currency !== undefined && currency.code !== order.currency) return refuse('currency not supported')
  if (isRandomSum(order)) return wrongState(asked)
  const ask: FollowAsk = {
    operation: operation as FollowAsk['operation'],
    serialNumber,
    ...(amount === undefined ? {} : { amount: { minor: amount.minor!, text: amount.text } }),
    ...(comment === undefined ? {} : { comment }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
  const { merchantId, orderId } = order
  const keyed = idempotencyKey === undefined ? {} : { digest: requestDigest(asked, followRequest, operation) }
  const advanced = await world.door.submit({ is: 'follow', merchantId, orderId, ask, ...keyed })
  if (advanced.is === 'applied') return acknowledge(asked)
  if (advanced.is === 'key in use') return refuse('key in use', idempotencyKey)
  if (advanced.is === 'repeated') {
    noteRepeat(asked, orderId)
    return acknowledge(asked)
  }
  if (advanced.is !== 'not followed') throw new Error(`the door answered a ${operation} with ${advanced.is}`)
  const { judged } = advanced
  switch (judged.is) {
    case 'exceeds':
      return refuse('amount exceeds', minorToDecimal(judged.left, currencyOf(order.currency)!.exponent))
    case 'part not allowed':
      return refuse('operation not enabled')
    case 'wrong state':
      return wrongState(asked)
  }
}
