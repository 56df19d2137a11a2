import type { Table } from '../spec/field.ts'
import { keyedDigest, type KeyedDigest } from '../keys/digest.ts'
import type { KeyRing } from '../keys/ring.ts'

export interface Digesting {
  keys: KeyRing
}

/**
 * Equal for the same request: covers all its fields except control and cvv2, and the card by its
 * id. Keyed, because it covers personal data with few possible values. The operation is
 * left out if the fields already determine it.
 */
export function requestDigest(
  { keys }: Digesting,
  table: Table,
  values: Readonly<Record<string, unknown>>,
  operation: string | undefined,
  numberId?: Buffer,
): KeyedDigest {
  const fields: [string, unknown][] = operation === undefined ? [] : [['operation', operation]]
  for (const name of Object.keys(table)) {
    const value = values[name]
    if (value === undefined || name === 'control' || name === 'cvv2' || name === 'credit_card_number') continue
    fields.push([name, spelled(value)])
  }
  const card = numberId === undefined ? [] : [numberId.toString('hex')]
  return keyedDigest(keys, JSON.stringify([fields, ...card]))
}

/** Amounts as sent, currencies by their code. */
function spelled(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return value.map(spelled)
  if (typeof value !== 'object' || value === null) return value
  if ('text' in value) return value.text
  return 'code' in value ? value.code : value
}
