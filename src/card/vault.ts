import { hmacSha256 } from '../base/digest.ts'
import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { Secret, secret } from '../base/secret.ts'
import { keyedHashes } from '../keys/digest.ts'
import type { SealedTable } from '../keys/reseal.ts'
import type { KeyRing } from '../keys/ring.ts'

/** A card with everything that an order needs to authorise; only in memory. */
export interface Card {
  pan: Secret<string>
  /**
   * `lost`: there was one, and its hourly key is gone. Such a payment must not be authorised: the
   * cardholder gave a CVV2, and the merchant relies on the issuer having checked it.
   */
  cvv2?: Secret<string> | 'lost'
  /** The card that a transfer credits. */
  destination?: Secret<string>
}

/** A card as it is stored: see `order_facts`, and docs/choices.md, "Card data". */
export interface SealedCard {
  panSealed: Buffer
  panKey: bigint
  cvv2Sealed?: Buffer
  cvv2Key?: bigint
  /** Sealed with the key for card numbers. */
  destinationSealed?: Buffer
}

/**
 * The order that sealed values belong to; sealed for one order, they cannot be opened for another.
 */
export interface SealedFor {
  merchantId: bigint
  orderId: bigint
}

/** Seals the card number for one order, and the number of the card that it credits. */
export function sealCard(card: Card, orderKey: SealedFor, keys: KeyRing, random: Random): SealedCard {
  const panKey = keys.current('pan')
  return {
    panSealed: seal(panKey.key, Buffer.from(card.pan.reveal()), panContext(orderKey), random),
    panKey: panKey.version,
    ...(card.destination
      ? { destinationSealed: seal(panKey.key, Buffer.from(card.destination.reveal()), destinationContext(orderKey), random) }
      : {}),
  }
}

/** Adds the CVV2, sealed with the key of the hour; stored only while an authorisation is owed. */
export function withCvv2(sealed: SealedCard, card: Card, orderKey: SealedFor, keys: KeyRing, random: Random): SealedCard {
  if (!card.cvv2) return sealed
  const { bytes, keyVersion } = sealCvv2(card.cvv2, cvv2Context(orderKey), keys, random)
  return { ...sealed, cvv2Sealed: bytes, cvv2Key: keyVersion }
}

/** No key has it. */
const lostVersion = 0n

/** A CVV2 that is lost already stays lost. */
export function sealCvv2(
  cvv2: NonNullable<Card['cvv2']>,
  context: string,
  keys: KeyRing,
  random: Random,
): { bytes: Buffer; keyVersion: bigint } {
  if (cvv2 === 'lost') return { bytes: Buffer.alloc(0), keyVersion: lostVersion }
  const { key, version } = keys.current('cvv2')
  return { bytes: seal(key, Buffer.from(cvv2.reveal()), context, random), keyVersion: version }
}

export function openCvv2(sealed: Buffer, keyVersion: bigint, context: string, keys: KeyRing): NonNullable<Card['cvv2']> {
  const key = keys.version('cvv2', keyVersion)
  return key ? secret(unseal(key, sealed, context).toString()) : 'lost'
}

/** Opens sealed values. A number that cannot be opened is a defect and throws. */
export function openCard(sealed: SealedCard, orderKey: SealedFor, keys: KeyRing): Card {
  const panKey = keys.version('pan', sealed.panKey)
  if (!panKey) throw new Error(`the vault has no key ${sealed.panKey} for the card of order ${orderKey.orderId}`)
  const card: Card = {
    pan: secret(unseal(panKey, sealed.panSealed, panContext(orderKey)).toString()),
    ...(sealed.destinationSealed
      ? { destination: secret(unseal(panKey, sealed.destinationSealed, destinationContext(orderKey)).toString()) }
      : {}),
  }
  if (!sealed.cvv2Sealed || sealed.cvv2Key === undefined) return card
  return { ...card, cvv2: openCvv2(sealed.cvv2Sealed, sealed.cvv2Key, cvv2Context(orderKey), keys) }
}

/** The card of an order is needed, and its number is no longer kept. */
export class CardForgotten extends Error {
  constructor({ orderId }: SealedFor) {
    super(`the card of order ${orderId} is no longer kept`)
  }
}

/**
 * Stands for the card of an ended order whose number was erased. Captures, returns and reversals
 * name the payment and need no number; whatever does need it gets a `CardForgotten`.
 */
export const forgottenCard = (orderKey: SealedFor): Card => ({ pan: new ForgottenNumber(orderKey) })

class ForgottenNumber extends Secret<string> {
  readonly #place: SealedFor

  constructor(orderKey: SealedFor) {
    super('')
    this.#place = orderKey
  }

  override reveal(): never {
    throw new CardForgotten(this.#place)
  }
}

/**
 * 32 bytes, equal for equal numbers of one merchant, forever; useless without the key. That key is
 * never replaced. *Rejected:* a table of all numbers under a key that is: every sale would read it.
 */
export const numberIdOf = (pan: Secret<string>, merchantId: bigint, keys: KeyRing): Buffer =>
  hmacSha256(keys.current('card-id').key, `${merchantId}:${pan.reveal()}`)

/** `card-hash-id`: 128 bits of a hash of the number's id, which it does not reveal. */
export const hashIdOf = (numberId: Buffer, keys: KeyRing): string =>
  hmacSha256(keys.current('card-id').key, Buffer.concat([Buffer.from('card-hash-id:'), numberId]))
    .subarray(0, 16)
    .toString('hex')

/** `card-hash-id` of a number that belongs to no order yet. */
export const hashIdOfNumber = (pan: Secret<string>, merchantId: bigint, keys: KeyRing): string =>
  hashIdOf(numberIdOf(pan, merchantId, keys), keys)

/** In hexadecimal; those of `keyedHashes`. */
export type CommonHashes = readonly [string, ...string[]]

/** Hashes of a number, the same at all merchants, and never shown to any of them. */
export function commonHashesOf(pan: Secret<string>, keys: KeyRing): CommonHashes {
  const [current, ...older] = keyedHashes(keys, 'fingerprint', `all merchants:${pan.reveal()}`)
  return [current.toString('hex'), ...older.map((hash) => hash.toString('hex'))]
}

/** Where the cards of orders are stored. */
export const sealedCards: SealedTable = {
  table: 'order_facts',
  purpose: 'pan',
  id: { merchant_id: 'bigint', order_id: 'bigint' },
  version: 'pan_key',
  sealed: {
    pan_sealed: (merchantId: bigint, orderId: bigint) => panContext({ merchantId, orderId }),
    destination_sealed: (merchantId: bigint, orderId: bigint) => destinationContext({ merchantId, orderId }),
  },
}

const destinationContext = (orderKey: SealedFor) => `destination:${orderKey.merchantId}:${orderKey.orderId}`
const panContext = (orderKey: SealedFor) => `pan:${orderKey.merchantId}:${orderKey.orderId}`
const cvv2Context = (orderKey: SealedFor) => `cvv2:${orderKey.merchantId}:${orderKey.orderId}`
const proofContext = (orderKey: SealedFor) => `proof:${orderKey.merchantId}:${orderKey.orderId}`

/**
 * Seals the proof of an authentication for the acquirer with the key of the hour: text to store
 * with the order until its authorisation has an outcome.
 */
export function sealProof(proof: Secret<string>, orderKey: SealedFor, keys: KeyRing, random: Random): string {
  const { version, key } = keys.current('cvv2')
  return `${version}.${seal(key, Buffer.from(proof.reveal()), proofContext(orderKey), random).toString('base64')}`
}

/** Undefined if its hourly key is gone: then nothing can be proved any more. */
export function openProof(sealed: string, orderKey: SealedFor, keys: KeyRing): Secret<string> | undefined {
  const [version = '', text = ''] = sealed.split('.')
  const key = keys.version('cvv2', BigInt(version))
  return key && secret(unseal(key, Buffer.from(text, 'base64'), proofContext(orderKey)).toString())
}
