import { readBins } from '../../card/bins.ts'
import { replaceBins } from '../../card/bin-rows.ts'
import type { Desk } from '../desk.ts'
import { Refused } from '../refused.ts'
import { change } from '../change.ts'

/**
 * Imports a CSV as the installation's BIN table, replacing the previous one. Returns the number of
 * ranges.
 */
export async function importBins(desk: Desk, csv: string): Promise<number> {
  const ranges = readBins(csv)
  if (typeof ranges === 'string') throw new Refused({ what: 'unusable BIN table', why: ranges })
  return change(desk, 'config', async (runner) => {
    await replaceBins(runner, ranges)
    return { note: { subject: 'BIN table', details: { ranges: ranges.length } }, result: ranges.length }
  })
}
