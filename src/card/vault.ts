import { hmacSha256 } from '../base/digest.ts'
import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { SealedTable } from '../storage/reseal.ts'
import type { KeyRing } from '../storage/store-keys.ts'

/** A card with everything that an order needs to authorise; only in memory. */
export interface Card {
  pan: Secret<string>
  cvv2?: Secret<string>
  /** The card that a transfer credits. */
  destination?: Secret<string>
}

/** A card as it is stored: see `order_facts`, and docs/choices.md, "Card data". */
export interface SealedCard {
  panSealed: Buffer
  panKey: bigint
  fingerprint: Buffer
  cvv2Sealed?: Buffer
  cvv2Key?: bigint
  /** Sealed with the key for card numbers. */
  destinationSealed?: Buffer
}

/**
 * The order that sealed values belong to; sealed for one order, they cannot be opened for another.
 */
export interface Place {
  merchantId: bigint
  orderId: bigint
}

/** Seals the card number for one order, and the number of the card that it credits. */
export function sealCard(card: Card, place: Place, keys: KeyRing, random: Random): SealedCard {
  const panKey = keys.current('pan')
  return {
    panSealed: seal(panKey.key, Buffer.from(card.pan.reveal()), panContext(place), random),
    panKey: panKey.version,
    fingerprint: fingerprintOf(card.pan, place.merchantId, keys),
    ...(card.destination
      ? { destinationSealed: seal(panKey.key, Buffer.from(card.destination.reveal()), destinationContext(place), random) }
      : {}),
  }
}

/** Adds the CVV2, sealed with the key of the hour; stored only while an authorisation is owed. */
export function withCvv2(sealed: SealedCard, card: Card, place: Place, keys: KeyRing, random: Random): SealedCard {
  if (!card.cvv2) return sealed
  const cvv2Key = keys.current('cvv2')
  return {
    ...sealed,
    cvv2Sealed: seal(cvv2Key.key, Buffer.from(card.cvv2.reveal()), cvv2Context(place), random),
    cvv2Key: cvv2Key.version,
  }
}

/**
 * Opens sealed values. A CVV2 whose hourly key was destroyed is treated as absent; a number that
 * cannot be opened is a defect and throws.
 */
export function openCard(sealed: SealedCard, place: Place, keys: KeyRing): Card {
  const panKey = keys.version('pan', sealed.panKey)
  if (!panKey) throw new Error(`the vault has no key ${sealed.panKey} for the card of order ${place.orderId}`)
  const card: Card = {
    pan: secret(unseal(panKey, sealed.panSealed, panContext(place)).toString()),
    ...(sealed.destinationSealed
      ? { destination: secret(unseal(panKey, sealed.destinationSealed, destinationContext(place)).toString()) }
      : {}),
  }
  const cvv2Key = sealed.cvv2Key === undefined ? undefined : keys.version('cvv2', sealed.cvv2Key)
  if (!sealed.cvv2Sealed || !cvv2Key) return card
  return { ...card, cvv2: secret(unseal(cvv2Key, sealed.cvv2Sealed, cvv2Context(place)).toString()) }
}

/** 32 bytes, equal for equal numbers of one merchant; useless without the key. */
export const fingerprintOf = (pan: Secret<string>, merchantId: bigint, keys: KeyRing): Buffer =>
  hmacSha256(keys.current('fingerprint').key, `${merchantId}:${pan.reveal()}`)

/** `card-hash-id`: 128 bits of a hash of the fingerprint, which it does not reveal. */
export const hashIdOf = (print: Buffer, keys: KeyRing): string =>
  hmacSha256(keys.current('fingerprint').key, Buffer.concat([Buffer.from('card-hash-id:'), print]))
    .subarray(0, 16)
    .toString('hex')

/** `card-hash-id` of a number that belongs to no order yet. */
export const hashIdOfNumber = (pan: Secret<string>, merchantId: bigint, keys: KeyRing): string =>
  hashIdOf(fingerprintOf(pan, merchantId, keys), keys)

/** One hash of a number for all merchants; never shown to any of them. */
export const commonHashOf = (pan: Secret<string>, keys: KeyRing): string =>
  hmacSha256(keys.current('fingerprint').key, `all merchants:${pan.reveal()}`).subarray(0, 16).toString('hex')

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

const destinationContext = (place: Place) => `destination:${place.merchantId}:${place.orderId}`
const panContext = (place: Place) => `pan:${place.merchantId}:${place.orderId}`
const cvv2Context = (place: Place) => `cvv2:${place.merchantId}:${place.orderId}`
const proofContext = (place: Place) => `proof:${place.merchantId}:${place.orderId}`

/**
 * Seals the proof of an authentication for the acquirer with the key of the hour: text to store
 * with the order until its authorisation has an outcome.
 */
export function sealProof(proof: Secret<string>, place: Place, keys: KeyRing, random: Random): string {
  const { version, key } = keys.current('cvv2')
  return `${version}.${seal(key, Buffer.from(proof.reveal()), proofContext(place), random).toString('base64')}`
}

/** Undefined if its hourly key was destroyed: then nothing can be proved any more. */
export function openProof(sealed: string, place: Place, keys: KeyRing): Secret<string> | undefined {
  const [version = '', text = ''] = sealed.split('.')
  const key = keys.version('cvv2', BigInt(version))
  return key && secret(unseal(key, Buffer.from(text, 'base64'), proofContext(place)).toString())
}
