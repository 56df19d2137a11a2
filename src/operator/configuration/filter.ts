/** The display of filters, and of filters that fired. */
import type { Fired } from '../../risk/screening.ts'
import type { Fact } from '../../entity/facts.ts'
import { ruleText } from './filter-settings.ts'
import { isoTime } from '../../base/moments.ts'
import type { FilterEntry } from './filter-rows.ts'
import { jsonOf, pick } from '../../entity/json.ts'

export const filterFacts = (f: FilterEntry): Fact[] => [
  ['Filter', `${f.filterNo} of ${f.login}${f.removedAt === undefined ? '' : ', removed'}`],
  ['Name', f.name],
  ['What', ruleText(f, f.entries)],
  ['Endpoint', f.endpointId === undefined ? 'all of the merchant' : String(f.endpointId)],
  ['Score', String(f.score)],
  ['Code', f.code],
  ['Added', isoTime(f.createdAt) ?? undefined],
]

export const filterJson = (f: FilterEntry) =>
  jsonOf({
    ...pick(f, 'endpointId', 'name', 'score', 'code', 'createdAt', 'removedAt'),
    merchant: f.login,
    filter: f.filterNo,
    rule: f.facts,
    listed: f.entries,
  })

export const firedJson = (f: Fired) => ({ filter: f.filterNo, name: f.name, code: f.code, score: f.score, found: f.found })
