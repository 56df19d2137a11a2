import { currencyOf, minorToDecimal } from '../base/money.ts'
import { isSwitchedOff } from '../merchant/merchant.ts'
import { repeatsForMs, type FollowAsk } from '../order/amounts.ts'
import { isRandomSum, type Transaction } from '../order/order.ts'
import type { FollowRequest } from '../spec/gateway/follow.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'
import { acknowledge, note, wrongState } from './acknowledge.ts'

/** Captures, returns or releases an approved order: a transaction of its own, whose outcome is told by status and callback. */
export async function performFollow(asked: Asked): Promise<Reply | Refusal> {
  const { world, serialNumber, operation } = asked
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
    ...(await nameOf(asked)),
  }
  const { merchantId, orderId } = order
  const advanced = await world.door.submit({ is: 'follow', merchantId, orderId, ask, card: await world.cardOf(order) })
  if (advanced.is === 'applied') return acknowledge(asked)
  if (advanced.is !== 'not followed') throw new Error(`the door answered a ${operation} with ${advanced.is}`)
  const { judged } = advanced
  switch (judged.is) {
    case 'repeat':
      return note(asked, judged.transaction.no, 'it repeats one that was asked before', newNameOf(ask, judged.transaction))
    case 'exceeds':
      return refuse('amount exceeds', minorToDecimal(judged.left, currencyOf(order.currency)!.exponent))
    case 'key in use':
      return refuse('field is invalid', 'Idempotency-Key is invalid: it names another request')
    case 'part not allowed':
      return refuse('operation not enabled')
    case 'wrong state':
      return wrongState(asked)
  }
}

/** The client's name for it, with what it means already. */
async function nameOf({ world, order, operation, idempotencyKey, now }: Asked): Promise<Partial<FollowAsk>> {
  if (idempotencyKey === undefined) return {}
  const namedBefore = await world.orders.namedRepeatOf(order!, operation, idempotencyKey, now - repeatsForMs)
  return { idempotencyKey, ...(namedBefore === undefined ? {} : { namedBefore }) }
}

/** Another name for a transaction: it means that one for its own day. */
const newNameOf = ({ idempotencyKey, namedBefore }: FollowAsk, { asked }: Transaction): { idempotencyKey?: string } =>
  idempotencyKey === undefined || namedBefore !== undefined || asked?.idempotencyKey === idempotencyKey ? {} : { idempotencyKey }
