/** The display of filters, and of filters that fired. */
import type { Fired } from '../../risk/screening.ts'
import type { Fact } from '../../entity/facts.ts'
import { ruleText } from './filter-settings.ts'
import { isoTime } from '../../base/moments.ts'
import type { FilterEntry } from './filter-rows.ts'

export const filterFacts = (f: FilterEntry): Fact[] => [
  ['Filter', `${f.filterNo} of ${f.login}${f.removedAt === undefined ? '' : ', removed'}`],
  ['Name', f.name],
  ['What', ruleText(f, f.entries)],
  ['Endpoint', f.endpointId === undefined ? 'all of the merchant' : String(f.endpointId)],
  ['Score', String(f.score)],
  ['Code', f.code],
  ['Added', isoTime(f.createdAt) ?? undefined],
]

export const filterJson = (f: FilterEntry) => ({
  merchant: f.login,
  filter: f.filterNo,
  endpoint_id: f.endpointId ?? null,
  name: f.name,
  score: f.score,
  code: f.code,
  rule: f.facts,
  listed: f.entries,
  created_at: isoTime(f.createdAt),
  removed_at: isoTime(f.removedAt),
})

export const firedJson = (f: Fired) => ({ filter: f.filterNo, name: f.name, code: f.code, score: f.score, found: f.found })
