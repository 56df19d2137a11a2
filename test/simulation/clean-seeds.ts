/** Seeds 1 to this one are run without a planted bug by seeds.test.ts. */
export const cleanSeeds = 12

/** Seeds 1 to this one are run with eight cells. */
export const cellSeeds = 4
export const cellOrders = 40
