import { usualOrders } from '../../simulation/world/world.ts'

/** Seeds 1 to this one are run without a planted bug by seeds.test.ts. */
export const cleanSeeds = 6

/** Two of them are long: a third of the orders runs nearly all of the code. */
export const cleanOrders = (seed: number): number => (seed <= 2 ? usualOrders : 100)

/** Seeds 1 to this one are run with eight cells. */
export const cellSeeds = 2
export const cellOrders = 40
