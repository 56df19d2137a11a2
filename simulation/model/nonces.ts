import type { NonceUse } from '../../src/merchant/nonce-rows.ts'
import type { Fence } from './fence.ts'

/** The table of nonces of signed requests. No world lasts so long that one is forgotten. */
export class NonceTable {
  readonly #used = new Map<bigint, Set<string>>()
  readonly #fence: Fence

  constructor(fence: Fence) {
    this.#fence = fence
  }

  use(uses: readonly NonceUse[]): boolean[] {
    this.#fence.demand(uses.map(({ merchantId }) => merchantId))
    return uses.map(({ merchantId, nonce }) => {
      const isFresh = !this.#of(merchantId).has(nonce)
      if (isFresh) this.put(merchantId, [nonce])
      return isFresh
    })
  }

  /** As a move reads them. */
  ofMerchant(merchantId: bigint): ReadonlySet<string> {
    return this.#of(merchantId)
  }

  put(merchantId: bigint, nonces: Iterable<string>): void {
    this.#used.set(merchantId, new Set([...this.#of(merchantId), ...nonces]))
  }

  #of(merchantId: bigint): ReadonlySet<string> {
    return this.#used.get(merchantId) ?? new Set()
  }

  removeMerchant(merchantId: bigint): void {
    this.#used.delete(merchantId)
  }
}
