import { checkDigitHolds } from '../base/luhn.ts'
import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { Payer } from '../spec/gateway/sale.ts'
import type { KeyRing } from '../keys/ring.ts'
import type { ShownCard } from './number.ts'
import type { SealedTable } from '../keys/reseal.ts'
import { CardForgotten, numberIdOf, openCard, type Card, type SealedFor, type SealedCard } from './vault.ts'

/** The ids of one reference. The two `dst` ids serve only as destination of a transfer. */
export interface ReferenceIds {
  cardRefId: bigint
  recurringPaymentId: bigint
  dstCardRefId: bigint
  dstRecurringPaymentId: bigint
}

/**
 * The data of the first payment that later payments with the reference use. Personal data: masked
 * in logs.
 */
export interface FirstPayment {
  /** The network's id of the first payment, by which an issuer recognises later ones. */
  networkReference?: string
  /** Absent if 3-D Secure did not run. */
  authentication?: {
    /** As in `verified-3d-status`. */
    verified: string
    method?: 'challenge' | 'frictionless' | 'attempt'
    version?: string
    eci?: string
    dsTransId?: string
  }
  /** The address that the app of the mobile API sent, which it must send again. */
  appEmail?: string
  payer: Payer
}

/** A sealed number without its CVV2. */
export interface SealedNumber extends Pick<SealedCard, 'panSealed' | 'panKey'> {
  numberId: Buffer
}

/**
 * A card to be stored: `orderKey` is the first payment, `sealed` its card as stored with it. It is
 * undefined once that is no longer kept; then only an existing reference is found.
 */
export interface NewReference {
  orderKey: SealedFor
  sealed: SealedCard | undefined
  card: ShownCard
  first: FirstPayment
  at: number
}

/** The card that a transfer credited: without expiry and holder it can only be credited again. */
export interface NewDestination {
  orderKey: SealedFor
  sealed: SealedCard | undefined
  card: DestinationCard
  at: number
}

export type DestinationCard = Pick<ShownCard, 'bin' | 'lastFour' | 'network' | 'country'>

export interface CardReference {
  /** The first payment. */
  orderKey: SealedFor
  ids: ReferenceIds
  /** `unq-card-ref-id`: one for each card number of a merchant, below 2^53. */
  uniqueReference: number
  /** Sealed for this reference: it cannot be opened for another one, or for an order. */
  sealed: SealedNumber
  card: ShownCard
  first: FirstPayment
  createdAt: number
}

/** The remainder of an id by four is its kind; a constraint of `card_reference` enforces this. */
const kinds = 4n
const lowestId = 10n ** 15n
/** JSON and JavaScript are exact for whole numbers below this. */
const aboveIds = 2n ** 53n

/**
 * Four new ids of 16 digits, each with almost 51 random bits and unrelated to the others: knowing
 * all but one of a reference, or every other reference, does not help to guess one. An id works
 * only for its merchant, so a guess is of no use to anybody else. *Rejected:* a block of ascending
 * ids, because ids given to one merchant would show how many the others get; an encrypted number,
 * because it would have to outlive its key; 19 digits, because clients that read a JSON number
 * round them.
 */
export const drawIds = (random: Random): ReferenceIds => ({
  cardRefId: drawId(random, 0n),
  recurringPaymentId: drawId(random, 1n),
  dstCardRefId: drawId(random, 2n),
  dstRecurringPaymentId: drawId(random, 3n),
})

const drawId = (random: Random, kind: bigint): bigint =>
  draw(() => lowestId + below(random, (aboveIds - lowestId) / kinds) * kinds + kind)

/** A new `unq-card-ref-id`, of 16 digits. */
export const drawUnique = (random: Random): number => Number(draw(() => lowestId + below(random, aboveIds - lowestId)))

/**
 * These have as many digits as a card number. Their check digit is wrong, so that neither a scanner
 * nor the masking log mistakes one for a card number.
 */
function draw(next: () => bigint): bigint {
  let id = next()
  while (checkDigitHolds(String(id))) id = next()
  return id
}

/** The bias is below limit / 2^128. */
const below = (random: Random, limit: bigint): bigint => BigInt(`0x${random.bytes(16).toString('hex')}`) % limit

/**
 * Seals the number of an order's card again, for the reference. Throws if it is not this order's.
 */
export function sealForReference(
  { orderKey, sealed }: NewReference,
  { cardRefId }: ReferenceIds,
  keys: KeyRing,
  random: Random,
): SealedNumber {
  if (!sealed) throw new CardForgotten(orderKey)
  const { panSealed, panKey } = sealed
  return sealNumber(openCard({ panSealed, panKey }, orderKey, keys).pan, orderKey, cardRefId, keys, random)
}

/** The same for the number that a transfer credits. */
export function sealDestination(
  { orderKey, sealed }: NewDestination,
  { cardRefId }: ReferenceIds,
  keys: KeyRing,
  random: Random,
): SealedNumber {
  if (!sealed) throw new CardForgotten(orderKey)
  const { destination } = openCard(sealed, orderKey, keys)
  if (!destination) throw new Error(`order ${orderKey.orderId} credits no card`)
  return sealNumber(destination, orderKey, cardRefId, keys, random)
}

function sealNumber(
  pan: Secret<string>,
  { merchantId }: SealedFor,
  cardRefId: bigint,
  keys: KeyRing,
  random: Random,
): SealedNumber {
  const { version, key } = keys.current('pan')
  return {
    panSealed: seal(key, Buffer.from(pan.reveal()), contextOf(merchantId, cardRefId), random),
    panKey: version,
    numberId: numberIdOf(pan, merchantId, keys),
  }
}

/** The number alone: a reference has no CVV2. Throws if it does not open, which is a defect. */
export function openReference(
  { orderKey, ids, sealed }: Pick<CardReference, 'orderKey' | 'ids' | 'sealed'>,
  keys: KeyRing,
): Card {
  const key = keys.version('pan', sealed.panKey)
  if (!key) throw new Error(`the vault has no key ${sealed.panKey} for the card reference made of order ${orderKey.orderId}`)
  return { pan: secret(unseal(key, sealed.panSealed, contextOf(orderKey.merchantId, ids.cardRefId)).toString()) }
}

const contextOf = (merchantId: bigint, cardRefId: bigint) => `card reference:${merchantId}:${cardRefId}`

export const sealedReferences: SealedTable = {
  table: 'card_reference',
  purpose: 'pan',
  id: { merchant_id: 'bigint', card_ref_id: 'bigint' },
  version: 'pan_key',
  sealed: { pan_sealed: contextOf },
}
