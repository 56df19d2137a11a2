import { readBins } from '../card/bins.ts'
import { replaceBins } from '../card/store-bins.ts'
import type { Desk } from './desk.ts'
import { Refused } from './refused.ts'
import { change } from './store-audit.ts'

/**
 * Takes a CSV as the installation's BIN table, in the place of the one there was. Answers how many
 * ranges it has.
 */
export async function importBins(desk: Desk, csv: string): Promise<number> {
  const ranges = readBins(csv)
  if (typeof ranges === 'string') throw new Refused({ what: 'unusable BIN table', why: ranges })
  return change(desk, 'config', async (runner) => {
    await replaceBins(runner, ranges)
    return { note: { action: 'bin import', subject: 'BIN table', details: { ranges: ranges.length } }, result: ranges.length }
  })
}
