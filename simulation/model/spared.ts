import type { Claimer } from '../../src/leases/leased.ts'

/** Whether a claim spares work of this merchant: a part of `isTakable` in SQL. */
export const isSpared = (
  { merchantId, lease }: { merchantId: bigint; lease?: bigint | undefined },
  { spared }: Claimer,
): boolean => (lease === undefined && spared?.resting.includes(merchantId)) || spared?.absent.includes(merchantId) || false
