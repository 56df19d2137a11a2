import {
  drawIds,
  drawUnique,
  sealDestination,
  sealForReference,
  type CardReference,
  type NewReference,
  type ReferenceIds,
  type SealedNumber,
} from '../../src/card/reference.ts'
import type { Destination, ReferenceStore } from '../../src/card/reference-rows.ts'
import type { Fence } from './fence.ts'

export type ReferenceRow = Destination & { uniqueReference: number; whole: CardReference | undefined }

/**
 * The tables of card references. Each first payment and each card credited by a transfer has a
 * reference, and each card of a merchant has a unique number.
 */
export class References {
  readonly #fence: Fence
  readonly #byOrder = new Map<string, ReferenceRow>()
  readonly #byId = new Map<bigint, ReferenceRow>()
  readonly #numbers = new Map<string, number>()

  constructor(fence: Fence) {
    this.#fence = fence
  }

  ofOrder(merchantId: bigint, orderId: bigint): CardReference | undefined {
    return this.#byOrder.get(`${merchantId}/${orderId}`)?.whole
  }

  ofDestination(merchantId: bigint, orderId: bigint): ReferenceRow | undefined {
    return this.#byOrder.get(`${merchantId}/${orderId}/destination`)
  }

  find(merchantId: bigint, cardRefId: bigint): CardReference | undefined {
    const found = this.#byId.get(cardRefId)?.whole
    return found?.orderKey.merchantId === merchantId && found.ids.cardRefId === cardRefId ? found : undefined
  }

  /**
   * Finds a card that may be credited, by the id of a card that paid or by an id for credits only.
   */
  findDestination(merchantId: bigint, id: bigint): Destination | undefined {
    const found = this.#byId.get(id)
    if (found?.orderKey.merchantId !== merchantId) return undefined
    const { cardRefId, dstCardRefId, dstRecurringPaymentId } = found.ids
    if (id !== dstCardRefId && id !== dstRecurringPaymentId && (id !== cardRefId || !found.whole)) return undefined
    const { orderKey, ids, sealed, card } = found
    return { orderKey, ids, sealed, card }
  }

  /** Keeps an existing number, and returns the number that is valid. */
  insertNumber(merchantId: bigint, numberId: Buffer, drawn: number): number {
    const key = `${merchantId}/${numberId.toString('hex')}`
    this.#fence.demand([merchantId])
    if (!this.#numbers.has(key)) this.#numbers.set(key, drawn)
    return this.#numbers.get(key)!
  }

  /** Changes no row that there is. */
  insert(row: ReferenceRow): void {
    const { merchantId, orderId } = row.orderKey
    this.#fence.write(merchantId, `the reference of order ${orderId}`)
    if (this.#byOrder.has(keyOf(row)) || this.#byId.has(row.ids.cardRefId)) return
    this.put(row)
  }

  ofMerchant(merchantId: bigint): { rows: ReferenceRow[]; numbers: [string, number][] } {
    return {
      rows: [...this.#byOrder.values()].filter(({ orderKey }) => orderKey.merchantId === merchantId),
      numbers: [...this.#numbers].filter(([key]) => key.startsWith(`${merchantId}/`)),
    }
  }

  /** A row that comes from another cell. */
  put(row: ReferenceRow): void {
    this.#byOrder.set(keyOf(row), row)
    for (const id of Object.values(row.ids)) this.#byId.set(id as bigint, row)
  }

  /** A number keeps its reference forever. */
  putNumbers(numbers: readonly [string, number][]): void {
    for (const [key, unique] of numbers) if (!this.#numbers.has(key)) this.#numbers.set(key, unique)
  }

  removeMerchant(merchantId: bigint): void {
    const { rows, numbers } = this.ofMerchant(merchantId)
    for (const row of rows) {
      this.#byOrder.delete(keyOf(row))
      for (const id of Object.values(row.ids)) this.#byId.delete(id as bigint)
    }
    for (const [key] of numbers) this.#numbers.delete(key)
  }
}

const keyOf = ({ orderKey, whole }: ReferenceRow): string =>
  `${orderKey.merchantId}/${orderKey.orderId}${whole ? '' : '/destination'}`

/** The store of one process; each statement goes through `run`. */
export const openReferenceStore = (
  references: References,
  run: <T>(body: () => T | Promise<T>) => Promise<T>,
): ReferenceStore => ({
  async register(fresh, keys, random) {
    const made = new Map<NewReference, CardReference | Error>()
    for (;;) {
      const missing = [...new Set(fresh)].filter((one) => !made.has(one))
      const known = await run(() => missing.map(({ orderKey }) => references.ofOrder(orderKey.merchantId, orderKey.orderId)))
      for (const [i, one] of missing.entries()) if (known[i]) made.set(one, known[i])
      const drawn: { of: NewReference; ids: ReferenceIds; sealed: SealedNumber; unique: number }[] = []
      for (const of of missing.filter((one) => !made.has(one))) {
        const ids = drawIds(random)
        try {
          drawn.push({ of, ids, sealed: sealForReference(of, ids, keys, random), unique: drawUnique(random) })
        } catch (error) {
          made.set(of, error as Error)
        }
      }
      if (drawn.length === 0) return fresh.map((one) => made.get(one)!)
      const numbers = await run(() =>
        drawn.map(({ of, sealed, unique }) => references.insertNumber(of.orderKey.merchantId, sealed.numberId, unique)),
      )
      await run(() =>
        drawn.forEach(({ of, ids, sealed }, i) => {
          const { card, first, at: createdAt } = of
          const orderKey = { merchantId: of.orderKey.merchantId, orderId: of.orderKey.orderId }
          const whole = { orderKey, ids, uniqueReference: numbers[i]!, sealed, card, first, createdAt }
          references.insert({ ...whole, whole })
        }),
      )
    }
  },
  find: (names) => run(() => names.map(({ merchantId, cardRefId }) => references.find(merchantId, cardRefId))),
  async registerDestination(fresh, keys, random) {
    const { merchantId, orderId } = fresh.orderKey
    for (;;) {
      const known = await run(() => references.ofDestination(merchantId, orderId))
      if (known) return { dstCardRefId: known.ids.dstCardRefId, uniqueReference: known.uniqueReference }
      const ids = drawIds(random)
      const sealed = sealDestination(fresh, ids, keys, random)
      const drawn = drawUnique(random)
      const uniqueReference = await run(() => references.insertNumber(merchantId, sealed.numberId, drawn))
      const { orderKey, card } = fresh
      const row = { orderKey: { merchantId: orderKey.merchantId, orderId }, ids, uniqueReference, sealed, card, whole: undefined }
      await run(() => references.insert(row))
    }
  },
  findDestination: (merchantId, id) => run(() => references.findDestination(merchantId, id)),
})
