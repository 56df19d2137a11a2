import { countKey, type CountKey, type CountRow, type LockedCount } from '../../src/risk/limits.ts'
import type { Locks, Unit } from './store-locks.ts'

/** The table of used limits. Each row has a lock; locks are taken in the order of the keys. */
export class Counts {
  readonly #rows = new Map<string, CountRow>()
  readonly #locks: Locks
  readonly #now: () => number

  constructor(locks: Locks, now: () => number) {
    this.#locks = locks
    this.#now = now
  }

  async lock(unit: Unit, places: readonly CountKey[]): Promise<LockedCount[]> {
    const rows: LockedCount[] = []
    const sorted = places.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
    for (const place of sorted) {
      const name = `count ${countKey(place)}`
      await this.#locks.take(unit, name)
      const row = (unit.own.get(name) as CountRow | undefined) ?? this.#rows.get(name) ?? { ...place, buckets: [] }
      rows.push({ ...row, at: this.#now() })
    }
    return rows
  }

  ofMerchant(merchantId: bigint): CountRow[] {
    return [...this.#rows.values()].filter((row) => row.merchantId === merchantId)
  }

  put(row: CountRow): void {
    this.#rows.set(`count ${countKey(row)}`, row)
  }

  remove(row: CountRow): void {
    this.#rows.delete(`count ${countKey(row)}`)
  }

  save(unit: Unit, rows: readonly CountRow[]): void {
    for (const { merchantId, filterNo, key, buckets } of rows) {
      const name = `count ${countKey({ merchantId, filterNo, key })}`
      const row = { merchantId, filterNo, key, buckets }
      unit.own.set(name, row)
      unit.staged.push(() => this.#rows.set(name, row))
    }
  }
}

const sortKey = ({ merchantId, filterNo, key }: CountKey): string =>
  `${String(merchantId).padStart(20)}/${String(filterNo).padStart(9)}/${Buffer.from(key, 'base64url').toString('hex')}`
