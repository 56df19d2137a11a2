import { keyName } from '../../src/order/door/idempotency.ts'
import type { IdempotencyRow, KeyName } from '../../src/order/store/idempotency.ts'
import type { Locks, Unit } from './store-locks.ts'

/** The table of `Idempotency-Key`s in memory: the meaning of src/order/store/idempotency.ts. */
export class IdempotencyKeys {
  readonly #rows = new Map<string, IdempotencyRow>()
  readonly #locks: Locks

  constructor(locks: Locks) {
    this.#locks = locks
  }

  held(keys: readonly KeyName[], now: number): IdempotencyRow[] {
    const rows = keys.map((key) => this.#rows.get(keyName(key))).filter((row) => row !== undefined)
    return rows.filter(({ heldUntil }) => heldUntil > now)
  }

  async claim(unit: Unit, rows: readonly IdempotencyRow[], now: number): Promise<boolean> {
    let all = true
    for (const row of [...rows].sort((a, b) => (keyName(a) < keyName(b) ? -1 : 1))) {
      const name = `key ${keyName(row)}`
      await this.#locks.take(unit, name)
      const there = (unit.own.get(name) as IdempotencyRow | undefined) ?? this.#rows.get(keyName(row))
      const isFree = !there || there.heldUntil <= now || there.serialNumber === row.serialNumber
      all &&= isFree
      if (!isFree) continue
      unit.own.set(name, row)
      unit.staged.push(() => this.#rows.set(keyName(row), row))
    }
    return all
  }

  /** Takes keys that have no row, not even an expired one. Stops at the first one that has. */
  async claimNew(unit: Unit, rows: readonly IdempotencyRow[]): Promise<boolean> {
    for (const row of [...rows].sort((a, b) => (keyName(a) < keyName(b) ? -1 : 1))) {
      const name = `key ${keyName(row)}`
      await this.#locks.take(unit, name)
      if (unit.own.has(name) || this.#rows.has(keyName(row))) return false
      unit.own.set(name, row)
      unit.staged.push(() => this.#rows.set(keyName(row), row))
    }
    return true
  }

  ofMerchant(merchantId: bigint): IdempotencyRow[] {
    return [...this.#rows.values()].filter((row) => row.merchantId === merchantId)
  }

  put(row: IdempotencyRow): void {
    this.#rows.set(keyName(row), row)
  }

  remove(row: IdempotencyRow): void {
    this.#rows.delete(keyName(row))
  }

  forget(now: number): void {
    for (const [name, { heldUntil }] of this.#rows) if (heldUntil <= now) this.#rows.delete(name)
  }
}
