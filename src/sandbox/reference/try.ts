/** Signs and sends a request from the sandbox's reference, as its merchant. */
import type { KeyObject } from 'node:crypto'
import type { Secret } from '../../base/secret.ts'
import { signOauth } from '../../merchant/oauth-sign.ts'
import { signingOf, type SigningComplaint, type Signing } from '../../reference/signing.ts'
import type { Pairs } from '../../spec/field.ts'
import { readForm, writeForm } from '../../spec/form.ts'
import { operationNames, operationRow, type Operation } from '../../spec/gateway/operations.ts'

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

export const jsonType = 'application/vnd.pay+json'

/** Posts to the loopback; provided by the caller. */
export type Post = (url: string, body: string, headers: Record<string, string>) => Promise<Posted>

export interface Posted {
  status: number
  type: string
  body: string
}

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

export const urlOf = ({ operation, path }: Omit<TriedRequest, 'pairs'>, account: Account) =>
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

export interface Sent extends Posted {
  url: string
  pairs: Pairs
  /** Decoded; empty if it is not a reply. */
  reply: Pairs
  /** Possible next operations, with their addresses. */
  next: readonly (readonly [operation: Operation, href: string])[]
}

/** An incomplete request is sent unsigned: the gateway's refusal names what is missing. */
export async function sendAttempt(
  attempt: TriedRequest,
  account: Account,
  signature: Signature,
  json: boolean,
  post: Post,
): Promise<Sent> {
  const isOauth = !('complaint' in signature) && signature.is === 'OAuth'
  const control: Pairs = 'complaint' in signature || signature.is === 'OAuth' ? [] : [['control', signature.control]]
  const pairs = [...attempt.pairs, ...control]
  const url = urlOf(attempt, account)
  const posted = await post(url, writeForm(pairs), {
    ...(isOauth ? { authorization: signature.authorization } : {}),
    ...(json ? { accept: jsonType } : {}),
  })
  const reply = replyOf(posted)
  return { ...posted, url, pairs, reply, next: nextOf(attempt, reply) }
}

function replyOf({ type, body }: Posted): Pairs {
  if (type.startsWith(jsonType)) return Object.entries(JSON.parse(body) as Record<string, string>)
  return body.startsWith('<') ? [] : (readForm(Buffer.from(body)) ?? [])
}

/** The possible next operations after a reply, with the ids in it. */
function nextOf({ operation, path }: TriedRequest, reply: Pairs): Sent['next'] {
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
