/** The search for one payment by whatever names it, over all cells. */
import { sleep } from '../../base/clock.ts'
import { defined } from '../../base/defined.ts'
import { orderKeyText, type OrderKey } from '../../order/decide/change.ts'
import { entities, timestamp } from '../../storage/pool.ts'
import type { CellDesk } from '../desk.ts'
import { inEach, type Missed } from '../in-cells.ts'
import type { Office } from '../office.ts'
import { progressOf } from '../persons/search.ts'
import { restMs } from '../persons/walk.ts'
import { unfit, Refused } from '../refused.ts'
import { cellsFor, loginsIn, merchantIdOf } from '../where.ts'
import { findKinds, kindsOf, type FindName } from './find-kinds.ts'
import { findOrders, newestFirst, type OrderLine } from './order-rows.ts'

/** A payment, and what the text names of it. */
export interface FoundOrder extends OrderLine {
  by: readonly FindName[]
}

export interface FindQuery {
  what: string
  /** Only as these kinds. */
  as?: readonly FindName[]
  merchant?: string
  from?: number
  to?: number
  limit: number
}

/**
 * The kinds that a search tries, and those that are left. One without an index is tried if it is
 * asked for, or no order has the text as a name.
 */
export function triedOf({ what, as }: Pick<FindQuery, 'what' | 'as'>, found: readonly Pick<FoundOrder, 'by'>[]) {
  const fit = kindsOf(what).filter((name) => as?.includes(name) ?? true)
  const isNamed = found.some(({ by }) => by.some((name) => findKinds[name].at))
  const tried = fit.filter((name) => findKinds[name].at || as || !isNamed)
  return { tried, left: fit.filter((name) => !tried.includes(name)) }
}

/**
 * Newest first, as they are found: matches by a name immediately, then those that have to be read
 * for. An exact id ignores all filters. Cells that fail are left out. Refuses a text that can be
 * none of the kinds asked for.
 */
export async function* findByAnything(office: Office, asked: FindQuery, missed: Missed): AsyncGenerator<FoundOrder[]> {
  const { what, merchant, limit, from, to } = asked
  const { tried } = triedOf(asked, [])
  if (tried.length === 0) throw new Refused(unfit('as', `one of what the text can be: ${kindsOf(what).join(', ')}`))
  const filters = { missed, ...defined({ merchantId: await merchantIdOf(office.pool, merchant), from, to }) }
  const names = tried.filter((name) => findKinds[name].at)
  const found = names.length === 0 ? [] : await withName(office, what, names, { ...filters, limit })
  if (found.length > 0) yield found
  const read = triedOf(asked, found).tried.find((name) => findKinds[name].held)
  if (read) yield* reading(office, read, { what, limit: limit - found.length, ...filters })
}

type Filters = Pick<FindQuery, 'from' | 'to' | 'limit'> & { merchantId?: bigint; missed: Missed }

async function withName(office: Office, what: string, names: readonly FindName[], filters: Filters): Promise<FoundOrder[]> {
  const logins = await loginsIn(office.pool)
  // A user of one merchant learns of no other's, whatever the id.
  const own = office.rights.merchant?.merchantId
  const isExact = (name: FindName) => findKinds[name].exact === true
  const cells = await cellsFor(office, logins, names.some(isExact) ? undefined : filters.merchantId)
  const placesIn = async ({ cellNo, pool }: CellDesk) => {
    const merchantIds = logins.merchantIds(cellNo).filter((id) => own === undefined || id === own)
    const keys = await Promise.all(names.map((name) => findKinds[name].at!({ pool, merchantIds, keys: office.keys }, what)))
    return keys.flatMap((all, i) => all.flatMap((key) => (merchantIds.includes(key.merchantId) ? { key, name: names[i]! } : [])))
  }
  const { missed } = filters
  const found = await inEach(cells, placesIn, missed)
  const byKey = new Map<string, { key: OrderKey; by: FindName[] }>()
  for (const { key, name } of found.flat()) {
    const text = orderKeyText(key)
    byKey.set(text, { key, by: [...(byKey.get(text)?.by ?? []), name] })
  }
  const places = [...byKey.values()]
  const linesOf = (some: typeof places, such: Filters) =>
    some.length === 0 ? [] : findOrders(office, { ...such, among: some.map(({ key }) => key) })
  const exact = places.filter(({ by }) => by.some(isExact))
  const others = places.filter(({ by }) => !by.some(isExact))
  const lines = [...(await linesOf(exact, { limit: exact.length, missed })), ...(await linesOf(others, filters))]
  return lines.map((line) => ({ ...line, by: byKey.get(orderKeyText(line))!.by })).sort(newestFirst)
}

const pageRows = 5_000
/** Later than any order. */
const end = Date.UTC(2200, 0, 1)
const pageStart = entities<{ createdAt: number }>(`
  select created_at from orders where created_at < $1 and ($2::bigint is null or merchant_id = $2)
  order by created_at desc offset ${pageRows - 1} limit 1`)

/** Reads orders back in time, a span of some thousand at a time. */
async function* reading(
  office: Office,
  name: FindName,
  { what, limit, from = 0, to = end, merchantId, missed }: Filters & { what: string },
) {
  const cells = await cellsFor(office, await loginsIn(office.pool), merchantId)
  const progress = progressOf(office)
  const held = findKinds[name].held!(what)
  for (let [left, before] = [limit, to]; left > 0 && before > from; await sleep(office.clock, restMs)) {
    // From when on no cell has more than a page of orders.
    const starts = await inEach(cells, ({ pool }) => pool.run(pageStart, [timestamp(before), merchantId ?? null]), missed)
    const start = Math.max(from, ...starts.flat().map(({ createdAt }) => createdAt))
    const found = await findOrders(office, { held, from: start, to: before, limit: left, missed, ...defined({ merchantId }) })
    if (found.length > 0) yield found.map((line): FoundOrder => ({ ...line, by: [name] }))
    progress(pageRows)
    left -= found.length
    before = start
  }
}
