import type { Reply } from '../../src/gateway-api/reply.ts'
import { statusOf, type Order } from '../../src/order/decide/order.ts'
import type { Refusal } from '../../src/spec/refusals.ts'
import type { Status } from '../../src/spec/words.ts'
import type { Wanted } from '../world/asking.ts'
import { configuration } from '../model/configuration.ts'
import type { Breaks } from './invariant.ts'
import type { Keyed, KeyWatch } from './key-watch.ts'

/** Watches which payments are answered with which orders. */
export interface Answers {
  answered(wanted: Wanted, answer: { orderId: bigint } | { refused: string }): void
  /** A payment reaches a gateway under a key, and is answered there. */
  keyed(wanted: Wanted, key: string): void
  keyedAnswer(wanted: Wanted, key: string, reply: Reply | Refusal): void
  /** An order is stored for the first time. */
  made(order: Order): void
  /** Orders that were acknowledged, with the request each belongs to. */
  acknowledged(): ReadonlyMap<bigint, Wanted>
}

/** An order with one of these statuses holds its client_orderid. */
const live: ReadonlySet<Status> = new Set(['processing', 'unknown', 'approved'])
/** How long an order that failed still holds its client_orderid. */
const nameHeldMs = 10_000

const keyedOf = ({ endpointId, operation, clientOrderid }: Wanted, key: string): Keyed => {
  const { merchantId } = configuration.endpoint(endpointId)!
  return { merchantId, key, request: `the ${operation} ${clientOrderid}` }
}

export function watchAnswers(orderOf: (orderId: bigint) => Order | undefined, keys: KeyWatch, breaks: Breaks): Answers {
  const acknowledged = new Map<bigint, Wanted>()
  const answers = new Map<string, bigint[]>()
  const byName = new Map<string, bigint[]>()

  function checkSameAnswer({ endpointId, clientOrderid }: Wanted, order: Order): void {
    const name = `${endpointId}/${clientOrderid}`
    const given = answers.get(name) ?? []
    if (given.includes(order.orderId)) return
    for (const other of given) {
      const earlier = orderOf(other)
      if (!earlier) return breaks('an acknowledged order exists', `order ${other} is not there`)
      const [first, second] = inTime(earlier, order)
      if (live.has(statusOf(first)) || second.createdAt - first.createdAt <= nameHeldMs)
        breaks(
          'the same request has the same answer',
          `${name} was answered with order ${first.orderId} and order ${second.orderId}`,
        )
    }
    answers.set(name, [...given, order.orderId])
  }

  return {
    answered(wanted, answer) {
      const { merchantId } = configuration.endpoint(wanted.endpointId)!
      const { clientOrderid, referenceOf = merchantId } = wanted
      const refused = 'refused' in answer ? answer.refused : undefined
      if (referenceOf !== merchantId) {
        const what = `${clientOrderid} of merchant ${merchantId} names a card of ${referenceOf}`
        if (refused !== 'card reference not found')
          breaks('no merchant charges the card of another', `${what}, and is not refused`)
      } else if ('refused' in answer) breaks('the same request has the same answer', `${clientOrderid} was refused: ${refused}`)
      else {
        const order = orderOf(answer.orderId)
        if (!order) return breaks('an acknowledged order exists', `order ${answer.orderId} is not there`)
        acknowledged.set(answer.orderId, wanted)
        checkSameAnswer(wanted, order)
      }
    },
    keyed: (wanted, key) => keys.asked(keyedOf(wanted, key)),
    keyedAnswer(wanted, key, reply) {
      if (!('refused' in reply)) keys.answered(keyedOf(wanted, key), `${reply['gateway-order-id']}/1`)
      else if (reply.refused === 'key in use') keys.refused(keyedOf(wanted, key))
    },
    made(order) {
      const name = `${order.merchantId}/${order.clientOrderid}`
      const others = byName.get(name) ?? []
      const rival = others.map(orderOf).find((o) => o && live.has(statusOf(o)))
      if (rival)
        breaks(
          'one live order a name',
          `order ${order.orderId} was made while order ${rival.orderId} of that name is ${statusOf(rival)}`,
        )
      byName.set(name, [...others, order.orderId])
    },
    acknowledged: () => acknowledged,
  }
}

/** Sorts two orders by creation time, and by id if the times are equal. */
function inTime(one: Order, other: Order): [Order, Order] {
  const first = one.createdAt - other.createdAt || Number(one.orderId - other.orderId)
  return first <= 0 ? [one, other] : [other, one]
}
