import { barePost } from './bare-post.ts'
import type { Bench } from './bench.ts'
import { mobileSale } from './mobile-sale.ts'
import { recurrent } from './recurrent.ts'
import { repeats } from './repeats.ts'
import { sale } from './sale.ts'
import { challenge, frictionless } from './three-d-secure.ts'

/** Every bench there is; `npm run bench -- <name>` chooses among them. */
export const benches: readonly Bench[] = [sale, repeats, recurrent, frictionless, challenge, mobileSale]

export const benchNamed = (name: string): Bench | undefined => benches.find((bench) => bench.name === name)

/** What the load process can carry: the benches, and the yardstick. */
export const loadNamed = (name: string): Pick<Bench, 'open'> | undefined => (name === barePost.name ? barePost : benchNamed(name))
