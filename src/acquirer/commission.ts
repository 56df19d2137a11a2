import type { GateRow } from '../merchant/merchant.ts'

const shares = 10_000n

/** The commission on a transfer of this amount at a gate, in minor units; a half is rounded up. */
export const commissionOf = ({ commissionFixedMinor = 0, commissionBasisPoints = 0 }: GateRow, amountMinor: bigint): bigint =>
  BigInt(commissionFixedMinor) + (amountMinor * BigInt(commissionBasisPoints) + shares / 2n) / shares
