/** Versions of settings: a change names the one that it was made on, so that nothing is lost. */
import { hash } from 'node:crypto'
import { Refused } from './refused.ts'
import type { Desk } from './desk.ts'

/** A short text that is another once anything of the entity is. */
export const versionOf = (entity: object): string => hash('sha256', JSON.stringify(entity, inOrder), 'base64url').slice(0, 22)

/** Members by name; numbers of 64 bits as text. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Within the transaction of the change. A command names no version: it says what it changes. */
export function refuseStale({ madeOn }: Desk, before: object): void {
  if (madeOn !== undefined && madeOn !== versionOf(before)) throw new Refused({ what: 'stale' })
}
