import type { FilterRule } from '../../merchant/filter.ts'
import { entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import type { Desk } from '../desk.ts'
import { ruleText } from './filter-settings.ts'
import { Refused } from '../refused.ts'
import { change } from '../change.ts'
import { changeEntity, made, type SettingsOf } from '../history/entity.ts'
import { listedName, type SettingChange } from '../history/setting-changes.ts'
import { endpointOf, merchantNamed } from '../known.ts'
import { merchantIdOf } from '../where.ts'

export interface FilterEntry extends Omit<FilterRule, 'entries'> {
  merchantId: bigint
  login: string
  /** The number of values in its list. */
  entries: number
  createdAt: number
  removedAt?: number
}

const rules = entities<FilterEntry>(`
  select r.merchant_id, m.login, r.filter_no, r.endpoint_id, r.name, r.code, r.score, r.rule as facts, r.created_at, r.removed_at,
    (select count(*)::int from filter_entry e where e.merchant_id = r.merchant_id and e.filter_no = r.filter_no) as entries
  from filter_rule r join merchant m on m.merchant_id = r.merchant_id
  where $1::bigint is null or r.merchant_id = $1 order by r.merchant_id, r.filter_no`)
const firstValues = statement<{ value: string }>(
  `select value from filter_entry where merchant_id = $1 and filter_no = $2 order by value limit $3`,
)
const nextNo = statement<{ no: number }>(`select coalesce(max(filter_no), 0) + 1 as no from filter_rule where merchant_id = $1`)
const addRule = statement<object>(`
  insert into filter_rule (merchant_id, filter_no, endpoint_id, name, code, score, rule, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`)
/** Or takes it back, without a time. */
const removeRule = statement<object>(`update filter_rule set removed_at = $3 where merchant_id = $1 and filter_no = $2`)
const onList = statement<{ value: string }>(
  `select value from filter_entry where merchant_id = $1 and filter_no = $2 and value = any ($3::text[])`,
)
const addValues = statement<object>(`
  insert into filter_entry (merchant_id, filter_no, value, created_at) select $1, $2, value, $4 from unnest($3::text[]) as value
  on conflict do nothing`)
const removeValues = statement<object>(
  `delete from filter_entry where merchant_id = $1 and filter_no = $2 and value = any ($3::text[])`,
)
/** If two operators add filters together, the second waits and takes the next number. */
const lockMerchant = statement<object>(`select from merchant where merchant_id = $1 for update`)

/** Each gateway keeps all lists in memory. */
const mostEntries = 100_000

export const listFilters = async (runner: Runner, login?: string): Promise<FilterEntry[]> =>
  runner.run(rules, [await merchantIdOf(runner, login)])

export async function filterNumbered(runner: Runner, login: string, filterNo: number): Promise<FilterEntry> {
  const found = (await listFilters(runner, login)).find((f) => f.filterNo === filterNo)
  if (!found) throw new Refused({ what: 'unknown of merchant', thing: 'filter', login, name: String(filterNo) })
  return found
}

/** The values of a list, in order; of a long list only the beginning. */
export async function entriesOf(runner: Runner, filter: FilterEntry, most: number): Promise<string[]> {
  return (await runner.run(firstValues, [filter.merchantId, filter.filterNo, most])).map((r) => r.value)
}

const none: ReadonlySet<string> = new Set()
/** A filter with the values of its list that a change is about. */
export const versionOf = (filter: FilterEntry, listed = none) => ({ filter, isRemoved: filter.removedAt !== undefined, listed })

type FilterVersion = ReturnType<typeof versionOf>

const nameStart = listedName('')
const valuesIn = (fields: object): Set<string> =>
  new Set(Object.keys(fields).flatMap((name) => (name.startsWith(nameStart) ? [name.slice(nameStart.length)] : [])))

/** Each listed value is a field, so that each is taken back, and erased, by itself. */
export const filterKept: SettingsOf<FilterVersion, { removed: boolean }> = {
  entity: 'filter',
  subject: ({ filter: { login, filterNo } }) => `filter ${login} ${filterNo}`,
  key: ({ filter: { merchantId, filterNo } }) => ({ entityId: BigInt(filterNo), merchantId }),
  fields: ({ isRemoved: removed, listed }) => ({
    removed,
    ...Object.fromEntries([...listed].map((value) => [listedName(value), true])),
  }),
  with: ({ filter }, { removed, ...fields }) => ({ filter, isRemoved: removed, listed: valuesIn(fields) }),
  async write(runner, { clock }, { before, after }) {
    const { login, filterNo, merchantId } = before.filter
    if (before.isRemoved && after.isRemoved) throw new Refused({ what: 'removed', login, filterNo })
    const removedAt = after.isRemoved ? timestamp(clock.now()) : null
    if (after.isRemoved !== before.isRemoved) await runner.run(removeRule, [merchantId, filterNo, removedAt])
    await runner.run(removeValues, [merchantId, filterNo, [...without(before.listed, after.listed)]])
    await insertEntries(runner, before.filter, without(after.listed, before.listed), clock.now())
  },
  // Never with the values, which may be of a person.
  details: ({ before: { listed }, after }) => ({
    added: without(after.listed, listed).size,
    removed: without(listed, after.listed).size,
  }),
}

/** A filter as it is now, with the values of its list that a change put there or took off. */
export async function filterOfChange(runner: Runner, { login, entityId, after }: SettingChange): Promise<FilterVersion> {
  const filter = await filterNumbered(runner, login!, Number(entityId))
  return versionOf(filter, await listedOf(runner, filter, valuesIn(after)))
}

const without = (some: ReadonlySet<string>, others: ReadonlySet<string>) =>
  new Set([...some].filter((value) => !others.has(value)))

const listedOf = async (runner: Runner, { merchantId, filterNo }: FilterEntry, of: ReadonlySet<string>): Promise<Set<string>> =>
  new Set((await runner.run(onList, [merchantId, filterNo, [...of]])).map(({ value }) => value))

interface NewFilter extends Omit<FilterRule, 'filterNo' | 'name'> {
  login: string
  /** A description of the filter, unless a name is given. */
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
    return { ...made(filterKept, versionOf(filter, listed), details), result: { ...filter, entries: listed.size } }
  })
}

/** Returns how many were added to the list, and how many were removed. */
export async function changeEntries(
  desk: Desk,
  { login, number: filterNo, what }: { login: string; number: number; what: 'add' | 'remove' },
  given: ReadonlySet<string>,
) {
  const find = async (runner: Runner) => {
    const filter = await filterNumbered(runner, login, filterNo)
    if (!('of' in filter.facts)) throw new Refused({ what: 'no list', login, filterNo, does: ruleText(filter) })
    return versionOf(filter, what === 'remove' ? await listedOf(runner, filter, given) : none)
  }
  const versions = await changeEntity(desk, filterKept, find, async (runner, before) => {
    const there = what === 'add' ? await listedOf(runner, before.filter, given) : given
    return { after: { ...before, listed: without(given, there) } }
  })
  const [removed, added] = [versions.before.listed.size, versions.after.listed.size]
  const { filter } = versions.after
  return { filter: { ...filter, entries: filter.entries - removed + added }, added, removed }
}

async function insertEntries(runner: Runner, filter: FilterEntry, entries: ReadonlySet<string>, now: number): Promise<void> {
  if (entries.size === 0) return
  if (filter.entries + entries.size > mostEntries) throw new Refused({ what: 'list full', most: mostEntries })
  await runner.run(addValues, [filter.merchantId, filter.filterNo, [...entries], timestamp(now)])
}

/** It judges no further orders; its earlier decisions remain visible. */
export async function removeFilter(desk: Desk, login: string, filterNo: number): Promise<FilterEntry> {
  const find = async (runner: Runner) => versionOf(await filterNumbered(runner, login, filterNo))
  const { after } = await changeEntity(desk, filterKept, find, async (_, before) => ({ after: { ...before, isRemoved: true } }))
  return after.filter
}

export function refuseRemoved({ removedAt, login, filterNo }: FilterEntry): void {
  if (removedAt !== undefined) throw new Refused({ what: 'removed', login, filterNo })
}
