import { barePost } from './load/bare-post.ts'
import type { Bench } from './bench.ts'
import { mobileSale } from './benches/mobile-sale.ts'
import { recurrent } from './benches/recurrent.ts'
import { repeats } from './load/repeats.ts'
import { sale } from './benches/sale.ts'
import { storedStatus } from './load/stored-status.ts'
import { challenge, frictionless } from './benches/three-d-secure.ts'

/** Every bench there is; `npm run bench -- <name>` chooses among them. */
export const benches: readonly Bench[] = [sale, repeats, recurrent, frictionless, challenge, mobileSale]

export const benchNamed = (name: string): Bench | undefined => benches.find((bench) => bench.name === name)

/** The benches that the load process can carry: payments, the yardstick, and status of orders. */
export const loadNamed = (name: string): Pick<Bench, 'open' | 'lookUp'> | undefined =>
  [...benches, barePost, storedStatus].find((load) => load.name === name)
