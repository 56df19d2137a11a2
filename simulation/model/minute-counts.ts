import type { Change } from '../../src/order/decide/change.ts'
import { countedIn, type MinuteCount } from '../../src/order/decide/counted.ts'
import type { Unit } from './store-locks.ts'

/** The table of minute counts: each commit adds rows of its own, which are never added up. */
export class MinuteCounts {
  #rows: MinuteCount[] = []

  add(unit: Unit, changes: readonly Change[]): void {
    const counted = countedIn(changes)
    unit.staged.push(() => this.#rows.push(...counted))
  }

  ofMerchant(merchantId: bigint): MinuteCount[] {
    return this.#rows.filter((row) => row.merchantId === merchantId)
  }

  /** In place of what is there. */
  put(merchantId: bigint, rows: readonly MinuteCount[]): void {
    this.#rows = [...this.#rows.filter((row) => row.merchantId !== merchantId), ...rows]
  }
}
