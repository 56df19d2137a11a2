import type { FilterRule } from '../../merchant/filter.ts'
import { entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import type { Desk } from '../desk.ts'
import { ruleText } from './filter-settings.ts'
import { Refused } from '../refused.ts'
import { change } from '../change.ts'
import { endpointOf, listMerchants, merchantNamed } from '../known.ts'

export interface FilterEntry extends Omit<FilterRule, 'entries'> {
  merchantId: bigint
  login: string
  /** The number of values in its list. */
  entries: number
  createdAt: number
  removedAt?: number
}

const rules = entities<Omit<FilterEntry, 'login'>>(`
  select r.merchant_id, r.filter_no, r.endpoint_id, r.name, r.code, r.score, r.rule as facts, r.created_at, r.removed_at,
    (select count(*)::int from filter_entry e where e.merchant_id = r.merchant_id and e.filter_no = r.filter_no) as entries
  from filter_rule r where $1::bigint is null or r.merchant_id = $1 order by r.merchant_id, r.filter_no`)
const values = statement<{ value: string }>(
  `select value from filter_entry where merchant_id = $1 and filter_no = $2 order by value limit $3`,
)
const nextNo = statement<{ no: number }>(`select coalesce(max(filter_no), 0) + 1 as no from filter_rule where merchant_id = $1`)
const addRule = statement<object>(`
  insert into filter_rule (merchant_id, filter_no, endpoint_id, name, code, score, rule, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`)
const removeRule = statement<object>(`update filter_rule set removed_at = $3 where merchant_id = $1 and filter_no = $2`)
const addValues = statement<object>(`
  insert into filter_entry (merchant_id, filter_no, value, created_at) select $1, $2, value, $4 from unnest($3::text[]) as value
  on conflict do nothing returning value`)
const removeValues = statement<object>(
  `delete from filter_entry where merchant_id = $1 and filter_no = $2 and value = any ($3::text[]) returning value`,
)
/** If two operators add filters at once, the second waits and takes the next number. */
const lockMerchant = statement<object>(`select from merchant where merchant_id = $1 for update`)

/** Each gateway keeps all lists in memory. */
const mostEntries = 100_000

export async function listFilters(runner: Runner, login?: string): Promise<FilterEntry[]> {
  const merchantId = login === undefined ? null : (await merchantNamed(runner, login)).merchantId
  const logins = new Map((await listMerchants(runner)).map((m) => [m.merchantId, m.login]))
  return (await runner.run(rules, [merchantId])).map((rule) => ({ ...rule, login: logins.get(rule.merchantId)! }))
}

export async function filterNumbered(runner: Runner, login: string, filterNo: number): Promise<FilterEntry> {
  const found = (await listFilters(runner, login)).find((f) => f.filterNo === filterNo)
  if (!found) throw new Refused({ what: 'unknown of merchant', thing: 'filter', login, name: String(filterNo) })
  return found
}

/** The values of a list, in order; of a long list only the beginning. */
export async function entriesOf(runner: Runner, filter: FilterEntry, most: number): Promise<string[]> {
  return (await runner.run(values, [filter.merchantId, filter.filterNo, most])).map((r) => r.value)
}

interface NewFilter extends Omit<FilterRule, 'filterNo' | 'name'> {
  login: string
  /** What it does, unless it is given. */
  name?: string
}

export async function addFilter(desk: Desk, asked: NewFilter): Promise<FilterEntry> {
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, asked.login)
    if (asked.endpointId !== undefined && (await endpointOf(runner, asked.endpointId)).merchantId !== merchantId)
      throw new Refused({ what: 'unknown of merchant', thing: 'endpoint', login: asked.login, name: String(asked.endpointId) })
    await runner.run(lockMerchant, [merchantId])
    const [next] = await runner.run(nextNo, [merchantId])
    const { entries: listed, ...rest } = asked
    const name = asked.name ?? ruleText(asked)
    const filter = { ...rest, name, merchantId, filterNo: next!.no, entries: 0, createdAt: desk.clock.now() }
    const { filterNo, endpointId = null, code, score, facts, createdAt } = filter
    await runner.run(addRule, [merchantId, filterNo, endpointId, name, code, score, JSON.stringify(facts), timestamp(createdAt)])
    await insertEntries(runner, filter, listed, createdAt)
    const details = { merchant: asked.login, name, code, score, rule: facts, entries: listed.size }
    return { note: { subject: `filter ${asked.login} ${filterNo}`, details }, result: { ...filter, entries: listed.size } }
  })
}

/** Returns how many were added to the list, and how many were removed. */
export const changeEntries = (desk: Desk, login: string, filterNo: number, what: 'add' | 'remove', listed: ReadonlySet<string>) =>
  changeFilter(desk, login, filterNo, async (runner, filter) => {
    if (!('of' in filter.facts)) throw new Refused({ what: 'no list', login, filterNo, does: ruleText(filter) })
    const added = what === 'add' ? await insertEntries(runner, filter, listed, desk.clock.now()) : 0
    const removed = what === 'add' ? 0 : (await runner.run(removeValues, [filter.merchantId, filterNo, [...listed]])).length
    const after = { ...filter, entries: filter.entries - removed + added }
    return { details: { added, removed }, result: { filter: after, added, removed } }
  })

async function insertEntries(runner: Runner, filter: FilterEntry, entries: ReadonlySet<string>, now: number): Promise<number> {
  if (entries.size === 0) return 0
  if (filter.entries + entries.size > mostEntries) throw new Refused({ what: 'list full', most: mostEntries })
  return (await runner.run(addValues, [filter.merchantId, filter.filterNo, [...entries], timestamp(now)])).length
}

/** It judges no further orders; its earlier decisions remain visible. */
export const removeFilter = (desk: Desk, login: string, filterNo: number): Promise<FilterEntry> =>
  changeFilter(desk, login, filterNo, async (runner, filter) => {
    await runner.run(removeRule, [filter.merchantId, filterNo, timestamp(desk.clock.now())])
    return { details: { name: filter.name }, result: filter }
  })

/** One change of a filter that was not removed; the audit trail has the details. */
const changeFilter = <T>(
  desk: Desk,
  login: string,
  filterNo: number,
  body: (runner: Runner, filter: FilterEntry) => Promise<{ details: object; result: T }>,
): Promise<T> =>
  change(desk, 'config', async (runner) => {
    const filter = await filterNumbered(runner, login, filterNo)
    if (filter.removedAt !== undefined) throw new Refused({ what: 'removed', login, filterNo })
    const { details, result } = await body(runner, filter)
    return { note: { subject: `filter ${login} ${filterNo}`, details }, result }
  })
