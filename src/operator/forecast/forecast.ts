/** The effect that a change would have had on the payments of the last days. */
import { sleep } from '../../base/clock.ts'
import { counted, isoTime, timeText } from '../../base/moments.ts'
import { jsonName } from '../../entity/json.ts'
import { numbered, tableOf, type Block, type Column } from '../../entity/show.ts'
import { registryOf, type Endpoint, type Registry } from '../../merchant/merchant.ts'
import { readFilters } from '../../merchant/rows.ts'
import type { OrderKey } from '../../order/decide/change.ts'
import type { Order } from '../../order/decide/order.ts'
import { openOrderStore } from '../../order/store/store.ts'
import { entities, timestamp, type Runner } from '../../storage/pool.ts'
import type { Changed } from '../desk.ts'
import { firstOfAll } from '../in-cells.ts'
import { listEndpoints, listGates, listGroups, listMerchants } from '../known.ts'
import { mostRows } from '../lists.ts'
import type { Office } from '../office.ts'
import { restMs } from '../persons/walk.ts'
import { loginsIn } from '../where.ts'
import { decidingOf } from './deciding.ts'
import { differenceOf, type Difference } from './judges.ts'

/** The facts by which payments are judged; no key is opened. */
export type Configuration = Registry & { endpoints: readonly Endpoint[] }

export async function configurationIn(runner: Runner): Promise<Configuration> {
  const [known, endpoints, groups] = await Promise.all([listMerchants(runner), listEndpoints(runner), listGroups(runner)])
  const [gates, filters] = await Promise.all([listGates(runner), readFilters(runner)])
  const merchants = known.map((one) => ({ ...one, controlKeys: [], publicKeys: [] }))
  return { ...registryOf({ version: 0n, staleAt: Infinity, merchants, endpoints, groups, gates, filters }), endpoints }
}

type Counted = Difference & { orders: number }
export type Forecast = Awaited<ReturnType<typeof forecastOf>>

/**
 * Judges the newest orders of the endpoints that a change concerns, at most so many, by the
 * configuration before it and after it. Nothing of a payer leaves it.
 */
export async function forecastOf(office: Office, of: Changed, [before, after]: [Configuration, Configuration], most = 100_000) {
  const { entity, entityId, merchantId } = of
  const ruleAt = ({ endpointId }: Endpoint) =>
    [after, before].flatMap(({ filters }) => filters(endpointId)).find(({ filterNo }) => BigInt(filterNo) === entityId)
  const concerns: Readonly<Record<Changed['entity'], (one: Endpoint) => boolean>> = {
    merchant: (one) => one.merchantId === entityId,
    endpoint: (one) => one.endpointId === entityId,
    group: (one) => after.entry(entityId, true)?.endpoints.includes(one) ?? false,
    gate: (one) => one.gateIds.includes(entityId),
    filter: (one) => one.merchantId === merchantId && ruleAt(one) !== undefined,
  }
  const isOpen = ({ merchantId: whose }: Endpoint) => whose === (office.rights.merchant?.merchantId ?? whose)
  const endpoints = after.endpoints.filter((one) => isOpen(one) && concerns[entity](one))
  const { isJudged, notForecast } = decidingOf(of, entity === 'filter' && endpoints[0] ? ruleAt(endpoints[0]) : undefined)
  const since = office.clock.now() - 7 * 86_400_000
  const counts = new Map<string, Counted>()
  let [judged, more] = [0, false]
  for await (const orders of isJudged ? newest(office, endpoints, since) : []) {
    more = judged + orders.length > most
    for (const order of orders.slice(0, most - judged)) {
      judged++
      // An order whose payer was erased has too few facts left.
      const found = order.request.erasedAt ? undefined : differenceOf(order, before, after)
      const key = Object.values(found ?? {}).join('\n')
      if (found) counts.set(key, { ...found, orders: (counts.get(key)?.orders ?? 0) + 1 })
    }
    if (more) break
    if (judged > 0 && judged % (10 * mostRows) === 0) office.progress(`${counted(judged, 'order')} judged so far.`)
  }
  return {
    since: isoTime(since),
    judged: isJudged ? judged : null,
    more,
    changes: [...counts.values()].sort((a, b) => b.orders - a.orders),
    not_forecast: Object.fromEntries(notForecast.map(([setting, why]) => [jsonName(setting), why])),
  }
}

type Place = Pick<Order, 'createdAt' | 'orderId'>
const later = (a: Place, b: Place): number => b.createdAt - a.createdAt || (a.orderId < b.orderId ? 1 : -1)

const page = entities<OrderKey>(`
  select merchant_id, order_id from orders
  where merchant_id = any ($1::bigint[]) and endpoint_id = any ($2::bigint[])
    and created_at >= $3 and created_at <= $4 and (created_at, order_id) < ($4, $5)
  order by created_at desc, order_id desc limit ${mostRows}`)

/** Page by page, over the cells of the merchants. */
async function* newest({ pool, cells, clock }: Office, endpoints: readonly Endpoint[], since: number) {
  const { cellOf } = await loginsIn(pool)
  const ids = endpoints.map(({ endpointId }) => endpointId)
  const within = (cellNo: number) => endpoints.flatMap(({ merchantId: id }) => (cellOf(id) === cellNo ? [id] : []))
  const concerned = (await cells()).filter(({ cellNo }) => within(cellNo).length > 0)
  for (let last: Place = { createdAt: Date.UTC(2200, 0, 1), orderId: 0n }; ; await sleep(clock, restMs)) {
    const from = [timestamp(since), timestamp(last.createdAt), last.orderId]
    const orders = await firstOfAll(concerned, mostRows, later, async ({ cellNo, pool: its }) => {
      const keys = await its.run(page, [[...new Set(within(cellNo))], ids, ...from])
      return (await openOrderStore(its).load(keys)).sort(later)
    })
    yield orders
    if (orders.length < mostRows) return
    last = orders.at(-1)!
  }
}

const columns: Column<Counted>[] = [
  numbered('ORDERS', ({ orders }) => orders),
  { title: 'NOW', of: ({ before }) => before },
  { title: 'THEN', of: ({ after }) => after },
  { title: 'WHY', of: ({ why }) => why },
]

export function forecastBlocks({ since, judged, more, changes, not_forecast: others }: Forecast): Block[] {
  const otherwise = changes.reduce((sum, { orders }) => sum + orders, 0)
  const from = since === null ? '' : `${timeText(Date.parse(since))} UTC`
  const of = `Of ${counted(judged ?? 0, 'order')} since ${from}${more ? ', the newest of more' : ''}`
  return [
    ...(judged === null ? [] : [`${of}, ${otherwise} would have ended otherwise.`]),
    ...(changes.length > 0 ? [tableOf(columns, changes)] : []),
    ...Object.entries(others).map(([setting, why]) => `No forecast of ${setting}: ${why}.`),
  ]
}
