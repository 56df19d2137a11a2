/** The display of audit trail entries. */
import { isoTime } from '../../base/moments.ts'
import type { AuditEntry } from './rows.ts'

export const auditJson = (e: AuditEntry) => ({
  audit_id: e.auditId,
  at: isoTime(e.at),
  who: e.who,
  database_user: e.session ?? null,
  action: e.action,
  subject: e.subject,
  details: e.details,
})

/** For a change, only the fields that changed. */
export function auditDetails({ details }: AuditEntry): string {
  const { before, after } = details as { before?: Record<string, unknown>; after?: Record<string, unknown> }
  if (before === undefined || after === undefined) return pairs(details as Record<string, unknown>)
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => textOf(before[name]) !== textOf(after[name]))
    .map((name) => `${name}: ${textOf(before[name])} → ${textOf(after[name])}`)
    .join(', ')
}

const pairs = (details: Record<string, unknown>) =>
  Object.entries(details)
    .map(([name, value]) => `${name}: ${textOf(value)}`)
    .join(', ')

const textOf = (value: unknown): string =>
  value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
