import { defined } from '../base/defined.ts'
import { spellMinor } from '../base/money.ts'
import { isSwitchedOff } from '../merchant/merchant.ts'
import type { FollowAsk } from '../order/decide/amounts.ts'
import { isRandomSum } from '../order/decide/order.ts'
import { followRequest, type FollowRequest } from '../spec/gateway/follow.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import { acknowledge, noteRepeat, wrongState, type Noting } from './acknowledge.ts'
import { requestDigest, type Digesting } from './digest.ts'
import type { Reply } from './reply.ts'
import type { Follow, Received, WithOrder } from './stages.ts'

type Request = Pick<Received<Follow>, 'operation' | 'serialNumber' | 'registry' | 'idempotencyKey'> &
  WithOrder & { readonly values: Pick<FollowRequest, 'amount' | 'currency' | 'comment'> }

/**
 * Captures, returns or releases an approved order: a separate transaction, whose outcome is
 * reported by status and callback.
 */
export async function performFollow(request: Request, parts: Noting & Digesting): Promise<Reply | Refusal> {
  const { order, serialNumber, operation, idempotencyKey } = request
  const { amount, currency, comment } = request.values
  const endpoint = request.registry.endpoint(order.endpointId)
  if (endpoint && isSwitchedOff(endpoint, operation)) return refuse('operation not enabled')
  if (currency !== undefined && currency.code !== order.currency) return refuse('currency not supported')
  if (isRandomSum(order)) return wrongState(request)
  const ask: FollowAsk = {
    operation,
    serialNumber,
    ...defined({ amount, comment, idempotencyKey }),
  }
  const { merchantId, orderId } = order
  const keyed = idempotencyKey === undefined ? {} : { digest: requestDigest(parts, followRequest, request.values, operation) }
  const advanced = await parts.door.submit({ is: 'follow', merchantId, orderId, ask, ...keyed })
  if (advanced.is === 'applied') return acknowledge(request)
  if (advanced.is === 'key in use') return refuse('key in use', idempotencyKey)
  if (advanced.is === 'repeated') {
    noteRepeat(parts, request, orderId)
    return acknowledge(request)
  }
  if (advanced.is !== 'not followed') throw new Error(`the door answered a ${operation} with ${advanced.is}`)
  const { judged } = advanced
  switch (judged.is) {
    case 'exceeds':
      return refuse('amount exceeds', spellMinor(judged.left, order.currency))
    case 'part not allowed':
      return refuse('operation not enabled')
    case 'wrong state':
      return wrongState(request)
  }
}
