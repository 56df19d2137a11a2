import { hmacSha256 } from '../base/digest.ts'
import type { Table } from '../spec/field.ts'
import type { KeyRing } from '../storage/store-keys.ts'

export interface Digesting {
  keys: KeyRing
}

/**
 * Equal for the same request: all its fields but control and cvv2, the card by its fingerprint.
 * Keyed, since it covers personal data of few possible values. Without an operation where the
 * fields tell it.
 */
export function requestDigest(
  { keys }: Digesting,
  table: Table,
  values: Readonly<Record<string, unknown>>,
  operation: string | undefined,
  fingerprint?: Buffer,
): Buffer {
  const fields: [string, unknown][] = operation === undefined ? [] : [['operation', operation]]
  for (const name of Object.keys(table)) {
    const value = values[name]
    if (value === undefined || name === 'control' || name === 'cvv2' || name === 'credit_card_number') continue
    fields.push([name, spelled(value)])
  }
  const card = fingerprint === undefined ? [] : [fingerprint.toString('hex')]
  return hmacSha256(keys.current('digest').key, JSON.stringify([fields, ...card]))
}

/** Amounts as they were sent, currencies by their code. */
function spelled(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return value.map(spelled)
  if (typeof value !== 'object' || value === null) return value
  if ('text' in value) return value.text
  return 'code' in value ? value.code : value
}
