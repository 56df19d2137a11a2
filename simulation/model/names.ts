import type { KeyClaim } from '../../src/order/decide/change.ts'
import type { Order } from '../../src/order/decide/order.ts'
import type { KeyRow } from '../../src/order/store/store.ts'
import type { Locks, Unit } from './store-locks.ts'

export interface KeyRecord extends KeyRow {
  live: boolean
  heldUntil: number
}

/** The table `order_key` in memory: who has which client_orderid. */
export class Names {
  readonly rows = new Map<string, KeyRecord>()
  readonly #locks: Locks

  constructor(locks: Locks) {
    this.#locks = locks
  }

  async claim(unit: Unit, claims: readonly KeyClaim[]): Promise<KeyRow[]> {
    const sorted = [...claims].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    const won: KeyRow[] = []
    const lost: KeyRow[] = []
    for (const claim of sorted) {
      const name = nameOf(claim)
      await this.#locks.take(unit, name)
      const row = this.#row(unit, name)
      const free = !row || (!row.live && (row.heldUntil < claim.at || isOther(row.digest, claim.digest)))
      const { merchantId, orderId, clientOrderid, digest, heldUntil } = claim
      const mine = { merchantId, orderId, clientOrderid, digest }
      if (free) this.#put(unit, name, { ...mine, live: true, heldUntil })
      if (free) won.push(mine)
      else lost.push(keyRow(row))
    }
    return [...won, ...lost]
  }

  /** Takes names that were never used. Stops at the first one that was. */
  async claimNew(unit: Unit, claims: readonly KeyClaim[]): Promise<boolean> {
    for (const claim of [...claims].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
      const name = nameOf(claim)
      await this.#locks.take(unit, name)
      if (this.#row(unit, name)) return false
      const { merchantId, orderId, clientOrderid, digest, heldUntil } = claim
      this.#put(unit, name, { merchantId, orderId, clientOrderid, digest, live: true, heldUntil })
    }
    return true
  }

  newest(names: readonly { merchantId: bigint; clientOrderid: string }[]): KeyRow[] {
    return names
      .map((n) => this.rows.get(nameOf(n)))
      .filter((row) => row !== undefined)
      .map(keyRow)
  }

  /** The name of a failed order may be used again. */
  async free(unit: Unit, order: Order): Promise<void> {
    const name = nameOf(order)
    if (this.#row(unit, name)?.orderId !== order.orderId) return
    await this.#locks.take(unit, name)
    const row = this.#row(unit, name)
    if (row?.orderId === order.orderId && row.live) this.#put(unit, name, { ...row, live: false })
  }

  put(row: KeyRecord): void {
    this.rows.set(nameOf(row), row)
  }

  remove(row: KeyRecord): void {
    this.rows.delete(nameOf(row))
  }

  #row(unit: Unit, name: string): KeyRecord | undefined {
    return (unit.own.get(name) as KeyRecord | undefined) ?? this.rows.get(name)
  }

  #put(unit: Unit, name: string, row: KeyRecord): void {
    unit.own.set(name, row)
    unit.staged.push(() => this.rows.set(name, row))
  }
}

const keyRow = ({ merchantId, orderId, clientOrderid, digest }: KeyRow): KeyRow => ({
  merchantId,
  orderId,
  clientOrderid,
  digest,
})
const nameOf = (n: { merchantId: bigint; clientOrderid: string }): string => `name ${n.merchantId}/${n.clientOrderid}`

/** Digests under different keys cannot be compared. */
const isOther = (a: Buffer, b: Buffer): boolean => !a.equals(b) && a.subarray(0, -32).equals(b.subarray(0, -32))
