/** Seeds 1 to this one are run without a planted bug by seeds.test.ts. */
export const cleanSeeds = 12
