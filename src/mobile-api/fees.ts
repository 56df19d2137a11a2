/** The commission of a transfer at each gate, and the names of these gates for apps. */
import { commissionOf, transferCommission } from '../acquirer/commission.ts'
import type { Gate } from '../merchant/merchant.ts'
import type { Fee, Invoice } from './invoice/invoice.ts'

/** How long the consumer may choose. */
export const chooseMs = 15 * 60_000

export function feesOf(gates: readonly Gate[], amountMinor: bigint): Fee[] {
  const names = assignedIds(gates)
  return gates.map((gate, i) => ({
    assignedId: names[i]!,
    gateId: String(gate.gateId),
    commissionMinor: String(commissionOf(transferCommission(gate.settings), amountMinor)),
  }))
}

/**
 * Unique names of gates, as they may appear in a path. The number of the gate is added if two names
 * are equal, or if the name has a special meaning in a path.
 */
export function assignedIds(gates: readonly Pick<Gate, 'gateId' | 'name'>[]): string[] {
  const safe = gates.map(({ name }) => name.toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-'))
  const numbered = gates.map(({ gateId }, i) => `${safe[i]!}-${gateId}`)
  const isFit = (name: string) => name !== 'status' && !/^\.*$/.test(name) && safe.filter((other) => other === name).length === 1
  const names = safe.map((name, i) => (isFit(name) ? name : numbered[i]!))
  return new Set(names).size === names.length ? names : numbered
}

/** The amount that the source is debited. */
export const totalMinor = ({ request, fee }: Pick<Invoice, 'request' | 'fee'>): bigint =>
  BigInt(request.amountMinor ?? 0) + BigInt(fee?.commissionMinor ?? 0)
