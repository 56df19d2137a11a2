import type { SealedCard } from '../../src/card/vault.ts'
import type { DeliveryLease } from '../../src/delivery/store.ts'
import { head, statusOf, type Order, type Transaction } from '../../src/order/decide/order.ts'
import { newKeys } from '../../src/order/decide/locator-keys.ts'
import { orderKeyText, type Change, type OrderKey, type RepeatRow } from '../../src/order/decide/change.ts'
import type { Due, PlainBatch } from '../../src/order/store/store.ts'
import type { SignedAmount } from '../../src/order/store/rows.ts'
import type { Shown, ShownWish } from '../../src/order/store/shown.ts'
import { deadAfterMs, leaseLookMs } from '../../src/leases/heartbeat.ts'
import type { Claimer } from '../../src/leases/leased.ts'
import type { Silence } from '../../src/leases/silence.ts'
import { answerWithinMs } from '../../src/three-d-secure/authentication.ts'
import { Counts } from './counts.ts'
import { comparePlaces, Deliveries } from './deliveries.ts'
import { Fence, Movers } from './fence.ts'
import { IdBlocks } from './id-blocks.ts'
import { IdempotencyKeys } from './idempotency-keys.ts'
import { check, databaseError } from './store-constraints.ts'
import { MinuteCounts } from './minute-counts.ts'
import { Invoices } from './invoices.ts'
import { Sums } from './sums.ts'
import { References } from './references.ts'
import { isSpared } from './spared.ts'
import { Names } from './names.ts'
import { NonceTable } from './nonces.ts'
import { Locks, type Unit } from './store-locks.ts'

/** A transaction of one round trip failed on purpose, because somebody else was there before. */
export class Conflict extends Error {}

export interface Step {
  order: Order
  t: Transaction
}

/**
 * The tables and the effects of the statements in memory: the meaning of src/order/store*.ts,
 * src/delivery/store.ts and the heartbeat, without SQL. A transaction sees committed rows, locks
 * the rows that it writes, and takes effect as a whole at its commit. test/simulation/model.test.ts
 * compares the model with the real store.
 */
export class StoreModel {
  readonly orders = new Map<string, Order>()
  readonly cards = new Map<string, SealedCard>()
  readonly fence = new Fence()
  readonly deliveries = new Deliveries((lease, by) => this.#isFree(lease, by), this.fence)
  readonly heartbeats = new Map<bigint, { instance: string; beatAt: number }>()
  readonly locks = new Locks()
  readonly movers = new Movers()
  readonly references = new References(this.fence)
  readonly invoices = new Invoices((lease, by) => this.#isFree(lease, by), this.fence)
  readonly sums = new Sums(this.invoices)
  readonly counts: Counts
  readonly minutes = new MinuteCounts()
  readonly names = new Names(this.locks)
  readonly nonces = new NonceTable(this.fence)
  readonly idempotency = new IdempotencyKeys(this.locks)
  /** Called for every committed change, with the order that was stored before it. */
  onCommit: (change: Change, stored: Order | undefined) => void = () => {}
  /**
   * Called for each row that another process may take, because its own process was judged dead by
   * its silence.
   */
  onJudged: (lease: bigint) => void = () => {}
  /**
   * Called for each claim, with the claimed steps as they were before, and with whether the claim
   * had room for more.
   */
  onClaimed: (by: Claimer, now: number, taken: readonly Step[], hadRoom: boolean) => void = () => {}
  readonly #repeats = new Map<string, RepeatRow>()
  /** Orders of merchants that have left, as they were. */
  readonly left = new Map<string, Order>()
  readonly locators = new Map<string, OrderKey>()
  readonly #ids: IdBlocks
  /** Orders with something due, so that a sweep need not look at every order. */
  readonly #withSteps = new Set<string>()
  /** Database time, in milliseconds. */
  readonly #now: () => number

  constructor(now: () => number, ids = new IdBlocks()) {
    this.#now = now
    this.#ids = ids
    this.counts = new Counts(this.locks, now)
  }

  /**
   * Dead by silence that lasted `longerMs` beyond the dead-after span, or because it has no row.
   */
  isDead(processId: bigint, longerMs = 0): boolean {
    const row = this.heartbeats.get(processId)
    return row === undefined || row.beatAt <= this.#now() - deadAfterMs - longerMs
  }

  /** Its row is gone, because it ended or another process has started in its place. */
  isKnownDead(processId: bigint): boolean {
    return !this.heartbeats.has(processId)
  }

  silent(): Silence {
    return { silent: [...this.heartbeats.keys()].filter((id) => this.isDead(id)), now: this.#now() }
  }

  hasSteps(): boolean {
    return this.#withSteps.size > 0
  }

  /**
   * Due times of all steps, if all of them only wait for the time limits of authentications;
   * undefined otherwise.
   */
  timeLimits(): number[] | undefined {
    const due = [...this.#withSteps].flatMap((key) => this.orders.get(key)!.transactions.filter((t) => t.step !== undefined))
    return due.every((t) => t.step?.startsWith('await ')) ? due.map((t) => t.dueAt!) : undefined
  }

  /** All steps that wait to be done, and whether a running statement has locked them. */
  *steps(): Iterable<Step & { isLocked: boolean }> {
    for (const key of this.#withSteps) {
      const order = this.orders.get(key)!
      for (const t of order.transactions) if (t.step !== undefined) yield { order, t, isLocked: this.locks.held(key) }
    }
  }

  load(orderKeys: readonly OrderKey[]): Order[] {
    return orderKeys.map((p) => this.orders.get(orderKeyText(p))).filter((o) => o !== undefined)
  }

  /**
   * Claims names that must be unused, and writes all the rest. Throws `Conflict` if a name or
   * a key was used, or a version is not the one that was decided on.
   */
  async saveAtOnce(unit: Unit, { claims, changes, deliveryLease, repeats, keys }: PlainBatch): Promise<void> {
    if (!(await this.names.claimNew(unit, claims))) throw new Conflict('a name was used before')
    const saved = await this.save(unit, changes, deliveryLease)
    if (saved.size < changes.length) throw new Conflict('a version moved')
    this.insertRepeats(unit, repeats)
    if (!(await this.idempotency.claimNew(unit, keys))) throw new Conflict('an Idempotency-Key was used before')
    this.minutes.add(unit, changes)
  }

  versions(orderKeys: readonly OrderKey[]): Map<string, number> {
    return new Map(this.load(orderKeys).map((order) => [orderKeyText(order), order.version]))
  }

  async save(unit: Unit, changes: readonly Change[], deliveryLease: DeliveryLease | undefined): Promise<Set<string>> {
    const sorted = [...changes].sort((a, b) => comparePlaces(a.after, b.after))
    const saved = new Set<string>()
    for (const change of sorted) {
      const key = orderKeyText(change.after)
      await this.locks.take(unit, key)
      const stored = this.orders.get(key)
      if (change.before) {
        if (stored?.version !== change.before.version) continue
      } else if (stored) throw databaseError('23505', `duplicate key value: order ${key}`)
      check(change)
      saved.add(key)
      unit.staged.push(() => this.#apply(change, deliveryLease))
      if (!['processing', 'unknown', 'approved'].includes(statusOf(change.after))) await this.names.free(unit, change.after)
    }
    return saved
  }

  insertRepeats(unit: Unit, rows: readonly RepeatRow[]): void {
    for (const r of rows)
      unit.staged.push(() => {
        const key = `${orderKeyText(r)}/${r.serialNumber}`
        if (!this.#repeats.has(key)) this.#repeats.set(key, r)
      })
  }

  shown(wanted: readonly ShownWish[]): (Shown | undefined)[] {
    return wanted.map((wish) => {
      const order = this.orders.get(orderKeyText(wish))
      if (!order) return undefined
      const { serialNumber } = wish
      const asked = order.transactions.filter((t) => t.origin === 'request')
      const no =
        serialNumber === undefined
          ? asked.at(-1)?.no
          : (asked.find((t) => t.serialNumber === serialNumber)?.no ?? this.repeat(wish, serialNumber)?.transactionNo)
      const transactions = order.transactions.filter((t) => t.no === 1 || t.no === no)
      const transaction = transactions.find((t) => t.no === no)
      return { order: { ...order, transactions, attempts: [] }, ...(transaction ? { transaction } : {}) }
    })
  }

  /** The repeat that was answered with the transaction of an earlier request. */
  repeat(orderKey: OrderKey, serialNumber: string): RepeatRow | undefined {
    return this.#repeats.get(`${orderKeyText(orderKey)}/${serialNumber}`)
  }

  repeatsOf(orderKey: OrderKey): RepeatRow[] {
    return [...this.#repeats.values()].filter((row) => orderKeyText(row) === orderKeyText(orderKey))
  }

  /** A row that comes from another cell, or that a move changes. */
  put(order: Order, card = this.cards.get(orderKeyText(order)), repeats: readonly RepeatRow[] = []): void {
    if (card) this.cards.set(orderKeyText(order), card)
    for (const row of repeats) this.#repeats.set(`${orderKeyText(row)}/${row.serialNumber}`, row)
    this.#store(orderKeyText(order), order)
  }

  remove(orderKey: OrderKey): void {
    for (const { serialNumber } of this.repeatsOf(orderKey)) this.#repeats.delete(`${orderKeyText(orderKey)}/${serialNumber}`)
    for (const rows of [this.orders, this.cards, this.#withSteps]) rows.delete(orderKeyText(orderKey))
  }

  signedAmounts(orderKey: OrderKey): readonly SignedAmount[] | undefined {
    const [order] = this.load([orderKey])
    return (
      order && [order, head(order)].map(({ amountText, amountMinor }) => ({ currency: order.currency, amountText, amountMinor }))
    )
  }

  locate(key: string): OrderKey | undefined {
    return this.locators.get(key)
  }

  sealedCards(orderKeys: readonly OrderKey[]): Map<string, SealedCard> {
    return new Map(
      orderKeys.flatMap((p) => (this.cards.has(orderKeyText(p)) ? [[orderKeyText(p), this.cards.get(orderKeyText(p))!]] : [])),
    )
  }

  claimDue(by: Claimer, now: number, limit: number): Due[] {
    const isDue = (order: Order) => (t: Transaction) =>
      t.dueAt !== undefined &&
      t.dueAt <= now &&
      t.alarm === undefined &&
      !isSpared({ ...order, ...t }, by) &&
      this.#isFree(t.lease, by, this.patienceMs(order, t))
    const found = [...this.#withSteps]
      .filter((key) => !this.locks.held(key))
      .map((key) => this.orders.get(key)!)
      .flatMap((order) => order.transactions.filter(isDue(order)).map((t) => ({ order, t })))
    found.sort((a, b) => a.t.dueAt! - b.t.dueAt!)
    this.fence.demand(found.slice(0, limit).map(({ order }) => order.merchantId))
    this.onClaimed(by, now, found.slice(0, limit), found.length < limit)
    return found.slice(0, limit).map(({ order: { merchantId, orderId }, t }) => {
      this.#replace({ merchantId, orderId }, t.no, { ...t, lease: by.processId, dueAt: now + leaseLookMs })
      this.fence.write(merchantId, `order ${orderId}`)
      const due = { merchantId, orderId, transactionNo: t.no, tries: t.tries }
      return t.lease === undefined ? due : { ...due, hadLease: t.lease }
    })
  }

  firstDue(): number {
    const all = [...this.#withSteps].map((key) => this.orders.get(key)!)
    const open = all.flatMap(({ transactions }) => transactions.filter((t) => t.alarm === undefined))
    return Math.min(...open.map(({ dueAt }) => dueAt ?? Infinity))
  }

  /** How long after its start the call of a step may still be answered. */
  patienceMs(order: Order, { no, step }: Transaction): number {
    if (step === 'authenticate' || step === 'enrol') return answerWithinMs
    if (step !== 'authorise') return 0
    const open = order.attempts.filter((a) => a.transactionNo === no && a.outcome === undefined)
    return Math.max(0, ...open.map((a) => a.deadlineAt - a.startedAt))
  }

  async putBack(unit: Unit, due: Due, processId: bigint, dueAt: number, alarm: string | undefined): Promise<void> {
    await this.locks.take(unit, orderKeyText(due))
    const t = this.orders.get(orderKeyText(due))?.transactions.find(({ no }) => no === due.transactionNo)
    if (!t || t.lease !== processId || t.step === undefined) return
    this.fence.admit(unit, [due])
    const { lease: _lease, alarm: _alarm, ...rest } = t
    const next = { ...rest, tries: t.tries + 1, dueAt, ...(alarm === undefined ? {} : { alarm }) }
    unit.staged.push(() => this.#replace(due, t.no, next))
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
    return this.#ids.reserve(name, count)
  }

  #isFree(lease: bigint | undefined, { processId, silent }: Claimer, patienceMs = 0): boolean {
    if (lease === undefined || lease === processId || this.isKnownDead(lease)) return true
    const isFree = silent.includes(lease) && this.isDead(lease, patienceMs)
    if (isFree) this.onJudged(lease)
    return isFree
  }

  /**
   * Writes the transactions and attempts that are new objects in `after`. Those that the decision
   * did not change stay as stored.
   */
  #apply(change: Change, deliveryLease: DeliveryLease | undefined): void {
    const { before, after, sealed } = change
    const key = orderKeyText(after)
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
    this.deliveries.insert(change, change.rows.at(-1)?.at ?? after.createdAt, deliveryLease)
    for (const name of newKeys(before, after))
      if (!this.locators.has(name)) this.locators.set(name, { merchantId: after.merchantId, orderId: after.orderId })
    this.onCommit(change, stored)
  }

  #replace(orderKey: OrderKey, no: number, next: Transaction): void {
    const order = this.orders.get(orderKeyText(orderKey))!
    this.#store(orderKeyText(orderKey), { ...order, transactions: order.transactions.map((t) => (t.no === no ? next : t)) })
  }

  #store(key: string, order: Order): void {
    this.orders.set(key, order)
    if (order.transactions.some((t) => t.step !== undefined)) this.#withSteps.add(key)
    else this.#withSteps.delete(key)
  }
}
