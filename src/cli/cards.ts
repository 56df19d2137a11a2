import type { Random } from '../base/random.ts'
import { openReference } from '../card/reference.ts'
import { findDestination, findReference, registerCard, registerDestination } from '../card/store-references.ts'
import { openCard, type SealedCard } from '../card/vault.ts'
import type { MobileWorld } from '../mobile-api/mobile-world.ts'
import { placeKey, type Place } from '../order/change.ts'
import type { OrderStore } from '../order/store.ts'
import type { Pool } from '../storage/pool.ts'
import type { KeyRing } from '../storage/store-keys.ts'

type Cards = Pick<
  MobileWorld,
  'cardOf' | 'registerCard' | 'findReference' | 'openReference' | 'registerDestination' | 'findDestination'
>

/** The vault as the operations use it. A card that retention took is a defect for whoever still needs it, and throws. */
export function cardsOf(pool: Pool, orders: OrderStore, keys: KeyRing, random: Random): Cards {
  const sealedOf = async (place: Place): Promise<SealedCard> => {
    const sealed = (await orders.sealedCards([place])).get(placeKey(place))
    if (!sealed) throw new Error(`the card of order ${place.orderId} is gone`)
    return sealed
  }
  return {
    cardOf: async (place) => openCard(await sealedOf(place), place, keys),
    registerCard: async (made) => registerCard(pool, { ...made, sealed: await sealedOf(made.place) }, keys, random),
    registerDestination: async (made) => registerDestination(pool, { ...made, sealed: await sealedOf(made.place) }, keys, random),
    findDestination: async (merchantId, id) => {
      const found = await findDestination(pool, merchantId, id)
      return found && { ...openReference(found, keys), card: found.card }
    },
    findReference: (merchantId, cardRefId) => findReference(pool, merchantId, cardRefId),
    openReference: (reference) => openReference(reference, keys),
  }
}
