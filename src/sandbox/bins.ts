import type { BinRange } from '../card/bins.ts'
import { loadBins, replaceBins } from '../card/bin-rows.ts'
import type { Pool } from '../storage/pool.ts'
import { transaction } from '../storage/transaction.ts'

/** Countries of the simulated issuers by the sixth digit, as in the simulated acquirer. */
// oxfmt-ignore
const countries = [
  ['GB', 'GBR'], ['US', 'USA'], ['DE', 'DEU'], ['FR', 'FRA'], ['NL', 'NLD'],
  ['CA', 'CAN'], ['BR', 'BRA'], ['JP', 'JPN'], ['AU', 'AUS'], ['SG', 'SGP'],
] as const
/** The prefixes of the test cards; the numbers and their banks are invented. */
const beginnings = ['40000', '41111', '42424', '45555', '51051', '52000', '54545', '55555', '22230', '37828', '60111', '62000']

const ranges: BinRange[] = beginnings.flatMap((beginning) =>
  countries.map(([country, name], digit) => ({
    first: Number(`${beginning}${digit}`.padEnd(11, '0')),
    last: Number(`${beginning}${digit}`.padEnd(11, '9')),
    country,
    bank: `Simulated Bank ${name}`,
  })),
)

/** The BIN table of the sandbox, unless somebody imported one. */
export async function settleBins(pool: Pool): Promise<void> {
  if ((await loadBins(pool)).length > 0) return
  await transaction(pool, (runner) => replaceBins(runner, ranges))
}
