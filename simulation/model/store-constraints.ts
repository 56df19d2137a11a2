import { machine, transitionText } from '../../src/order/decide/machine.ts'
import type { Change } from '../../src/order/decide/change.ts'

/** An error as the driver throws it. */
export const databaseError = (code: string, message: string): Error => Object.assign(new Error(message), { code })

const legal = new Set(machine.map(transitionText))

/** Checks the table constraints that a decision could violate. */
export function check({ rows, after }: Change): void {
  for (const { from, event: on, to } of rows) {
    const move = transitionText({ from, on, to })
    if (!legal.has(move)) throw databaseError('23514', `order_event_moves_check does not know ${move}`)
  }
  for (const t of after.transactions) {
    if ((t.step === undefined) !== (t.dueAt === undefined)) throw databaseError('23514', 'transaction_step_check')
    if ((t.serialNumber === undefined) !== (t.origin === 'gateway')) throw databaseError('23514', 'transaction_serial_check')
  }
}
