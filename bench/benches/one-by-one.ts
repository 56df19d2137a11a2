import type { Bench } from '../bench.ts'
import type { Load } from '../load/drive.ts'
import { median, rounded } from '../figures/figures.ts'
import { measure, type Measured } from '../figures/measure.ts'
import type { Sandbox } from '../sandbox.ts'

/**
 * The same load on the gateway as it is and on one without batches and without the hand-over in
 * memory.
 */
export interface Comparison {
  bench: string
  inFlight: number
  /** Sales per second of each round. */
  batched: number[]
  oneByOne: number[]
  /** How much faster the median is; undefined when one side carried no sale. */
  ratio: number | undefined
}

const rounds = 3

/**
 * Every change of an order is a commit of its own, and every step after the first waits as a row
 * for the sweep.
 */
export const oneByOneSettings = { TOLLGATE_MAX_BATCH: '1', TOLLGATE_HAND_OVER: 'off', TOLLGATE_LANES: '8' }

/**
 * Measures both in short rounds by turns and compares the medians: what else runs on the machine
 * comes and goes, and in this way it affects both sides equally. A rate is of the whole round,
 * from the first request to the last final status: one by one, all sales in flight end in one wave
 * as long as a window, and a window would see a whole one or none.
 */
export async function compareOneByOne(
  load: Load,
  sides: { batched: Sandbox; oneByOne: Sandbox },
  bench: Bench,
  inFlight: number,
  roundMs: number,
  say: (text: string) => void,
): Promise<{ comparison: Comparison; batched: Measured[]; oneByOne: Measured[] }> {
  const batched: Measured[] = []
  const oneByOne: Measured[] = []
  const round = (sandbox: Sandbox) => measure(load, sandbox, { bench, inFlight, measureMs: roundMs, salesBefore: 0 }, () => {})
  for (let i = 1; i <= rounds; i++) {
    say(`One by one, round ${i} of ${rounds}: as it is`)
    batched.push(await round(sides.batched))
    say(`One by one, round ${i} of ${rounds}: one change a commit`)
    const slow = await round(sides.oneByOne)
    oneByOne.push(slow)
    // It cannot carry a sale, and each further round would wait for its sales in vain.
    if (slow.report.approved === 0) break
  }
  const [fast, slow] = [batched.map(rateOf), oneByOne.map(rateOf)]
  const [upper, lower] = [median(fast), median(slow)]
  return {
    comparison: { bench: bench.name, inFlight, batched: fast, oneByOne: slow, ratio: upper && lower ? upper / lower : undefined },
    batched,
    oneByOne,
  }
}

const rateOf = ({ report }: Measured): number => rounded((report.approved / report.wholeMs) * 1_000, 1)
