import type { Bench } from './bench.ts'
import type { Line } from './figures/compare.ts'
import type { Output } from './figures/output.ts'
import type { Started } from './started.ts'

/** The requests of the command line. */
export interface Wishes {
  benches: readonly Bench[]
  /** Those that are not part of everything. */
  byName: readonly ByName[]
  /** Whether the worst bodies are sent too. */
  bodies: boolean
  /** Undefined: each bench's own levels. */
  inFlight: readonly number[] | undefined
  /** The size of the long bench. */
  long: { orders: number; sales: number }
  /** Sales a second by a clock, or at half of what a closed loop carries. */
  arrivals: number | 'half' | undefined
  /** Whether new connections are opened beside the load. */
  connects: boolean
  /** Sales before the first window of a sandbox; undefined: each bench's own number. */
  warmUp: number | undefined
  measureMs: number
  /** How long each yardstick is measured; undefined leaves them out. */
  yardstickMs: number | undefined
  /** How long a round of the comparison to one change a commit is; undefined leaves it out. */
  roundMs: number | undefined
  /** The lines of an earlier run, to compare this one to. */
  older: readonly Line[] | undefined
  /** Where a picture of the run goes, or of an earlier one: then nothing is measured. */
  picture: { path: string; of: readonly Line[] | undefined } | undefined
  json: boolean
}

/** A bench that runs only by its name: one file each, and a line in by-name.ts. */
export interface ByName {
  name: string
  means: string
  /** Answers whether everything ended as it should. */
  run(wishes: Wishes, output: Output, started: Started): Promise<boolean>
}
