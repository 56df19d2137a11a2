/** The history of what operators set: a row for each change of an entity. */
import { isDeepStrictEqual } from 'node:util'
import { entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import type { Changed, Desk, StoredFields } from '../desk.ts'

export interface SettingChange extends Changed {
  changeId: bigint
  login?: string
  action: string
  who: string
  at: number
}

/** The differences between all fields before and after. */
export function changedFields(before: object | undefined, after: object): Pick<Changed, 'before' | 'after'> {
  const [old, fresh] = [asStored(before ?? {}), asStored(after)]
  const names = Object.keys({ ...old, ...fresh }).filter((name) => !isSame(old[name], fresh[name]))
  const of = (fields: StoredFields) => Object.fromEntries(names.map((name) => [name, fields[name] ?? null]))
  return { before: before && of(old), after: of(fresh) }
}

/** The name of a value that a filter lists. */
export const listedName = (value: string): string => `listed ${value}`

export const asStored = (fields: object): StoredFields => JSON.parse(JSON.stringify(fields)) as StoredFields
/** Whether two stored values are the same. */
export const isSame = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a ?? null, b ?? null)

/** The end of the audit trail is held, so numbers follow one another. */
const add = statement<object>(`
  insert into setting_change
    (change_id, entity, entity_id, merchant_id, action, who, at, before, after, secrets, undoes)
  select coalesce(max(change_id), 0) + 1, $1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::timestamptz, $7::jsonb,
    $8::jsonb, $9::text[], $10::bigint from setting_change`)

/** Nothing is kept of a change that left all as it was. */
export async function keepChange(runner: Runner, { action, who, clock }: Desk, changed: Changed): Promise<void> {
  const { before, after, secrets, undoes } = changed
  if (before && Object.keys(after).length + secrets.length === 0) return
  const fields = [before && JSON.stringify(before), JSON.stringify(after), secrets, undoes]
  await runner.run(add, [...keyOf(changed), action, who, timestamp(clock.now()), ...fields])
}
export const keyOf = (of: Pick<Changed, 'entity' | 'entityId' | 'merchantId'>) => [of.entity, of.entityId, of.merchantId]

const found = (condition: string) =>
  entities<SettingChange>(`
  select c.change_id, c.entity, c.entity_id, c.merchant_id, m.login, c.action, c.who, c.at, c.before, c.after, c.secrets, c.undoes
  from setting_change c left join merchant m on m.merchant_id = c.merchant_id where c.entity = $1 and ${condition}`)
const ofEntity = 'c.entity_id = $2 and ($3::bigint is null or c.merchant_id = $3)'

export const changes = {
  /** The newest first; `$1` to `$3` are of `keyOf`. */
  page: found(`${ofEntity} and ($4::bigint is null or c.change_id < $4) order by c.change_id desc limit $5`),
  /** The last of the fields `$5` after the change `$4`. */
  newer: found(`${ofEntity} and c.change_id > $4 and c.after ?| $5::text[] order by c.change_id desc limit 1`),
  numbered: found('c.change_id = $2'),
}
