/** The audit trail, as operators read it. */
import { entities, type Pool } from '../../storage/pool.ts'
import type { Note } from '../change.ts'

export interface AuditEntry extends Required<Note> {
  action: string
  auditId: string
  at: number
  who: string
  /** The user of the database. */
  session: string
}

/**
 * Sorted by the key, which is in the order of time; `$1` and `$2` are the bounds of the page,
 * newest first.
 */
const page = entities<AuditEntry>(`
  select audit_id, at, who, session, action, subject, details from audit
  where audit_id < $1 and audit_id >= $2 and ($3::text is null or strpos(action || ' ' || subject, $3) > 0)
  order by audit_id desc limit $4`)

const dashed = (hex: string) => [0, 8, 12, 16, 20].map((from, i) => hex.slice(from, [8, 12, 16, 20, 32][i])).join('-')

/** The lowest id at a given time: 48 bits of milliseconds begin a UUID of version 7 (RFC 9562). */
const lowestId = (at: number) => dashed(at.toString(16).padStart(12, '0').padEnd(32, '0'))
const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export interface AuditQuery {
  /** Only entries whose action or subject contains this. */
  about?: string
  from?: number
  to?: number
  /** Continues after this entry, towards older ones. */
  after?: string
  limit: number
}

/** Newest first. */
export async function listAudit(pool: Pool, query: AuditQuery): Promise<AuditEntry[]> {
  const before = [query.after, query.to === undefined ? undefined : lowestId(query.to)].filter((id) => id !== undefined).sort()[0]
  return pool.run(page, [before ?? highestId, lowestId(query.from ?? 0), query.about ?? null, query.limit])
}
