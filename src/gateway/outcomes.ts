/** Ended transactions and attempts for Prometheus, observed after the commit that ended them. */
import { Histogram, type Registry } from 'prom-client'
import { statusOfState, type Order } from '../order/decide/order.ts'

const attemptBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
/** A cardholder may take minutes. */
const transactionBuckets = [...attemptBuckets, 60, 300, 900]

/** Observes what a committed change of an order ended; `before` is absent for a new order. */
export function openOutcomes(registry: Registry): (before: Order | undefined, after: Order) => void {
  const registers = [registry]
  const transactions = new Histogram({
    name: 'tollgate_transaction_seconds',
    help: 'Transactions that ended, from their request to their end',
    labelNames: ['kind', 'outcome'],
    buckets: transactionBuckets,
    registers,
  })
  const attempts = new Histogram({
    name: 'tollgate_attempt_seconds',
    help: 'Messages to acquirers that may move money, until their outcome was known',
    labelNames: ['gate', 'outcome'],
    buckets: attemptBuckets,
    registers,
  })
  return (before, after) => {
    after.transactions.forEach(({ kind, state, createdAt, finalAt }, i) => {
      if (finalAt === undefined || before?.transactions[i]?.finalAt !== undefined) return
      transactions.labels(kind, statusOfState(state)).observe((finalAt - createdAt) / 1_000)
    })
    after.attempts.forEach(({ gateId, outcome, startedAt, endedAt }, i) => {
      if (outcome === undefined || before?.attempts[i]?.outcome !== undefined) return
      attempts.labels(String(gateId), outcome).observe((endedAt! - startedAt) / 1_000)
    })
  }
}
