import type { Clock } from '../../../src/base/clock.ts'
import { sameText, sha1Hex } from '../../../src/base/digest.ts'
import type { Secret } from '../../../src/base/secret.ts'

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
  fields: ReadonlyMap<string, string>
}

export interface CallbackFilter {
  clientOrderid?: string
  orderid?: string
}

/**
 * A merchant data field alone may have 65,536 characters, so a thousand callbacks are bounded by
 * their size too.
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
 * `control` is the SHA-1 of the signed parts and the control key, in hex; its case does not matter.
 * An absent control is a wrong one.
 */
function controlHolds(fields: ReadonlyMap<string, string>, controlKey: Secret<string>): boolean {
  const expected = sha1Hex(signedParts(fields).join('') + controlKey.reveal())
  return sameText(expected, (fields.get('control') ?? '').toLowerCase())
}

/**
 * The newest callbacks, in memory only: the gateway's own records still have what a restart
 * forgets.
 */
export class CallbackBook {
  readonly #kept: Callback[] = []
  #characters = 0
  #received = 0
  #wrong = 0
  readonly #controlKey: Secret<string>
  readonly #clock: Clock

  constructor(controlKey: Secret<string>, clock: Clock) {
    this.#controlKey = controlKey
    this.#clock = clock
  }

  /** Counts since the server started, including forgotten callbacks. */
  get counts(): { received: number; wrong: number } {
    return { received: this.#received, wrong: this.#wrong }
  }

  /** Keeps the message, even with a wrong control: it helps to find the error. */
  receive(method: Callback['method'], pairs: Iterable<[string, string]>): Callback {
    const fields = new Map(pairs)
    const valid = controlHolds(fields, this.#controlKey)
    const callback: Callback = { number: ++this.#received, receivedAt: this.#clock.now(), method, valid, fields }
    if (!valid) this.#wrong++
    this.#kept.push(callback)
    this.#characters += charactersOf(callback)
    while (this.#kept.length > keptCallbacks || this.#characters > keptCharacters)
      this.#characters -= charactersOf(this.#kept.shift()!)
    return callback
  }

  /** Newest first. */
  list(filter: CallbackFilter): Callback[] {
    const fits = ({ fields }: Callback) =>
      (filter.clientOrderid === undefined || fields.get('client_orderid') === filter.clientOrderid) &&
      (filter.orderid === undefined || fields.get('orderid') === filter.orderid)
    return this.#kept.filter(fits).toReversed()
  }
}

function charactersOf(callback: Callback): number {
  let characters = 0
  for (const [name, value] of callback.fields) characters += name.length + value.length
  return characters
}
