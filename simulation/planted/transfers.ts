import type { Order, Transaction } from '../../src/order/decide/order.ts'
import type { Event } from '../../src/order/decide/event.ts'
import type { Accept } from '../../src/order/door/submission.ts'
import type { Wraps } from '../world/gateway-parts.ts'
import type { Planted } from './planting.ts'

/** Changes the outcome of a message of one leg. */
const inLeg = (kind: 'transfer' | 'credit', change: (event: Event, order: Order) => Event): Wraps => ({
  performers: (performers) => ({
    ...performers,
    async authorise(held, transaction) {
      const event = await performers.authorise(held, transaction)
      return transaction.kind === kind ? change(event, held.order) : event
    },
  }),
})

const gate = { descriptor: '', partialReversal: true, partialCapture: true }

const refusedInstead = (event: Event): Event => {
  if (event.is !== 'answer lost' && event.is !== 'answer awaited') return event
  const { transactionNo, attemptNo } = event
  return { is: 'declined', transactionNo, attemptNo, actionCode: '911', text: '', data: {}, gate }
}

const debitedInstead = (event: Event): Event => {
  if (event.is !== 'answer lost' && event.is !== 'answer awaited') return event
  const { transactionNo, attemptNo } = event
  const receiptId = `00000000-0000-4000-8000-${String(attemptNo).padStart(12, '0')}`
  return { is: 'debited', transactionNo, attemptNo, actionCode: '000', data: {}, receiptId, gate }
}

const isOfTransfer = (order: Order, { kind, parentNo }: Transaction, of: 'transfer' | 'credit') =>
  kind === 'reversal' && order.transactions[(parentNo ?? 1) - 1]!.kind === of

/**
 * Counts the reversal of one leg as done and never sends it, if the order has a credit.
 */
const neverReversed = (of: 'transfer' | 'credit'): Wraps => ({
  performers: (performers) => ({
    ...performers,
    async reverse(held, transaction) {
      const { order } = held
      if (!isOfTransfer(order, transaction, of) || !order.transactions.some((t) => t.kind === 'credit'))
        return performers.reverse(held, transaction)
      const attempt = order.attempts.find((a) => a.transactionNo === transaction.no && a.outcome === undefined)!
      return { is: 'reversal acknowledged', transactionNo: transaction.no, attemptNo: attempt.no, actionCode: '400' }
    },
  }),
})

/** A process that takes over a possibly sent credit starts it again under new identifiers. */
const creditAgainOnRecovery: Wraps = {
  door: (door, _performers, { stores }) => ({
    ...door,
    async submit(submission) {
      if (submission.is !== 'resume' || door.holds(submission)) return door.submit(submission)
      const { merchantId, orderId, transactionNo } = submission
      const [order] = await stores.orders.load([submission])
      const credit = order?.transactions.find((t) => t.no === transactionNo)
      const attempt = order?.attempts.find((a) => a.transactionNo === transactionNo && a.outcome === undefined)
      if (credit?.kind !== 'credit' || credit.step !== 'authorise' || !attempt) return door.submit(submission)
      const next = { minor: credit.amountMinor, text: credit.amountText }
      const event: Event = { is: 'amount declined', transactionNo, attemptNo: attempt.no, actionCode: '911', next }
      return door.submit({ is: 'event', merchantId, orderId, event })
    },
  }),
}

/** Changes transfers as they are made. */
const asMade = (change: (order: Order) => Order): Wraps => ({
  door: (door) => ({
    ...door,
    submit: (submission) =>
      door.submit(
        submission.is === 'accept' && submission.order.kind === 'transfer'
          ? ({ ...submission, order: change(submission.order) } satisfies Accept)
          : submission,
      ),
  }),
})

const anyGate = (order: Order): Order => {
  const { gateId: _forgotten, ...transfer } = order.request.transfer!
  return { ...order, request: { ...order.request, transfer } }
}

const oneMore = (order: Order): Order => ({
  ...order,
  transactions: order.transactions.map((t) => ({ ...t, amountMinor: t.amountMinor + 1n })),
})

const whole = 'a transfer moves money once and whole'
const early = 'nothing is paid out that was not debited'
const stays = 'the debit stays while the credit may stand'
const fee = 'the fee is the one that was chosen'

// oxfmt-ignore
export const plantedInTransfers: readonly Planted[] = [
  { name: 'return the debit while the credit is unknown', breaks: [stays, early, whole], wrap: inLeg('credit', refusedInstead) },
  { name: 'forget to return the debit', breaks: [whole, 'the books are equal'], wrap: neverReversed('transfer') },
  { name: 'forget to reverse a lost credit', breaks: [stays, early, whole], wrap: neverReversed('credit') },
  { name: 'credit before the debit is known', breaks: [early, whole, 'the books are equal'], wrap: inLeg('transfer', debitedInstead) },
  { name: 'call a transfer approved when it is debited', breaks: [whole, 'the books are equal'], wrap: inLeg('transfer', (event) => (event.is === 'debited' ? { ...event, is: 'approved' } : event)) },
  { name: 'credit again on recovery', breaks: [whole, early], wrap: creditAgainOnRecovery },
  { name: 'take a transfer to another gate than was chosen', breaks: [fee], wrap: asMade(anyGate) },
  { name: 'charge another fee than was chosen', breaks: [fee, 'a list of amounts is charged once'], wrap: asMade(oneMore) },
  { name: 'credit another amount than was sent', breaks: [fee], wrap: {
    connector: (c) => ({ ...c, authorise: (ask, ...rest) => c.authorise(ask.kind === 'credit' ? { ...ask, amountMinor: ask.amountMinor + 1n } : ask, ...rest) }) } },
]
