// Whether an advisory in the format of OSV (https://ossf.github.io/osv-schema/) affects a version
// of a package of npm.
import { compare, parse, type SemVer } from 'semver'

export interface Advisory {
  id: string
  modified: string
  withdrawn?: string
  summary?: string
  severity?: { type: string; score: string }[]
  affected?: Affected[]
  database_specific?: { severity?: unknown }
}

export interface Affected {
  package?: { ecosystem: string; name: string }
  versions?: string[]
  ranges?: Range[]
}

/** Each event has one of the four. */
export interface Range {
  type: string
  events: { introduced?: string; fixed?: string; last_affected?: string; limit?: string }[]
}

export type Verdict = { is: 'not affected' } | { is: 'affected'; fixedIn: string[] } | { is: 'unclear' }

/** A record needs these to be judged, whatever else is in it. */
export function isAdvisory(value: unknown): value is Advisory {
  const record = value as Partial<Advisory> | null
  if (typeof record !== 'object' || record === null) return false
  return typeof record.id === 'string' && typeof record.modified === 'string' && !Number.isNaN(Date.parse(record.modified))
}

/** The names of npm that it is about. A withdrawn advisory is about none. */
export function packagesOfAdvisory(advisory: Advisory): string[] {
  if (advisory.withdrawn !== undefined) return []
  return (advisory.affected ?? []).flatMap((one) => (one.package?.ecosystem === 'npm' ? [one.package.name] : []))
}

/** Affected if any of its parts says so, and unclear if a part of it cannot be read. */
export function judge(advisory: Advisory, name: string, version: string): Verdict {
  if (advisory.withdrawn !== undefined) return { is: 'not affected' }
  const about = (advisory.affected ?? []).filter((one) => one.package?.ecosystem === 'npm' && one.package.name === name)
  const verdicts = about.map((one) => judgePart(one, version))
  return (
    verdicts.find(({ is }) => is === 'affected') ?? verdicts.find(({ is }) => is === 'unclear') ?? { is: 'not affected' as const }
  )
}

function judgePart({ versions = [], ranges = [] }: Affected, version: string): Verdict {
  // Ranges of commits say nothing of versions.
  const ofVersions = ranges.filter(({ type }) => type === 'SEMVER' || type === 'ECOSYSTEM')
  const own = parse(version)
  if (own === null || (versions.length === 0 && ofVersions.length === 0)) return { is: 'unclear' }
  const judged = new Set(ofVersions.map((range) => judgeRange(range, own)))
  if (versions.includes(version) || judged.has(true)) return { is: 'affected', fixedIn: fixesAfter(ofVersions, own) }
  return judged.has(undefined) ? { is: 'unclear' } : { is: 'not affected' }
}

/** As the specification of OSV evaluates it. Undefined if an event names no version. */
function judgeRange({ events }: Range, own: SemVer): boolean | undefined {
  const limits = events.flatMap(({ limit }) => (limit === undefined || limit === '*' ? [] : [parse(limit)]))
  const changes = events.flatMap((event) => {
    const [kind, text] = Object.entries(event)[0] ?? ['', '']
    return kind === 'limit' ? [] : [{ kind, version: parse(kind === 'introduced' && text === '0' ? '0.0.0-0' : text) }]
  })
  const sorted: { kind: string; version: SemVer }[] = []
  for (const { kind, version } of changes) {
    if (version === null || !['introduced', 'fixed', 'last_affected'].includes(kind)) return undefined
    sorted.push({ kind, version })
  }
  if (sorted.length === 0 || limits.includes(null)) return undefined
  if (limits.length > 0 && limits.every((limit) => compare(own, limit!) >= 0)) return false
  sorted.sort((a, b) => compare(a.version, b.version))
  let affected = false
  for (const { kind, version } of sorted) {
    const order = compare(own, version)
    if (kind === 'introduced' && order >= 0) affected = true
    if ((kind === 'fixed' && order >= 0) || (kind === 'last_affected' && order > 0)) affected = false
  }
  return affected
}

function fixesAfter(ranges: readonly Range[], own: SemVer): string[] {
  const fixes = ranges.flatMap(({ events }) => events.flatMap(({ fixed }) => parse(fixed ?? '') ?? []))
  return fixes
    .filter((fix) => compare(fix, own) > 0)
    .sort((a, b) => compare(a, b))
    .map(String)
}

/** In the words of whoever published it: a level, or the vector of CVSS. */
export function severityOf({ severity, database_specific: specific }: Advisory): string {
  if (typeof specific?.severity === 'string') return specific.severity.toLowerCase()
  return severity?.[0]?.score ?? ''
}
