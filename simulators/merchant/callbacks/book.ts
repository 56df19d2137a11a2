import type { Clock } from '../../../src/base/clock.ts'
import { sameText, sha1Hex } from '../../../src/base/digest.ts'
import type { Secret } from '../../../src/base/secret.ts'
import { judgeSignatures, type SignatureHeaders, type Signatures, type VerifyingKeys } from './signature.ts'

/**
 * One message of the gateway, as it came. `fields` holds what was sent, in order; of a name sent
 * twice the last value counts.
 */
export interface Callback {
  /** Rises by one with each callback since the server started, from 1. */
  number: number
  /** Milliseconds since 1970. */
  receivedAt: number
  method: 'GET' | 'POST'
  /** Whether `control` was made with the merchant's control key. */
  valid: boolean
  headers: SignatureHeaders
  /** Whether the headers sign what was sent. */
  signatures: Signatures
  fields: ReadonlyMap<string, string>
}

/** A message as it arrives. */
export interface Message {
  method: Callback['method']
  /** All pairs: those of the URL, and after them those of a body. */
  form: string
  /** The signed part: the raw query of a GET, the raw body of a POST. */
  payload: string
  headers: SignatureHeaders
}

/** The keys with which a merchant checks callbacks. */
export interface CallbackKeys extends VerifyingKeys {
  controlKey: Secret<string>
}

export interface CallbackFilter {
  clientOrderid?: string
  orderid?: string
}

/** A failed check of a callback. */
type Wrong = 'control' | 'signature'

/** A callback as it is kept: what it brought is read when somebody looks at it. */
interface Kept extends Omit<Callback, 'fields'> {
  form: string
  clientOrderid: string
  orderid: string
}

/**
 * A merchant data field alone may be sent in 786,432 characters, so a thousand callbacks are
 * bounded by their size too.
 */
const keptCallbacks = 1_000
const keptCharacters = 32 * 1024 * 1024

/**
 * The parts that `control` signs, in order, without the key. An absent field counts as empty text,
 * so a callback with only a control can be valid, but it reports nothing.
 */
export const signedParts = (fields: ReadonlyMap<string, string>): [status: string, orderid: string, clientOrderid: string] => [
  fields.get('status') ?? '',
  fields.get('orderid') ?? '',
  fields.get('client_orderid') ?? '',
]

/**
 * The newest callbacks, in memory only: the gateway's own records still have what a restart
 * forgets.
 */
export class CallbackBook {
  readonly #kept: Kept[] = []
  #characters = 0
  #received = 0
  #wrong = 0
  readonly #keys: CallbackKeys
  readonly #clock: Clock

  constructor(keys: CallbackKeys, clock: Clock) {
    this.#keys = keys
    this.#clock = clock
  }

  /** Counts since the server started, including forgotten callbacks. */
  get counts(): { received: number; wrong: number } {
    return { received: this.#received, wrong: this.#wrong }
  }

  /**
   * Keeps a message, even with a wrong control or signature: it helps to find the error. Returns
   * why it is not believed; undefined if it is.
   */
  receive({ method, form, payload, headers }: Message): { wrong: Wrong | undefined; clientOrderid: string } {
    const receivedAt = this.#clock.now()
    const pairs = new URLSearchParams(form)
    const status = lastOf(pairs, 'status')
    const orderid = lastOf(pairs, 'orderid')
    const clientOrderid = lastOf(pairs, 'client_orderid')
    const valid = this.#controlHolds([status, orderid, clientOrderid], lastOf(pairs, 'control'))
    const signatures = judgeSignatures(headers, payload, this.#keys, receivedAt)
    const wrong = valid ? (isBelieved(signatures) ? undefined : 'signature') : 'control'
    if (wrong) this.#wrong++
    this.#keep({ number: ++this.#received, receivedAt, method, valid, headers, signatures, form, clientOrderid, orderid })
    return { wrong, clientOrderid }
  }

  /** Newest first. */
  list(filter: CallbackFilter): Callback[] {
    const fits = ({ clientOrderid, orderid }: Kept) =>
      (filter.clientOrderid === undefined || clientOrderid === filter.clientOrderid) &&
      (filter.orderid === undefined || orderid === filter.orderid)
    return this.#kept
      .filter(fits)
      .toReversed()
      .map(({ form, clientOrderid: _name, orderid: _id, ...callback }) => {
        return { ...callback, fields: new Map(new URLSearchParams(form)) }
      })
  }

  /**
   * `control` is the SHA-1 of the signed parts and the control key, in hex; its case does not
   * matter. An absent control is a wrong one.
   */
  #controlHolds(parts: ReturnType<typeof signedParts>, control: string): boolean {
    return sameText(sha1Hex(parts.join('') + this.#keys.controlKey.reveal()), control.toLowerCase())
  }

  #keep(callback: Kept): void {
    this.#kept.push(callback)
    this.#characters += callback.form.length
    while (this.#kept.length > keptCallbacks || this.#characters > keptCharacters)
      this.#characters -= this.#kept.shift()!.form.length
  }
}

export const isBelieved = ({ verdict }: Signatures): boolean => verdict === 'valid' || verdict === 'not checked'

/** The last value of this name; empty without one. */
function lastOf(pairs: URLSearchParams, name: string): string {
  const values = pairs.getAll(name)
  return values[values.length - 1] ?? ''
}
