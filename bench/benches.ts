import type { Bench } from './bench.ts'
import { sale } from './sale.ts'

/** Every bench there is; `npm run bench -- <name>` chooses among them. */
export const benches: readonly Bench[] = [sale]

export const benchNamed = (name: string): Bench | undefined => benches.find((bench) => bench.name === name)
