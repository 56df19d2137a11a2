/**
 * What the hash of a row of the audit trail covers. The encoding is fixed: another one makes every
 * trail look changed. Anybody can compute it; docs/operating.md describes it.
 */
import { hash } from 'node:crypto'

/** The contents of a row. `details` is what JSON.parse makes of the column. */
export interface AuditContents {
  no: bigint
  auditId: string
  /** Microseconds since 1970, the precision of the column. */
  atMicros: bigint
  who: string
  action: string
  subject: string
  details: unknown
}

/** The place before the first row. */
export const chainStart = { no: 0n, hash: Buffer.alloc(32) }

/** Names the encoding. */
const title = 'tollgate audit 1'

/**
 * SHA-256 over the hash before and the contents. Each field has its length in front, so that no
 * text can move from one field to the next.
 */
export function linkHash(before: Buffer, { no, auditId, atMicros, who, action, subject, details }: AuditContents): Buffer {
  const fields = [title, String(no), auditId, String(atMicros), who, action, subject, canonicalJson(details)]
  return hash('sha256', Buffer.concat([before, lengthPrefixed(fields)]), 'buffer')
}

/** Each text in UTF-8 after its length in four bytes, big-endian. */
export function lengthPrefixed(fields: readonly string[]): Buffer {
  const lengths = fields.map((field) => Buffer.byteLength(field))
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, 0))
  let at = 0
  fields.forEach((field, i) => {
    at = bytes.writeUInt32BE(lengths[i]!, at)
    at += bytes.write(field, at)
  })
  return bytes
}

/**
 * JSON with the names of each object in order, by UTF-16 code units as in RFC 8785. PostgreSQL
 * stores them in an order of its own.
 */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const read = value as Record<string, unknown>
  const pairs = Object.keys(read)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(read[name])}`)
  return `{${pairs.join(',')}}`
}
