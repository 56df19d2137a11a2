/** What an entry of the audit trail shows. */
import { isoTime } from './moments.ts'
import type { AuditEntry } from './store-audit.ts'

export const auditJson = (e: AuditEntry) => ({
  audit_id: e.auditId,
  at: isoTime(e.at),
  who: e.who,
  action: e.action,
  subject: e.subject,
  details: e.details,
})

/** Of a change only what changed. */
export function auditDetails({ details }: AuditEntry): string {
  const { before, after } = details as { before?: Record<string, unknown>; after?: Record<string, unknown> }
  if (before === undefined || after === undefined) return pairs(details as Record<string, unknown>)
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => said(before[name]) !== said(after[name]))
    .map((name) => `${name}: ${said(before[name])} → ${said(after[name])}`)
    .join(', ')
}

const pairs = (details: Record<string, unknown>) =>
  Object.entries(details)
    .map(([name, value]) => `${name}: ${said(value)}`)
    .join(', ')

const said = (value: unknown): string =>
  value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
