/**
 * What the hash of a row of the audit trail covers. The encoding is fixed: another one makes every
 * trail look changed. Anybody can compute it: `linkHash` shows how.
 */
import { hash } from 'node:crypto'
import { auditTitle } from './audit-functions.ts'

/** The contents of a row. */
export interface AuditContents {
  no: bigint
  auditId: string
  /** Microseconds since 1970, the precision of the column, in decimals. */
  atMicros: string
  /** The user of the database. */
  session: string
  who: string
  action: string
  subject: string
  /** The text of the column. */
  details: string
}

/** The place before the first row. */
export const chainStart = { no: 0n, hash: '00'.repeat(32) }

/** Grows, and stays: a trail of a million rows is hashed without a buffer for each. */
let bytes = Buffer.allocUnsafe(4_096)

/**
 * SHA-256 over the hash before and the contents, both in hexadecimal. Each field has its length in
 * front, so that no text can move from one field to the next.
 */
export function linkHash(before: string, row: AuditContents): string {
  const { no, auditId, atMicros, session, who, action, subject, details } = row
  const fields = [auditTitle, String(no), auditId, atMicros, session, who, action, subject, details]
  const most = before.length / 2 + mostBytes(fields)
  if (most > bytes.length) bytes = Buffer.allocUnsafe(2 * most)
  const end = writeFields(bytes, bytes.write(before, 'hex'), fields)
  return hash('sha256', bytes.subarray(0, end), 'hex')
}

/** Each text in UTF-8 after its length in four bytes, big-endian. */
export function lengthPrefixed(fields: readonly string[]): Buffer {
  const own = Buffer.allocUnsafe(mostBytes(fields))
  return own.subarray(0, writeFields(own, 0, fields))
}

/** UTF-8 has at most three bytes for a UTF-16 code unit. */
const mostBytes = (fields: readonly string[]): number => fields.reduce((sum, field) => sum + 4 + 3 * field.length, 0)

/**
 * Writes all texts in one call, with room for their lengths: a call out of JavaScript for each
 * costs more.
 */
function writeFields(into: Buffer, start: number, fields: readonly string[]): number {
  const text = fields.reduce((before, field) => `${before}\0\0\0\0${field}`, '')
  const written = into.write(text, start)
  const isAscii = written === text.length
  let at = start
  for (const field of fields) {
    const length = isAscii ? field.length : Buffer.byteLength(field)
    at = into.writeUInt32BE(length, at) + length
  }
  return at
}
