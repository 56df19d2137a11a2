import { legalTransitions } from '../src/order/machine.ts'
import type { Change } from '../src/order/change.ts'

/** An error as the driver throws it. */
export const databaseError = (code: string, message: string): Error => Object.assign(new Error(message), { code })

const legal = new Set(legalTransitions().map(([from, to]) => `${from}>${to}`))

/** Checks the table constraints that a decision could violate. */
export function check({ rows, after }: Change): void {
  for (const { from, to } of rows)
    if (!legal.has(`${from}>${to}`)) throw databaseError('23503', `order_event has no transition from ${from} to ${to}`)
  for (const t of after.transactions) {
    if ((t.step === undefined) !== (t.dueAt === undefined)) throw databaseError('23514', 'transaction_check1')
    if ((t.serialNumber === undefined) !== (t.origin === 'gateway')) throw databaseError('23514', 'transaction_check')
  }
}
