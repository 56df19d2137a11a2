import { defined } from '../base/defined.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import {
  openReference,
  type CardReference,
  type DestinationCard,
  type FirstPayment,
  type NewDestination,
  type NewReference,
} from '../card/reference.ts'
import type { ReferenceName, ReferenceStore } from '../card/reference-rows.ts'
import { CardForgotten, openCard, type Card, type SealedCard } from '../card/vault.ts'
import { payerOf } from '../spec/gateway/sale.ts'
import { openBatch, singles } from '../storage/batch.ts'
import type { KeyRing } from '../keys/ring.ts'
import { orderKeyText, type OrderKey } from './decide/change.ts'
import { head, type Order } from './decide/order.ts'
import type { OrderStore } from './store/store.ts'

/** The vault as the operations use it. Retention erases card numbers of ended payments. */
export type Cards = ReturnType<typeof openCards>

export interface CardsParts {
  orders: Pick<OrderStore, 'sealedCards'>
  references: ReferenceStore
  keys: KeyRing
  random: Random
  clock: Clock
  log: Log
}

/** Requests that come together share statements. */
export function openCards({ orders, references, keys, random, clock, log }: CardsParts) {
  const shared = { ...singles, clock, log }
  const reading = openBatch<OrderKey, SealedCard | undefined>({
    name: 'cards of orders',
    async run(orderKeys) {
      const sealed = await orders.sealedCards(orderKeys)
      return orderKeys.map((orderKey) => sealed.get(orderKeyText(orderKey)))
    },
    ...shared,
  })
  const registering = openBatch<NewReference, CardReference | Error>({
    name: 'card references',
    run: (fresh) => references.register(fresh, keys, random),
    ...shared,
  })
  const finding = openBatch<ReferenceName, CardReference | undefined>({ name: 'card ids', run: references.find, ...shared })
  return {
    /** The card of an order, opened, for its next step; throws if it was erased. */
    async cardOf(orderKey: OrderKey): Promise<Card> {
      const sealed = await reading.submit(orderKey)
      if (!sealed) throw new CardForgotten(orderKey)
      return openCard(sealed, orderKey, keys)
    },
    /**
     * Stores the card of a payment for later payments; undefined if the number was erased before
     * there was a reference.
     */
    async registerCard(made: Omit<NewReference, 'sealed'>): Promise<CardReference | undefined> {
      const reference = await registering.submit({ ...made, sealed: await reading.submit(made.orderKey) })
      if (reference instanceof CardForgotten) return undefined
      if (reference instanceof Error) throw reference
      return reference
    },
    /**
     * Stores the card that a transfer credited. The id that it returns can only be used to credit
     * the card again.
     */
    registerDestination: async (
      made: Omit<NewDestination, 'sealed'>,
    ): Promise<{ dstCardRefId: bigint; uniqueReference: number }> =>
      references.registerDestination({ ...made, sealed: await reading.submit(made.orderKey) }, keys, random),
    async findDestination(merchantId: bigint, id: bigint): Promise<{ pan: Secret<string>; card: DestinationCard } | undefined> {
      const found = await references.findDestination(merchantId, id)
      return found && { ...openReference(found, keys), card: found.card }
    },
    findReference: (merchantId: bigint, cardRefId: bigint): Promise<CardReference | undefined> =>
      finding.submit({ merchantId, cardRefId }),
    openReference: (reference: CardReference): Card => openReference(reference, keys),
    /** Resolves when what is under way is stored. */
    close: async (): Promise<void> => void (await Promise.all([reading.close(), registering.close(), finding.close()])),
  }
}

/** The data that a later payment takes from this one. */
export function firstPaymentOf(order: Order): FirstPayment {
  const { result, authentication } = head(order)
  const networkReference = result.processor?.networkReference
  const appEmail = order.request.mobile?.email
  return {
    ...defined({ networkReference, appEmail }),
    ...(authentication && result.verified !== undefined
      ? {
          authentication: {
            verified: result.verified,
            version: authentication.version,
            ...defined({ eci: result.eci, dsTransId: authentication.dsTransId }),
          },
        }
      : {}),
    payer: payerOf(order.request),
  }
}
