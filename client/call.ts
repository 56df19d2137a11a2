import { createPrivateKey, randomUUID, type KeyObject } from 'node:crypto'
import type { ControlMinorUnits } from './amount.ts'
import { writePairs, type Pairs } from './form.ts'
import { signatureHeaders } from './message-signature.ts'
import { authorizationOf } from './oauth.ts'
import { controlOf, rowOf, signedParts, type Operation } from './operations.ts'
import { post, type Posted } from './post.ts'
import { readReply, type Asked, type Denied, type Reading, type Reply } from './replies.ts'

/** The last part of every path: an endpoint, or a group of endpoints with different currencies. */
type Entry = { endpoint: number | string; group?: never } | { group: number | string; endpoint?: never }

export type Settings = Entry & {
  /** Up to and without `/api`, such as `https://pay.example/gateway`. */
  baseUrl: string
  login: string
  controlKey: string
  /**
   * `whsec_` and base64: requests with a checksum are signed with it as a whole too; callbacks and
   * returns of customers must be.
   */
  signingSecret?: string
  /** `whpk_` and base64: verifies callbacks in place of the secret. */
  callbackPublicKey?: string
  /**
   * In place of the secret for requests: the Ed25519 key whose public half the gateway has, in PEM.
   */
  signingKey?: string | KeyObject
  /** For version v4: the RSA key whose public half the gateway has, in PEM. */
  oauthKey?: string | KeyObject
  /** How the endpoint wants amounts in checksums; `iso4217` without it. */
  controlMinorUnits?: ControlMinorUnits
  /** How long one answer may take. */
  timeoutMs?: number
}

export interface CallOptions {
  signal?: AbortSignal
  /**
   * Names this one request for 24 hours: sent again under it, it moves nothing and is answered with
   * what the first one came to. Any other request that moves money is refused under it with code
   * 11. 1 to 128 visible ASCII characters, else a `RangeError`.
   */
  idempotencyKey?: string
}

export type Call<Request, Answer> = (request: Request, options?: CallOptions) => Promise<Answer>

const usualTimeoutMs = 30_000

export interface Caller {
  /** An operation that is signed with a checksum. */
  call<Request extends object, Good>(operation: Operation, good: Reading<Good>): Call<Request, Reply<Good>>
  /** One of version v4. */
  signedCall<Request extends object, Good>(operation: Operation, good: Reading<Good>): Call<Request, Reply<Good> | Denied>
}

/** Signs and sends the requests of one merchant to one endpoint or group. */
export function openCaller(settings: Settings): Caller {
  const { login, controlKey, signingSecret, controlMinorUnits: minorUnits = 'iso4217', timeoutMs = usualTimeoutMs } = settings
  const id = String(settings.endpoint ?? settings.group)
  const entry = settings.group === undefined ? id : `group/${id}`
  const baseUrl = settings.baseUrl.replace(/\/+$/, '')
  const key = privateKeyOf(settings.oauthKey)
  const requestKey = privateKeyOf(settings.signingKey) ?? signingSecret
  if (typeof requestKey === 'object' && requestKey.asymmetricKeyType !== 'ed25519')
    throw new TypeError('signingKey is not a key for Ed25519')

  const call =
    <Request extends object, Good>(operation: Operation, good: Reading<Good>): Call<Request, Reply<Good>> =>
    async (request, options) => {
      const sent = textsOf(request)
      const asked = askedOf(operation, sent)
      if (rowOf(operation).signs?.includes('login')) sent.set('login', login)
      sent.set('control', controlOf(signedParts(operation, sent, { id, login, minorUnits }), controlKey))
      const posted = await send(operation, wirePairs(operation, sent), { is: 'checksum' }, options)
      return posted.is === 'denied' ? { is: 'no answer', asked, why: 'HTTP 403' } : answerOf(posted, asked, good)
    }

  const signedCall =
    <Request extends object, Good>(operation: Operation, good: Reading<Good>): Call<Request, Reply<Good> | Denied> =>
    async (request, options) => {
      if (key === undefined) throw new TypeError(`${operation} needs an oauthKey`)
      const sent = textsOf(request)
      const body = wirePairs(operation, sent)
      const authorization = authorizationOf({ url: urlOf(operation), login, key, body, ...newMoment() })
      const posted = await send(operation, body, { is: 'OAuth', authorization }, options)
      return posted.is === 'denied' ? posted : answerOf(posted, askedOf(operation, sent), good)
    }

  const urlOf = (operation: Operation): string => `${baseUrl}/${rowOf(operation).path}/${entry}`

  const send = async (
    operation: Operation,
    body: Pairs,
    by: { is: 'checksum' } | { is: 'OAuth'; authorization: string },
    { idempotencyKey, signal }: CallOptions = {},
  ): Promise<Posted> => {
    if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,128}$/.test(idempotencyKey))
      throw new RangeError('an idempotencyKey has 1 to 128 visible ASCII characters')
    const url = urlOf(operation)
    const text = writePairs(body)
    const named: Record<string, string> = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    return post({
      url,
      body: text,
      headers: { ...named, ...(by.is === 'OAuth' ? { authorization: by.authorization } : signatureOf(url, text, named)) },
      timeoutMs,
      ...(signal ? { signal } : {}),
    })
  }

  const signatureOf = (url: string, body: string, headers: Readonly<Record<string, string>>): Record<string, string> =>
    requestKey === undefined
      ? {}
      : signatureHeaders({ method: 'POST', url, body, headers, login, key: requestKey, ...newMoment() })

  return { call, signedCall }
}

const privateKeyOf = (key: string | KeyObject | undefined) => (typeof key === 'string' ? createPrivateKey(key) : key)

const newMoment = () => ({ nonce: randomUUID(), timestampSeconds: Math.floor(Date.now() / 1000) })

function answerOf<Good>(posted: Exclude<Posted, Denied>, asked: Asked, good: Reading<Good>): Reply<Good> {
  const reply = posted.is === 'pairs' ? readReply(posted.pairs, asked, good) : posted.why
  return typeof reply === 'string' ? { is: 'no answer', asked, why: reply } : reply
}

/** Absent and empty values are not sent. */
const textsOf = (request: object): Map<string, string> =>
  new Map(
    Object.entries(request)
      .map(([name, value]): [string, string] => [name, String(value ?? '')])
      .filter(([, text]) => text !== ''),
  )

function askedOf(operation: Operation, sent: ReadonlyMap<string, string>): Asked {
  const [name, orderid] = [sent.get('client_orderid'), sent.get('orderid')]
  return { operation, ...(name === undefined ? {} : { client_orderid: name }), ...(orderid === undefined ? {} : { orderid }) }
}

/** The uploads spell the name of the order in a way of their own. */
const wirePairs = (operation: Operation, sent: ReadonlyMap<string, string>): Pairs =>
  [...sent].map(([name, value]) => [
    name === 'client_orderid' && operation.startsWith('upload-') ? 'client-order-id' : name,
    value,
  ])
