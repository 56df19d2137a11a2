/** Signs and sends a request from the sandbox's reference, as its merchant. */
import type { KeyObject } from 'node:crypto'
import type { Secret } from '../../base/secret.ts'
import { signOauth } from '../../merchant/oauth-sign.ts'
import { signingOf, type SigningComplaint, type Signing } from '../../reference/signing.ts'
import type { Pairs } from '../../spec/field.ts'
import { readForm, writeForm } from '../../spec/form.ts'
import { operationNames, operationRow, type Operation } from '../../spec/gateway/operations.ts'
import type { Posted, Understood } from './trial.ts'

/** The thing that an operation refers to, which must exist first. */
export type Need = 'payment' | 'preauth' | 'card reference' | 'method' | 'challenge' | 'payer'

export const needOf: Partial<Record<Operation, Need>> = {
  'make-rebill-sale': 'card reference',
  'make-rebill-preauth': 'card reference',
  'make-rebill': 'card reference',
  'get-card-info': 'card reference',
  capture: 'preauth',
  return: 'payment',
  void: 'payment',
  'create-card-ref': 'payment',
  'create-card-ref-v4': 'payment',
  status: 'payment',
  'status-v4': 'payment',
  'upload-method-url-result': 'method',
  'upload-cres-result': 'challenge',
  'upload-pares-result': 'payer',
}

/** The account that tries: the merchant of the sandbox. */
export interface Account {
  login: string
  controlKey: Secret<string>
  oauthKey: KeyObject
  /** Including its path, on loopback. */
  baseUrl: string
}

const jsonType = 'application/vnd.pay+json'

export type Signature =
  | ({ is: 'control' } & Signing)
  | { is: 'OAuth'; baseString: string; authorization: string }
  | SigningComplaint

export interface TriedRequest {
  operation: Operation
  /** Such as `101` or `group/104`. */
  path: string
  pairs: Pairs
}

const urlOf = ({ operation, path }: Omit<TriedRequest, 'pairs'>, account: Account) =>
  `${account.baseUrl}${operationRow(operation).path}/${path}`

export function signatureOf(attempt: TriedRequest, account: Account, nonce: string, now: number): Signature {
  const { operation, path, pairs } = attempt
  if (operationRow(operation).signed !== 'OAuth') {
    const signing = signingOf(operation, { id: path.replace('group/', ''), pairs }, account.controlKey)
    return 'complaint' in signing ? signing : { is: 'control', ...signing }
  }
  const timestampSeconds = Math.floor(now / 1_000)
  const toSign = { url: urlOf(attempt, account), login: account.login, nonce, timestampSeconds, bodyPairs: pairs }
  return { is: 'OAuth', ...signOauth(toSign, account.oauthKey) }
}

/** An incomplete request is unsigned: the gateway's refusal names what is missing. */
export function requestOf(attempt: TriedRequest, account: Account, signature: Signature, json: boolean) {
  const isOauth = !('complaint' in signature) && signature.is === 'OAuth'
  const control: Pairs = 'complaint' in signature || signature.is === 'OAuth' ? [] : [['control', signature.control]]
  const pairs = [...attempt.pairs, ...control]
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(json && { accept: jsonType }),
    ...(isOauth && { authorization: signature.authorization }),
  }
  return { url: urlOf(attempt, account), headers, body: writeForm(pairs), pairs }
}

/** Decoded; empty if it is not a reply. */
export function replyOf({ type, body }: Pick<Posted, 'type' | 'body'>): Pairs {
  if (type.startsWith(jsonType)) return Object.entries(JSON.parse(body) as Record<string, string>)
  return body.startsWith('<') ? [] : (readForm(Buffer.from(body)) ?? [])
}

/** The possible next operations after a reply, with the ids in it. */
export function nextOf({ operation, path }: TriedRequest, reply: Pairs): Understood['next'] {
  const fields = new Map(reply)
  const [order, name, card] = [fields.get('gateway-order-id'), fields.get('merchant-order-id'), fields.get('card-ref-id')]
  const endpoint = fields.get('end-point-id') ?? path
  const to = (wanted: Operation, values: Record<string, string>) =>
    [wanted, `/docs/reference/${wanted}?${new URLSearchParams({ _path: endpoint, ...values }).toString()}`] as const
  if (card !== undefined)
    return operationNames.filter((one) => needOf[one] === 'card reference').map((one) => to(one, { cardrefid: card }))
  if (order === undefined || name === undefined) return []
  const ids = { client_orderid: name, orderid: order }
  const more = operation === 'preauth' ? (['capture'] as const) : []
  return ([...more, 'status', 'return', 'void', 'create-card-ref'] as const)
    .filter((one) => one !== operation)
    .map((one) => to(one, ids))
}
