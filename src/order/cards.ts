import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import {
  openReference,
  type CardReference,
  type DestinationCard,
  type NewDestination,
  type NewReference,
} from '../card/reference.ts'
import type { ReferenceStore } from '../card/store-references.ts'
import { openCard, type Card, type SealedCard } from '../card/vault.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import { placeKey, type Place } from './change.ts'
import type { OrderStore } from './store.ts'

/**
 * The vault as the operations use it. A card that retention took is a defect for whoever still
 * needs it, and throws.
 */
export interface Cards {
  /** The card of an order, opened, for its next step. */
  cardOf(place: Place): Promise<Card>
  /** Keeps the card of a payment for later ones. */
  registerCard(made: Omit<NewReference, 'sealed'>): Promise<CardReference>
  findReference(merchantId: bigint, cardRefId: bigint): Promise<CardReference | undefined>
  openReference(reference: CardReference): Card
  /**
   * Keeps the card that a transfer credited; by the id that it answers it may only be credited
   * again.
   */
  registerDestination(made: Omit<NewDestination, 'sealed'>): Promise<{ dstCardRefId: bigint; uniqueReference: number }>
  findDestination(merchantId: bigint, id: bigint): Promise<{ pan: Secret<string>; card: DestinationCard } | undefined>
}

export interface CardsParts {
  orders: Pick<OrderStore, 'sealedCards'>
  references: ReferenceStore
  keys: KeyRing
  random: Random
}

export function openCards({ orders, references, keys, random }: CardsParts): Cards {
  const sealedOf = async (place: Place): Promise<SealedCard> => {
    const sealed = (await orders.sealedCards([place])).get(placeKey(place))
    if (!sealed) throw new Error(`the card of order ${place.orderId} is gone`)
    return sealed
  }
  return {
    cardOf: async (place) => openCard(await sealedOf(place), place, keys),
    registerCard: async (made) => references.register({ ...made, sealed: await sealedOf(made.place) }, keys, random),
    registerDestination: async (made) =>
      references.registerDestination({ ...made, sealed: await sealedOf(made.place) }, keys, random),
    async findDestination(merchantId, id) {
      const found = await references.findDestination(merchantId, id)
      return found && { ...openReference(found, keys), card: found.card }
    },
    findReference: references.find,
    openReference: (reference) => openReference(reference, keys),
  }
}
