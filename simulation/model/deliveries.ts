import { goesAtOnce, type Delivery, type NewDelivery } from '../../src/delivery/delivery.ts'
import { lookedAt, type Claimed, type ClaimRoom, type DeliveryLease, type Try, type Turn } from '../../src/delivery/store.ts'
import { orderKeyText, type Change, type OrderKey } from '../../src/order/decide/change.ts'
import type { Order } from '../../src/order/decide/order.ts'
import { leaseLookMs } from '../../src/leases/heartbeat.ts'
import type { Claimer } from '../../src/leases/leased.ts'
import type { Fence } from './fence.ts'
import { isSpared } from './spared.ts'

export interface DeliveryRow extends NewDelivery, OrderKey {
  state: 'due' | 'delivered' | 'given up'
  dueAt: number | undefined
  lease: bigint | undefined
  tries: number
  lastTryAt: number
}

/** The table of messages, and what the statements of src/delivery/store.ts do to it. */
export class Deliveries {
  readonly rows = new Map<string, DeliveryRow>()
  /** Rows that are due, so that a sweep need not look at every row. */
  readonly #due = new Set<DeliveryRow>()
  readonly #isFree: (lease: bigint | undefined, by: Claimer) => boolean
  readonly #fence: Fence

  constructor(isFree: (lease: bigint | undefined, by: Claimer) => boolean, fence: Fence) {
    this.#isFree = isFree
    this.#fence = fence
  }

  /** Includes a row beyond the order's own count, which only a bug can store. */
  ofOrder(order: Order): DeliveryRow[] {
    const numbers = [...Array(order.deliveries + 2).keys()]
    return numbers.flatMap((deliveryNo) => this.rows.get(deliveryKey({ ...order, deliveryNo })) ?? [])
  }

  due(): Iterable<DeliveryRow> {
    return this.#due
  }

  /** Those of a merchant that a process has in hand, or had when it died. */
  leasedOf(merchantId: bigint): DeliveryRow[] {
    return [...this.#due].filter((row) => row.merchantId === merchantId && row.lease !== undefined)
  }

  /** The messages of a change that is committed now. */
  insert({ after, deliveries }: Change, at: number, deliveryLease: DeliveryLease | undefined): void {
    for (const d of deliveries) {
      const { merchantId, orderId } = after
      const lease = goesAtOnce(d) ? deliveryLease?.(after) : undefined
      const dueAt = lease === undefined ? at : at + leaseLookMs
      const row: DeliveryRow = { ...d, merchantId, orderId, state: 'due', dueAt, lease, tries: 0, lastTryAt: at }
      this.rows.set(deliveryKey(row), row)
      this.#due.add(row)
    }
  }

  waiting(after: bigint, limit: number): { merchantId: bigint; dueAt: number }[] {
    const first = new Map<bigint, number>()
    for (const { merchantId, dueAt } of this.#due)
      if (merchantId > after) first.set(merchantId, Math.min(dueAt!, first.get(merchantId) ?? Infinity))
    const found = [...first].map(([merchantId, dueAt]) => ({ merchantId, dueAt }))
    return found.sort((a, b) => (a.merchantId < b.merchantId ? -1 : 1)).slice(0, limit)
  }

  claim(by: Claimer, now: number, turns: readonly Turn[], room: ClaimRoom): Claimed {
    const firstOfUrl = (d: DeliveryRow) =>
      ![...this.#due].some(
        (o) => orderKeyText(o) === orderKeyText(d) && o.deliveryNo < d.deliveryNo && o.url === d.url && o.tries === 0,
      )
    const looked = turns.map((turn) => {
      const due = [...this.#due].filter((d) => d.merchantId === turn.merchantId && d.dueAt! <= now)
      const after = due.filter((d) => d.dueAt! >= turn.from)
      const rows = after.sort(byDueTime).slice(0, lookedAt)
      const isFree = (d: DeliveryRow) =>
        !isSpared(d, by) &&
        this.#isFree(d.lease, by) &&
        (d.lease !== undefined || !turn.blocked.includes(d.origin)) &&
        firstOfUrl(d)
      return { ...turn, rows, free: rows.filter(isFree) }
    })
    const placed = looked
      .flatMap(({ held, free }) => free.map((row, i) => ({ row, turn: held + i + 1 })))
      .sort((a, b) => a.turn - b.turn || byDueTime(a.row, b.row))
    const taken = placed.slice(0, room.all).filter(({ turn }, i) => turn <= room.few || i < room.common)
    this.#fence.demand(taken.map(({ row }) => row.merchantId))
    return {
      taken: taken.map(({ row }) => {
        const { merchantId, orderId, deliveryNo, transactionNo, kind, url, origin, tries, lease } = row
        row.lease = by.processId
        row.dueAt = now + leaseLookMs
        this.#fence.write(merchantId, `a delivery of order ${orderId}`)
        const delivery = { merchantId, orderId, deliveryNo, transactionNo, kind, url, origin, tries }
        return lease === undefined ? delivery : { ...delivery, hadLease: lease }
      }),
      passedOver: looked
        .filter(({ rows, free }) => rows.length >= lookedAt && free.length === 0)
        .map(({ merchantId, rows }) => ({ merchantId, until: rows.at(-1)!.dueAt! })),
    }
  }

  saveTries(tries: readonly Try[], processId: bigint): void {
    const found = tries.flatMap((t) => {
      const row = this.rows.get(deliveryKey(t.delivery))
      return row?.lease === processId ? [{ t, row }] : []
    })
    this.#fence.demand(found.map(({ row }) => row.merchantId))
    for (const { t, row } of found) {
      this.#fence.write(row.merchantId, `a delivery of order ${row.orderId}`)
      row.state = t.state
      row.dueAt = t.state === 'due' ? t.dueAt : undefined
      row.lease = undefined
      row.tries = t.delivery.tries + 1
      row.lastTryAt = t.at
      if (t.state !== 'due') this.#due.delete(row)
    }
  }

  letGo(deliveries: readonly Delivery[], processId: bigint, now: number): void {
    const rows = deliveries.flatMap((d) => this.rows.get(deliveryKey(d)) ?? [])
    const held = rows.filter(({ lease, state }) => lease === processId && state === 'due')
    this.#fence.demand(held.map(({ merchantId }) => merchantId))
    for (const row of held) {
      row.lease = undefined
      row.dueAt = now
    }
  }

  /** In place of what there is of this order. */
  replace(order: OrderKey, rows: readonly DeliveryRow[]): void {
    for (const row of this.#of(order)) {
      this.rows.delete(deliveryKey(row))
      this.#due.delete(row)
    }
    for (const row of rows.map((one) => ({ ...one }))) {
      this.rows.set(deliveryKey(row), row)
      if (row.state === 'due') this.#due.add(row)
    }
  }

  /** Copies, which later writes do not change. */
  copyOf(order: OrderKey): DeliveryRow[] {
    return this.#of(order).map((row) => ({ ...row }))
  }

  #of(order: OrderKey): DeliveryRow[] {
    return [...this.rows.values()].filter((row) => orderKeyText(row) === orderKeyText(order))
  }
}

const deliveryKey = (d: OrderKey & { deliveryNo: number }): string => `${orderKeyText(d)}/${d.deliveryNo}`
const byDueTime = (a: DeliveryRow, b: DeliveryRow): number =>
  a.dueAt! - b.dueAt! || comparePlaces(a, b) || a.deliveryNo - b.deliveryNo
export const comparePlaces = (a: OrderKey, b: OrderKey): number =>
  a.merchantId === b.merchantId ? Number(a.orderId - b.orderId) : Number(a.merchantId - b.merchantId)
