import type { Commission, GateRow } from '../merchant/merchant.ts'

const shares = 10_000n

/** A commission on this amount, in minor units; a half is rounded up. */
export const commissionOf = ({ fixedMinor, basisPoints }: Commission, amountMinor: bigint): bigint =>
  BigInt(fixedMinor) + (amountMinor * BigInt(basisPoints) + shares / 2n) / shares

/** What the consumer of a transfer pays at a gate. */
export const transferCommission = ({ commissionFixedMinor = 0, commissionBasisPoints = 0 }: GateRow): Commission => ({
  fixedMinor: commissionFixedMinor,
  basisPoints: commissionBasisPoints,
})
