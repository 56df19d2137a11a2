import { asJson, entities, statement, type Pool, type Runner } from '../storage/pool.ts'
import { binTableOf, type BinRange, type Issuer } from './bins.ts'
import { networkOf } from './number.ts'

const version = statement<{ bins: bigint }>('select bins from config_version')
const bump = statement<object>('update config_version set bins = bins + 1')
const all = entities<BinRange>(
  'select first_prefix::float8 as "first", last_prefix::float8 as "last", country, bank from bin_range',
)
const clear = statement<object>('delete from bin_range')
const add = statement<object>(`
  insert into bin_range (first_prefix, last_prefix, country, bank)
  select first_prefix, last_prefix, country, bank
  from json_to_recordset($1) as n (first_prefix bigint, last_prefix bigint, country text, bank text)`)

const rowsAtOnce = 5_000

/** Replaces the table; call it within a transaction. */
export async function replaceBins(runner: Runner, ranges: readonly BinRange[]): Promise<void> {
  await runner.run(clear)
  for (let i = 0; i < ranges.length; i += rowsAtOnce) {
    const some = ranges.slice(i, i + rowsAtOnce)
    await runner.run(add, [asJson(some.map(({ first, last, ...of }) => ({ first_prefix: first, last_prefix: last, ...of })))])
  }
  await runner.run(bump)
}

export const loadBins = (runner: Runner): Promise<BinRange[]> => runner.run(all)

export interface BinTable {
  /** Without a table, an issuer of which nothing is known for every number of a known network. */
  issuerOf(pan: string): Issuer | undefined
  /** Reloads the table if there is a new one. */
  refresh(): Promise<void>
}

/** The table in memory: some tens of bytes per range, and no query for a look-up. */
export async function openBins(pool: Pool): Promise<BinTable> {
  let read: bigint | undefined
  let issuerOf: BinTable['issuerOf'] = () => undefined
  const refresh = async () => {
    const [row] = await pool.run(version)
    if (row!.bins === read) return
    const ranges = await loadBins(pool)
    issuerOf = ranges.length > 0 ? binTableOf(ranges) : (pan) => (networkOf(pan) === undefined ? undefined : {})
    read = row!.bins
  }
  await refresh()
  return { issuerOf: (pan) => issuerOf(pan), refresh }
}
