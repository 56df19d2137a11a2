import type { ReferenceStore } from '../../src/card/reference-rows.ts'
import type { CellStores } from '../../src/gateway/parts.ts'
import type { DeliveryStore } from '../../src/delivery/store.ts'
import { countedIn } from '../../src/order/decide/counted.ts'
import type { OrderStore, OrderTables } from '../../src/order/store/store.ts'
import type { InvoiceStore } from '../../src/mobile-api/invoice/store.ts'
import type { WrongSums } from '../../src/mobile-api/sum/store.ts'
import type { HeartbeatStore } from '../../src/leases/heartbeat.ts'
import type { Silence } from '../../src/leases/silence.ts'
import { openInvoices } from './invoices.ts'
import { openReferenceStore } from './references.ts'
import { StoreCalls, type LineParts } from './store-calls.ts'
import type { Unit } from './store-locks.ts'
import { Conflict, type StoreModel } from './store-model.ts'
import { openSums } from './sums.ts'

/** All stores of a gateway process. */
export interface Stores {
  orders: OrderStore
  deliveries: DeliveryStore
  heartbeat: HeartbeatStore
  silent(): Promise<Silence>
  references: ReferenceStore
  invoices: InvoiceStore
  wrongSums: WrongSums
  useNonces: CellStores['useNonces']
  reserve(name: string, count: number): Promise<bigint>
}

export interface StoreLine extends Stores {
  /** The process died: rolls back its transactions that had not yet reached the commit. */
  cut(): void
}

/** All stores over one line to the model. */
export function openStoreLine(parts: LineParts): StoreLine {
  const { model } = parts
  const calls = new StoreCalls(parts)
  return {
    orders: ordersOver(calls, model),
    deliveries: {
      waiting: (after, limit) => calls.run(() => model.deliveries.waiting(after, limit)),
      claimDue: (by, now, turns, room) => calls.alone(() => model.deliveries.claim(by, now, turns, room)),
      saveTries: (tries, processId) => calls.alone(() => model.deliveries.saveTries(tries, processId)),
      letGo: (deliveries, processId, now) =>
        unlessEmpty(deliveries, undefined, () => calls.alone(() => model.deliveries.letGo(deliveries, processId, now))),
      // Only operators read what this, `lapsed` and `tookOver` write, and no world has any.
      notePaused: () => calls.alone(() => {}),
    },
    heartbeat: {
      enter: (processId, instance) => calls.alone(() => model.enter(processId, instance)),
      beat: (processId) => calls.alone(() => model.beat(processId)),
      leave: (processId) => calls.alone(() => model.leave(processId)),
      lapsed: () => calls.alone(() => {}),
      tookOver: () => calls.alone(() => {}),
    },
    silent: () => calls.alone(() => model.silent()),
    references: openReferenceStore(model.references, (body) => calls.run(body)),
    invoices: openInvoices(model.invoices, (body) => calls.alone(body)),
    wrongSums: openSums(model.sums, (body) => calls.alone(body)),
    useNonces: (uses) => calls.alone(() => model.nonces.use(uses)),
    reserve: (name, count) => calls.alone(() => model.reserve(name, count)),
    cut: () => calls.cut(),
  }
}

/** Sends no statement for an empty list. */
const unlessEmpty = <R>(items: readonly unknown[], empty: R, ask: () => Promise<R>): Promise<R> =>
  items.length === 0 ? Promise.resolve(empty) : ask()

const ordersOver = (calls: StoreCalls, model: StoreModel): OrderStore => ({
  transaction: (body) => calls.transaction((unit) => body(tablesOver(calls, model, unit))),
  async saveAtOnce(batch) {
    try {
      await calls.atOnce((unit) => {
        const { changes, repeats, keys } = batch
        model.fence.admit(unit, [...changes.map(({ after }) => after), ...repeats, ...keys])
        return model.saveAtOnce(unit, batch)
      })
      return true
    } catch (error) {
      if (error instanceof Conflict) return false
      throw error
    }
  },
  versions: (orderKeys) => unlessEmpty(orderKeys, new Map(), () => calls.run(() => model.versions(orderKeys))),
  load: (orderKeys) => unlessEmpty(orderKeys, [], () => calls.run(() => model.load(orderKeys))),
  claimDue: (by, now, limit) => calls.alone(() => model.claimDue(by, now, limit)),
  firstDue: () => calls.run(() => model.firstDue()),
  putBack: (due, processId, dueAt, alarm) => calls.alone((unit) => model.putBack(unit, due, processId, dueAt, alarm)),
  sealedCards: (orderKeys) => calls.run(() => model.sealedCards(orderKeys)),
  newestOrders: (names) => calls.run(() => model.names.newest(names)),
  signedAmounts: (orderKey) => calls.run(() => model.signedAmounts(orderKey)),
  shown: (wanted) => unlessEmpty(wanted, [], () => calls.run(() => model.shown(wanted))),
  idempotencyKeys: (keys, now) => calls.run(() => model.idempotency.held(keys, now)),
  forgetIdempotencyKeys: (now) => calls.run(() => model.idempotency.forget(now)),
  locate: (keys) => calls.run(() => keys.map((key) => model.locate(key))),
})

function tablesOver(calls: StoreCalls, model: StoreModel, unit: Unit): OrderTables {
  const inside = <T>(body: () => T | Promise<T>) => calls.inside(unit, body)
  const admitting = <T>(places: readonly { merchantId: bigint }[], write: () => T | Promise<T>) =>
    inside(() => {
      model.fence.admit(unit, places)
      return write()
    })
  return {
    claimKeys: (claims) => admitting(claims, () => model.names.claim(unit, claims)),
    load: (orderKeys) => unlessEmpty(orderKeys, [], () => inside(() => model.load(orderKeys))),
    save: (changes, lease) =>
      unlessEmpty(changes, new Set(), () =>
        admitting(
          changes.map(({ after }) => after),
          () => model.save(unit, changes, lease),
        ),
      ),
    lockCounts: (places) => inside(() => model.counts.lock(unit, places)),
    saveCounts: (rows) => unlessEmpty(rows, undefined, () => admitting(rows, () => model.counts.save(unit, rows))),
    claimIdempotencyKeys: (rows, now) => admitting(rows, () => model.idempotency.claim(unit, rows, now)),
    insertRepeats: (rows) => unlessEmpty(rows, undefined, () => admitting(rows, () => model.insertRepeats(unit, rows))),
    count: (changes) => unlessEmpty(countedIn(changes), undefined, () => inside(() => model.minutes.add(unit, changes))),
  }
}
