/** Captures, returns and voids by an operator: recorded here, sent by any gateway that runs. */
import { decimalToMinor, knownCurrency, mostMinor, spellMinor } from '../../base/money.ts'
import { uuid } from '../../base/random.ts'
import { isSwitchedOff } from '../../merchant/merchant.ts'
import type { FollowAsk } from '../../order/decide/amounts.ts'
import { callbackUrls } from '../../order/decide/decide.ts'
import { changeByFollow, type NotFollowed, type Repeated } from '../../order/decide/follow.ts'
import { isRandomSum, statusOf, statusOfState, type Order, type Transaction } from '../../order/decide/order.ts'
import { saveAdded } from '../../order/store/save.ts'
import { loadOrders } from '../../order/store/store.ts'
import { changeInCell } from '../change.ts'
import type { OrderDesk } from '../desk.ts'
import { listEndpoints, listGates } from '../known.ts'
import { orUnknown, Refused, unfit, type OperatorRefusal } from '../refused.ts'
import { loginsIn, orderOf } from '../where.ts'
import { raiseVersion } from './order-rows.ts'

type FollowOperation = FollowAsk['operation']

export interface FollowWish {
  id: bigint
  /** In the highest unit of the order's currency; all that is left if absent. */
  amount?: string
  /** For operators: stored in the audit trail and the order, never sent outside. */
  reason: string
}

export interface FollowedUp {
  order: Order
  transaction: Transaction
  /** Where it will be sent. */
  gate: string
  /** Where the merchant hears of its outcome. */
  callbacks: readonly string[]
}

/**
 * Adds a capture, return or void to an approved order by the decision that judges those of
 * merchants; no process owns it, so the sweep of any gateway takes it up. One transaction, with the
 * row of the order locked before it is read: of two together, the second sees what the first left.
 */
export async function followUp(desk: OrderDesk, operation: FollowOperation, wish: FollowWish): Promise<FollowedUp> {
  const { cell, merchantId } = await orderOf(await desk.cells(), await loginsIn(desk.pool), wish.id)
  const [endpoints, gates] = await Promise.all([listEndpoints(desk.pool), listGates(desk.pool)])
  const orderKey = { merchantId, orderId: wish.id }
  return changeInCell(desk, cell, async (runner) => {
    // A process that has the order in memory must not overwrite this change.
    await runner.run(raiseVersion, [merchantId, wish.id])
    const order = orUnknown((await loadOrders(runner, [orderKey]))[0], 'order', wish.id)
    const endpoint = endpoints.find(({ endpointId }) => endpointId === order.endpointId)
    if (endpoint && isSwitchedOff(endpoint, operation))
      throw new Refused({ what: 'operation off', operation, endpointId: order.endpointId })
    const parked = order.transactions.find(({ alarm }) => alarm !== undefined)
    if (parked) throw new Refused({ what: 'order parked', orderId: wish.id, no: parked.no, kind: parked.kind })
    if (isRandomSum(order)) throw new Refused({ what: 'random sum', orderId: wish.id })
    const change = changeByFollow(order, askOf(desk, order, operation, wish), endpoint, desk.clock.now())
    if ('is' in change) throw new Refused(refusalOf(order, operation, change))
    desk.judge?.(change.after)
    await saveAdded(runner, change)
    const transaction = change.after.transactions.at(-1)!
    const { no, kind, amountText: amount, result } = transaction
    const { currency } = order
    const details = { operation, kind, transaction: no, amount, currency, reason: wish.reason }
    return {
      note: { subject: `order ${wish.id}`, details },
      result: {
        order: change.after,
        transaction,
        gate: gates.find(({ gateId }) => String(gateId) === result.gateId)?.name ?? 'gone',
        callbacks: [...callbackUrls(order.request, no)],
      },
    }
  })
}

/** With a serial number of its own, as each request of a merchant has. */
function askOf({ random, who }: OrderDesk, { currency }: Order, operation: FollowOperation, wish: FollowWish): FollowAsk {
  const { amount, reason } = wish
  const ask: FollowAsk = { operation, serialNumber: uuid(random), operator: { who, reason } }
  if (amount === undefined) return ask
  const { exponent } = knownCurrency(currency)
  const minor = (amount.split('.')[1] ?? '').length > exponent ? undefined : decimalToMinor(amount, exponent)
  if (minor === undefined || minor === 0n || minor > mostMinor)
    throw new Refused(unfit('amount', `an amount above zero in ${currency}, with ${exponent} decimals at most`))
  return { ...ask, amount: { minor, text: spellMinor(minor, currency) } }
}

function refusalOf(order: Order, operation: FollowOperation, judged: NotFollowed | Repeated): OperatorRefusal {
  const { orderId, currency } = order
  const about = { orderId, operation }
  const inCurrency = (minor: bigint) => `${spellMinor(minor, currency)} ${currency}`
  switch (judged.is) {
    case 'repeat': {
      const { no, amountMinor, state } = judged.transaction
      return { what: 'asked already', ...about, no, amount: inCurrency(amountMinor), status: statusOfState(state) }
    }
    case 'exceeds':
      return { what: 'more than left', ...about, left: inCurrency(judged.left) }
    case 'part not allowed':
      return { what: 'part not allowed', ...about, whole: inCurrency(judged.whole) }
    case 'wrong state':
      return { what: 'nothing left', ...about, why: judged.why, status: statusOf(order) }
  }
}
