import type { Random } from '../src/base/random.ts'
import { drawIds, drawUnique, sealForReference, type CardReference, type NewReference } from '../src/card/reference.ts'
import type { KeyRing } from '../src/storage/store-keys.ts'

/** What src/card/store-references.ts answers, over the model. */
export interface ReferenceStore {
  register(fresh: NewReference, keys: KeyRing, random: Random): Promise<CardReference>
  find(merchantId: bigint, cardRefId: bigint): Promise<CardReference | undefined>
}

/** The tables of card references: one for each first payment, and one unique number for each card of a merchant. */
export class References {
  readonly #byOrder = new Map<string, CardReference>()
  readonly #byId = new Map<bigint, CardReference>()
  readonly #numbers = new Map<string, number>()

  ofOrder(merchantId: bigint, orderId: bigint): CardReference | undefined {
    return this.#byOrder.get(`${merchantId}/${orderId}`)
  }

  find(merchantId: bigint, cardRefId: bigint): CardReference | undefined {
    const found = this.#byId.get(cardRefId)
    return found?.place.merchantId === merchantId ? found : undefined
  }

  /** Leaves alone what is there, and answers the number that counts. */
  insertNumber(merchantId: bigint, fingerprint: Buffer, drawn: number): number {
    const key = `${merchantId}/${fingerprint.toString('hex')}`
    if (!this.#numbers.has(key)) this.#numbers.set(key, drawn)
    return this.#numbers.get(key)!
  }

  insert(fresh: CardReference): void {
    const key = `${fresh.place.merchantId}/${fresh.place.orderId}`
    if (this.#byOrder.has(key) || this.#byId.has(fresh.ids.cardRefId)) return
    this.#byOrder.set(key, fresh)
    this.#byId.set(fresh.ids.cardRefId, fresh)
  }
}

/** The calls of a process, each statement by way of `run`. */
export const openReferenceStore = (
  references: References,
  run: <T>(body: () => T | Promise<T>) => Promise<T>,
): ReferenceStore => ({
  async register(fresh, keys, random) {
    const { merchantId, orderId } = fresh.place
    for (;;) {
      const known = await run(() => references.ofOrder(merchantId, orderId))
      if (known) return known
      const ids = drawIds(random)
      const sealed = sealForReference(fresh, ids, keys, random)
      const drawn = drawUnique(random)
      const place = { merchantId, orderId }
      const uniqueReference = await run(() => references.insertNumber(merchantId, sealed.fingerprint, drawn))
      const { card, first, at: createdAt } = fresh
      await run(() => references.insert({ place, ids, uniqueReference, sealed, card, first, createdAt }))
    }
  },
  find: (merchantId, cardRefId) => run(() => references.find(merchantId, cardRefId)),
})
