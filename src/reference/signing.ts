/** How a request is signed: the parts with their values, and the resulting control. */
import type { Secret } from '../base/secret.ts'
import { controlOf, partsOf, signedMinor, type SignedSum } from '../merchant/control.ts'
import type { EndpointSettings } from '../merchant/fields/endpoint.ts'
import { pathId, waysFor } from '../spec/gateway/control.ts'
import { operationRow, type Operation } from '../spec/gateway/operations.ts'
import type { Table } from '../spec/field.ts'
import { readAmount, readCurrency } from '../spec/kinds.ts'

/** Printed in place of the key. */
export const hiddenKey = '‹control key›'

export interface Signing {
  parts: readonly { name: string; value: string }[]
  /** Without the key, which comes last. */
  text: string
  control: string
}

export interface SigningComplaint {
  complaint: string
}

export interface SigningRequest {
  /** The id in the path, as written there. */
  id: string | undefined
  pairs: readonly (readonly [name: string, value: string])[]
  units?: EndpointSettings['controlMinorUnits']
}

/** The usual way to sign an operation, with these values. */
export function signingOf(
  operation: Operation,
  { id, pairs, units }: SigningRequest,
  key: Secret<string>,
): Signing | SigningComplaint {
  const { request, signed } = operationRow(operation)
  if (signed === 'OAuth') return { complaint: `${operation} is signed with OAuth, and has no control.` }
  const take = takerOf(request, pairs)
  const [way] = waysFor(signed, take('amount') !== '')
  const { parts } = way!
  const needed = parts.find((part) => part in request && request[part]!.need === 'mandatory' && take(part) === '')
  if (needed !== undefined) return { complaint: `${needed} is missing: the control of ${operation} covers it.` }
  if (parts.includes(pathId) && !id)
    return { complaint: `endpoint is missing: the control of ${operation} begins with the id of its path.` }
  const sum = 'amount' in request && take('amount') !== '' ? sumOf(take, units) : undefined
  if (sum && 'complaint' in sum) return sum
  const values = partsOf(way!, id ?? '', sum, take)
  return {
    parts: parts.map((name, i) => ({ name, value: values[i]! })),
    text: values.join(''),
    control: controlOf(values, key),
  }
}

/** Values by the table's spelling, trimmed; empty ones are absent. */
function takerOf(table: Table, pairs: SigningRequest['pairs']): (name: string) => string {
  const given = new Map(pairs)
  return (name) => (given.get(name)?.trim() || given.get(table[name]?.alias ?? '')?.trim()) ?? ''
}

function sumOf(take: (name: string) => string, units: SigningRequest['units']): SignedSum | SigningComplaint {
  const code = take('currency')
  if (code === '') return { complaint: 'currency is missing: without it the minor units of the amount are unknown.' }
  const currency = readCurrency(code)
  if ('unfit' in currency) return { complaint: `currency is ${JSON.stringify(code)}: ${currency.unfit}.` }
  const text = take('amount')
  const read = text.length > 10 ? { unfit: 'it is longer than 10 characters' } : readAmount(text, currency)
  if ('unfit' in read) return { complaint: `amount is ${JSON.stringify(text)}: ${read.unfit}.` }
  return { minor: signedMinor(text, read.minor, units), currency: currency.code }
}
