/** The display of audit trail entries. */
import { jsonOf } from '../../entity/json.ts'
import type { AuditEntry } from './rows.ts'

export const auditJson = ({ auditId, at, who, session: databaseUser, action, subject, details }: AuditEntry) =>
  jsonOf({ auditId, at, who, databaseUser, action, subject, details })

/** For a change, only the fields that changed. */
export function auditDetails({ details }: AuditEntry): string {
  const { before, after } = details as { before?: Record<string, unknown>; after?: Record<string, unknown> }
  if (before === undefined || after === undefined)
    return Object.entries(details)
      .map(([name, value]) => `${name}: ${textOf(value)}`)
      .join(', ')
  return Object.keys({ ...before, ...after })
    .filter((name) => textOf(before[name]) !== textOf(after[name]))
    .map((name) => `${name}: ${textOf(before[name])} → ${textOf(after[name])}`)
    .join(', ')
}

const textOf = (value: unknown): string =>
  value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
