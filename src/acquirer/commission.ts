import type { Commission } from '../merchant/fields/commission.ts'
import type { GateRow } from '../merchant/fields/gate.ts'

const shares = 10_000n

/** A commission on this amount, in minor units; a half is rounded up. */
export const commissionOf = ({ fixedMinor, basisPoints }: Commission, amountMinor: bigint): bigint =>
  BigInt(fixedMinor) + (amountMinor * BigInt(basisPoints) + shares / 2n) / shares

/** The fee of a transfer at a gate, paid by the consumer. */
export const transferCommission = ({
  commissionFixedMinor,
  commissionBasisPoints,
}: Pick<GateRow, 'commissionFixedMinor' | 'commissionBasisPoints'>): Commission => ({
  fixedMinor: commissionFixedMinor,
  basisPoints: commissionBasisPoints,
})
