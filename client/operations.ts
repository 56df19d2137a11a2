import { createHash } from 'node:crypto'
import { minorUnits, type ControlMinorUnits } from './amount.ts'

interface OperationRow {
  path: string
  /** The fields in the checksum, in order; a signed `login` is sent. None: signed with OAuth. */
  signs?: readonly Part[]
  /** `order`: makes one, which a lost answer leaves in doubt. `transaction`: adds to an order. */
  begins?: 'order' | 'transaction'
}

/**
 * `id` is that of the endpoint or group in the path; `amount` is signed in minor units. All others
 * are signed as they are sent.
 */
type Part = 'id' | 'login' | 'client_orderid' | 'orderid' | 'cardrefid' | 'amount' | 'currency' | 'email'

const payment: readonly Part[] = ['id', 'client_orderid', 'amount', 'email']
const rebill: readonly Part[] = ['login', 'client_orderid', 'cardrefid', 'amount', 'currency']
const order: readonly Part[] = ['login', 'client_orderid', 'orderid']
const money: readonly Part[] = [...order, 'amount', 'currency']

/** Every operation: its path below the base URL, and what its checksum covers. */
// oxfmt-ignore
export const operations = {
  'sale':                     { path: 'api/v2/sale',                 signs: payment, begins: 'order' },
  'preauth':                  { path: 'api/v2/preauth',              signs: payment, begins: 'order' },
  'account-verification':     { path: 'api/v2/account-verification', signs: ['id', 'client_orderid', 'email'], begins: 'order' },
  'make-rebill-sale':         { path: 'api/v2/make-rebill-sale',     signs: rebill,  begins: 'order' },
  'make-rebill-preauth':      { path: 'api/v2/make-rebill-preauth',  signs: rebill,  begins: 'order' },
  'make-rebill':              { path: 'api/v2/make-rebill',          signs: rebill,  begins: 'order' },
  'capture':                  { path: 'api/v2/capture',              signs: money,   begins: 'transaction' },
  'return':                   { path: 'api/v2/return',               signs: money,   begins: 'transaction' },
  'void':                     { path: 'api/v2/void',                 signs: order,   begins: 'transaction' },
  'status':                   { path: 'api/v2/status',               signs: order },
  'status-v4':                { path: 'api/v4/status' },
  'create-card-ref':          { path: 'api/v2/create-card-ref',      signs: order },
  'create-card-ref-v4':       { path: 'api/v4/create-card-ref' },
  'get-card-info':            { path: 'api/v2/get-card-info',        signs: ['login', 'cardrefid'] },
  'upload-method-url-result': { path: 'api/3ds/v1/upload-method-url-result', signs: order },
  'upload-cres-result':       { path: 'api/3ds/v1/upload-cres-result',       signs: order },
  'upload-pares-result':      { path: 'api/3ds/v1/upload-pares-result',      signs: order },
} as const satisfies Record<string, OperationRow>

export type Operation = keyof typeof operations

export const rowOf = (operation: Operation): OperationRow => operations[operation]

export interface Signing {
  /** The id of the endpoint or group in the path. */
  id: string
  login: string
  minorUnits: ControlMinorUnits
}

/** The text in a request's checksum, without the key. A missing field counts as empty text. */
export function signedParts(operation: Operation, sent: ReadonlyMap<string, string>, signing: Signing): string[] {
  const { id, login } = signing
  const value = (name: string): string => sent.get(name) ?? ''
  const part = (name: Part): string => {
    if (name === 'id') return id
    if (name === 'login') return login
    if (name !== 'amount' || value('amount') === '') return value(name)
    return minorUnits(value('amount'), value('currency'), signing.minorUnits)
  }
  return (rowOf(operation).signs ?? []).map(part)
}

/**
 * Lower-case hexadecimal SHA-1 over the parts in order, nothing between them, the control key last.
 */
export const controlOf = (parts: readonly string[], controlKey: string): string =>
  createHash('sha1').update(parts.join('')).update(controlKey).digest('hex')
