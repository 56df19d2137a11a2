import type { SealedCard } from '../src/card/vault.ts'
import { goesAtOnce, type NewDelivery } from '../src/delivery/delivery.ts'
import type { Try } from '../src/delivery/store.ts'
import { statusOf, type Order, type Transaction } from '../src/order/order.ts'
import { newKeys } from '../src/order/locator-keys.ts'
import { placeKey, type Change, type Due, type KeyClaim, type KeyRow, type Place, type RepeatRow } from '../src/order/store.ts'
import { deadAfterMs, leaseLookMs } from '../src/storage/store-heartbeat.ts'
import { Counts } from './counts.ts'
import { check, databaseError } from './store-constraints.ts'
import { Invoices } from './invoices.ts'
import { References } from './references.ts'
import { Locks, type Unit } from './store-locks.ts'

export interface KeyRecord extends KeyRow {
  live: boolean
  heldUntil: number
}

export interface DeliveryRow extends NewDelivery, Place {
  state: 'due' | 'delivered' | 'given up'
  dueAt: number | undefined
  lease: bigint | undefined
  tries: number
  lastTryAt: number
}

/**
 * What the tables hold and what the statements do to them, in memory: the meaning of src/order/store*.ts, src/delivery/store.ts and the heartbeat, without SQL.
 * A transaction sees what is committed, locks what it writes, and is applied at once at its commit. test/simulation/model.test.ts holds it to the real one.
 */
export class StoreModel {
  readonly orders = new Map<string, Order>()
  readonly keys = new Map<string, KeyRecord>()
  readonly cards = new Map<string, SealedCard>()
  readonly deliveries = new Map<string, DeliveryRow>()
  readonly heartbeats = new Map<bigint, { instance: string; beatAt: number }>()
  readonly locks = new Locks()
  readonly references = new References()
  readonly invoices = new Invoices((lease, processId) => this.#isFree(lease, processId))
  readonly counts: Counts
  /** Told of every change that was committed, with what was stored before it. */
  onCommit: (change: Change, stored: Order | undefined) => void = () => {}
  readonly #repeats = new Map<string, RepeatRow>()
  readonly #locators = new Map<string, Place>()
  readonly #blocks = new Map<string, bigint>()
  /** Orders and deliveries with something due, so that a sweep does not look at all there are. */
  readonly #withSteps = new Set<string>()
  readonly #dueDeliveries = new Set<DeliveryRow>()
  /** Database time, in milliseconds. */
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
    this.counts = new Counts(this.locks, now)
  }

  isDead(processId: bigint): boolean {
    const row = this.heartbeats.get(processId)
    return row === undefined || row.beatAt <= this.#now() - deadAfterMs
  }

  hasSteps(): boolean {
    return this.#withSteps.size > 0
  }

  /** Due times of all steps, if they are time limits of authentications and nothing else is left to do. */
  timeLimits(): number[] | undefined {
    const due = [...this.#withSteps].flatMap((key) => this.orders.get(key)!.transactions.filter((t) => t.step !== undefined))
    return due.every((t) => t.step === 'await method' || t.step === 'await challenge') ? due.map((t) => t.dueAt!) : undefined
  }

  dueDeliveries(): Iterable<DeliveryRow> {
    return this.#dueDeliveries
  }

  load(places: readonly Place[]): Order[] {
    return places.map((p) => this.orders.get(placeKey(p))).filter((o) => o !== undefined)
  }

  async claimKeys(unit: Unit, claims: readonly KeyClaim[]): Promise<KeyRow[]> {
    const sorted = [...claims].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    const won: KeyRow[] = []
    const lost: KeyRow[] = []
    for (const claim of sorted) {
      const name = nameOf(claim)
      await this.locks.take(unit, name)
      const row = this.#key(unit, name)
      const free = !row || (!row.live && (!row.digest.equals(claim.digest) || row.heldUntil < claim.at))
      const { merchantId, orderId, clientOrderid, digest, heldUntil } = claim
      const mine = { merchantId, orderId, clientOrderid, digest }
      if (free) this.#putKey(unit, name, { ...mine, live: true, heldUntil })
      if (free) won.push(mine)
      else lost.push(keyRow(row))
    }
    return [...won, ...lost]
  }

  newestOrders(names: readonly { merchantId: bigint; clientOrderid: string }[]): KeyRow[] {
    return names
      .map((n) => this.keys.get(nameOf(n)))
      .filter((row) => row !== undefined)
      .map(keyRow)
  }

  async save(unit: Unit, changes: readonly Change[], deliveryLease: bigint | undefined): Promise<Set<string>> {
    const sorted = [...changes].sort((a, b) => comparePlaces(a.after, b.after))
    const saved = new Set<string>()
    for (const change of sorted) {
      const key = placeKey(change.after)
      await this.locks.take(unit, key)
      const stored = this.orders.get(key)
      if (change.before) {
        if (stored?.version !== change.before.version) continue
      } else if (stored) throw databaseError('23505', `duplicate key value: order ${key}`)
      check(change)
      saved.add(key)
      unit.staged.push(() => this.#apply(change, deliveryLease))
      if (!['processing', 'unknown', 'approved'].includes(statusOf(change.after))) await this.#free(unit, change.after)
    }
    return saved
  }

  insertRepeats(unit: Unit, rows: readonly RepeatRow[]): void {
    for (const r of rows)
      unit.staged.push(() => {
        const key = `${placeKey(r)}/${r.serialNumber}`
        if (!this.#repeats.has(key)) this.#repeats.set(key, r)
      })
  }

  repeatOf(place: Place, serialNumber: string): number | undefined {
    return this.#repeats.get(`${placeKey(place)}/${serialNumber}`)?.transactionNo
  }

  namedRepeatOf(place: Place, operation: string, idempotencyKey: string, since: number): number | undefined {
    const named = [...this.#repeats.values()].filter((r) => r.idempotencyKey === idempotencyKey && r.operation === operation)
    return named.find((r) => placeKey(r) === placeKey(place) && r.at > since)?.transactionNo
  }

  locate(key: string): Place | undefined {
    return this.#locators.get(key)
  }

  sealedCards(places: readonly Place[]): Map<string, SealedCard> {
    return new Map(places.flatMap((p) => (this.cards.has(placeKey(p)) ? [[placeKey(p), this.cards.get(placeKey(p))!]] : [])))
  }

  claimDue(processId: bigint, now: number, limit: number): Due[] {
    const isDue = ({ dueAt, alarm, lease }: Transaction) =>
      dueAt !== undefined && dueAt <= now && alarm === undefined && this.#isFree(lease, processId)
    const found = [...this.#withSteps]
      .filter((key) => !this.locks.held(key))
      .map((key) => this.orders.get(key)!)
      .flatMap((order) => order.transactions.filter(isDue).map((t) => ({ order, t })))
    found.sort((a, b) => a.t.dueAt! - b.t.dueAt!)
    return found.slice(0, limit).map(({ order: { merchantId, orderId }, t }) => {
      this.#replace({ merchantId, orderId }, t.no, { ...t, lease: processId, dueAt: now + leaseLookMs })
      const due = { merchantId, orderId, transactionNo: t.no, tries: t.tries }
      return t.lease === undefined ? due : { ...due, hadLease: t.lease }
    })
  }

  async putBack(unit: Unit, due: Due, processId: bigint, dueAt: number, alarm: string | undefined): Promise<void> {
    await this.locks.take(unit, placeKey(due))
    const t = this.orders.get(placeKey(due))?.transactions.find(({ no }) => no === due.transactionNo)
    if (!t || t.lease !== processId || t.step === undefined) return
    const { lease: _lease, alarm: _alarm, ...rest } = t
    const next = { ...rest, tries: t.tries + 1, dueAt, ...(alarm === undefined ? {} : { alarm }) }
    unit.staged.push(() => this.#replace(due, t.no, next))
  }

  claimDeliveries(
    processId: bigint,
    now: number,
    limit: number,
    blocked: readonly string[],
  ): { row: DeliveryRow; was: bigint | undefined }[] {
    const firstOfUrl = (d: DeliveryRow) =>
      ![...this.#dueDeliveries].some(
        (o) =>
          o.merchantId === d.merchantId &&
          o.orderId === d.orderId &&
          o.deliveryNo < d.deliveryNo &&
          o.url === d.url &&
          o.tries === 0,
      )
    return [...this.#dueDeliveries]
      .filter((d) => d.dueAt! <= now && this.#isFree(d.lease, processId) && !blocked.includes(d.origin) && firstOfUrl(d))
      .sort((a, b) => a.dueAt! - b.dueAt!)
      .slice(0, limit)
      .map((row) => {
        const was = row.lease
        row.lease = processId
        row.dueAt = now + leaseLookMs
        return { row, was }
      })
  }

  saveTries(tries: readonly Try[], processId: bigint): void {
    for (const t of tries) {
      const row = this.deliveries.get(deliveryKey(t.delivery))
      if (!row || row.lease !== processId) continue
      row.state = t.state
      row.dueAt = t.state === 'due' ? t.dueAt : undefined
      row.lease = undefined
      row.tries = t.delivery.tries + 1
      row.lastTryAt = t.at
      if (t.state !== 'due') this.#dueDeliveries.delete(row)
    }
  }

  enter(processId: bigint, instance: string): void {
    this.heartbeats.set(processId, { instance, beatAt: this.#now() })
    for (const [id, row] of this.heartbeats) if (row.instance === instance && id !== processId) this.heartbeats.delete(id)
  }

  beat(processId: bigint): boolean {
    const row = this.heartbeats.get(processId)
    if (row) row.beatAt = this.#now()
    return row !== undefined
  }

  leave(processId: bigint): void {
    this.heartbeats.delete(processId)
  }

  reserve(name: string, count: number): bigint {
    const first = this.#blocks.get(name) ?? 1n
    this.#blocks.set(name, first + BigInt(count))
    return first
  }

  #isFree(lease: bigint | undefined, processId: bigint): boolean {
    return lease === undefined || lease === processId || this.isDead(lease)
  }

  #key(unit: Unit, name: string): KeyRecord | undefined {
    return (unit.own.get(name) as KeyRecord | undefined) ?? this.keys.get(name)
  }

  #putKey(unit: Unit, name: string, row: KeyRecord): void {
    unit.own.set(name, row)
    unit.staged.push(() => this.keys.set(name, row))
  }

  async #free(unit: Unit, order: Order): Promise<void> {
    const name = nameOf(order)
    if (this.#key(unit, name)?.orderId !== order.orderId) return
    await this.locks.take(unit, name)
    const row = this.#key(unit, name)
    if (row?.orderId === order.orderId && row.live) this.#putKey(unit, name, { ...row, live: false })
  }

  /** Writes what is a new object in `after`; a transaction or attempt that was not decided about stays as it is stored. */
  #apply(change: Change, deliveryLease: bigint | undefined): void {
    const { before, after, sealed } = change
    const key = placeKey(after)
    const stored = this.orders.get(key)
    const transactions = after.transactions.map((t, i) => (t === before?.transactions[i] ? (stored?.transactions[i] ?? t) : t))
    const attempts = after.attempts.map((a, i) => (a === before?.attempts[i] ? (stored?.attempts[i] ?? a) : a))
    this.#store(key, { ...after, transactions, attempts })
    if (sealed) this.cards.set(key, sealed)
    const card = this.cards.get(key)
    if (change.eraseCvv2 && card) {
      const { cvv2Sealed: _sealed, cvv2Key: _key, ...rest } = card
      this.cards.set(key, rest)
    }
    const at = change.rows.at(-1)?.at ?? after.createdAt
    for (const d of change.deliveries) {
      const lease = goesAtOnce(d) ? deliveryLease : undefined
      const dueAt = lease === undefined ? at : at + leaseLookMs
      const row: DeliveryRow = {
        ...d,
        merchantId: after.merchantId,
        orderId: after.orderId,
        state: 'due',
        dueAt,
        lease,
        tries: 0,
        lastTryAt: at,
      }
      this.deliveries.set(deliveryKey(row), row)
      this.#dueDeliveries.add(row)
    }
    for (const name of newKeys(before, after))
      if (!this.#locators.has(name)) this.#locators.set(name, { merchantId: after.merchantId, orderId: after.orderId })
    this.onCommit(change, stored)
  }

  #replace(place: Place, no: number, next: Transaction): void {
    const order = this.orders.get(placeKey(place))!
    this.#store(placeKey(place), { ...order, transactions: order.transactions.map((t) => (t.no === no ? next : t)) })
  }

  #store(key: string, order: Order): void {
    this.orders.set(key, order)
    if (order.transactions.some((t) => t.step !== undefined)) this.#withSteps.add(key)
    else this.#withSteps.delete(key)
  }
}

const keyRow = ({ merchantId, orderId, clientOrderid, digest }: KeyRow): KeyRow => ({
  merchantId,
  orderId,
  clientOrderid,
  digest,
})
const nameOf = (n: { merchantId: bigint; clientOrderid: string }): string => `name ${n.merchantId}/${n.clientOrderid}`
const deliveryKey = (d: Place & { deliveryNo: number }): string => `${placeKey(d)}/${d.deliveryNo}`
const comparePlaces = (a: Place, b: Place): number =>
  a.merchantId === b.merchantId ? Number(a.orderId - b.orderId) : Number(a.merchantId - b.merchantId)
