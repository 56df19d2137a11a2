import type { ReferenceStore } from '../src/card/store-references.ts'
import type { DeliveryStore } from '../src/delivery/store.ts'
import type { OrderStore, OrderTables } from '../src/order/store.ts'
import type { InvoiceStore } from '../src/mobile-api/store-invoices.ts'
import type { WrongSums } from '../src/mobile-api/store-sums.ts'
import type { HeartbeatStore } from '../src/storage/store-heartbeat.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import { openInvoices } from './invoices.ts'
import { openReferenceStore } from './references.ts'
import { newUnit, type Unit } from './store-locks.ts'
import { databaseError } from './store-constraints.ts'
import type { StoreModel } from './store-model.ts'
import { openSums } from './sums.ts'

/** How the database is doing; the troubles of a world change it. */
export interface DatabaseWeather {
  down: boolean
  /** One way, at the most. */
  latencyMs: number
  /** How likely a connection is lost, for each statement on its way there and on its way back. */
  lossOdds: number
  /** How likely a commit is refused with 40001. */
  conflictOdds: number
}

/** All that a gateway process asks of the database. */
export interface Stores {
  orders: OrderStore
  deliveries: DeliveryStore
  heartbeat: HeartbeatStore
  silent(): Promise<bigint[]>
  references: ReferenceStore
  invoices: InvoiceStore
  wrongSums: WrongSums
  reserve(name: string, count: number): Promise<bigint>
}

export interface StoreLine extends Stores {
  /** The process died: what it had not yet asked to commit is rolled back. */
  cut(): void
}

export interface LineParts {
  model: StoreModel
  events: Events
  actor: Actor
  chance: Chance
  weather: DatabaseWeather
  /** Called for each statement that reaches the database. */
  reached?: (how: 'answered' | 'refused') => void
}

const terminated = () => databaseError('57P01', 'Connection terminated unexpectedly')

/**
 * The line from a process to the model: each statement takes time there and back, and between any two of them the connection, the database or the process
 * may be gone. After a loss at the commit nobody knows whether it went through.
 */
export function openStoreLine({ model, events, actor, chance, weather, reached }: LineParts): StoreLine {
  const open = new Map<Unit, 'open' | 'committing'>()
  const way = () => chance.between(0.1, weather.latencyMs)

  const end = (unit: Unit, how: 'commit' | 'rollback') => {
    open.delete(unit)
    model.locks.end(unit, how)
  }

  function call<T>(body: () => T | Promise<T>, unit?: Unit): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (tell: () => void) => events.after(way(), actor, tell)
      const refuse = (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error))))
      const lose = () => {
        // The database notices later than the process; until then the locks stay.
        if (unit) events.after(chance.between(0, 200), undefined, () => end(unit, 'rollback'))
        refuse(terminated())
      }
      events.after(way(), undefined, () => {
        reached?.(weather.down ? 'refused' : 'answered')
        if (weather.down) {
          if (unit) end(unit, 'rollback')
          return refuse(databaseError('ECONNREFUSED', 'connect ECONNREFUSED'))
        }
        if (!actor.alive && chance.happens(0.5)) return unit && end(unit, 'rollback')
        if (chance.happens(weather.lossOdds)) return lose()
        const done = async () => body()
        void done().then((value) => (chance.happens(weather.lossOdds) ? lose() : answer(() => resolve(value))), refuse)
      })
    })
  }

  /** A statement that is a transaction of its own. */
  const alone = <T>(body: (unit: Unit) => T | Promise<T>): Promise<T> =>
    call(async () => {
      const unit = newUnit()
      try {
        const value = await body(unit)
        model.locks.end(unit, 'commit')
        return value
      } catch (error) {
        model.locks.end(unit, 'rollback')
        throw error
      }
    })

  function commit(unit: Unit): Promise<void> {
    open.set(unit, 'committing')
    return call(() => {
      if (unit.ended) throw terminated()
      if (chance.happens(weather.conflictOdds)) {
        end(unit, 'rollback')
        throw databaseError('40001', 'could not serialize access due to concurrent update')
      }
      if (!chance.happens(weather.lossOdds)) return end(unit, 'commit')
      const fate = chance.whole(0, 2)
      if (fate === 0) end(unit, 'rollback')
      else if (fate === 1) end(unit, 'commit')
      else events.after(chance.between(0, 100), undefined, () => end(unit, 'commit'))
      throw terminated()
    }, unit)
  }

  const tablesOf = (unit: Unit): OrderTables => {
    const inside = <T>(body: () => T | Promise<T>): Promise<T> =>
      call(() => {
        if (unit.ended) throw terminated()
        return body()
      }, unit)
    return {
      claimKeys: (claims) => inside(() => model.claimKeys(unit, claims)),
      load: (places) => (places.length === 0 ? Promise.resolve([]) : inside(() => model.load(places))),
      save: (changes, lease) =>
        changes.length === 0 ? Promise.resolve(new Set()) : inside(() => model.save(unit, changes, lease)),
      lockCounts: (places) => inside(() => model.counts.lock(unit, places)),
      saveCounts: (rows) => (rows.length === 0 ? Promise.resolve() : inside(() => model.counts.save(unit, rows))),
      claimIdempotencyKeys: (rows, now) => inside(() => model.idempotency.claim(unit, rows, now)),
      insertRepeats: (rows) => (rows.length === 0 ? Promise.resolve() : inside(() => model.insertRepeats(unit, rows))),
    }
  }

  const orders: OrderStore = {
    async transaction(body) {
      const unit = newUnit()
      open.set(unit, 'open')
      try {
        const result = await body(tablesOf(unit))
        await commit(unit)
        return result
      } catch (error) {
        // After a loss at the commit there is no connection to roll back on.
        if (open.get(unit) === 'open')
          await call(() => end(unit, 'rollback'), unit).catch(() => {
            // The connection is gone, and with it the transaction.
          })
        throw error
      }
    },
    load: (places) => (places.length === 0 ? Promise.resolve([]) : call(() => model.load(places))),
    claimDue: (by, now, limit) => alone(() => model.claimDue(by, now, limit)),
    putBack: (due, processId, dueAt, alarm) => alone((unit) => model.putBack(unit, due, processId, dueAt, alarm)),
    sealedCards: (places) => call(() => model.sealedCards(places)),
    newestOrders: (names) => call(() => model.newestOrders(names)),
    signedAmounts: (place) => call(() => model.signedAmounts(place)),
    shown: (wanted) => (wanted.length === 0 ? Promise.resolve([]) : call(() => model.shown(wanted))),
    idempotencyKeys: (keys, now) => call(() => model.idempotency.held(keys, now)),
    forgetIdempotencyKeys: (now) => call(() => model.idempotency.forget(now)),
    locate: (key) => call(() => model.locate(key)),
  }
  return {
    orders,
    deliveries: {
      waiting: (after, limit) => call(() => model.deliveries.waiting(after, limit)),
      claimDue: (by, now, turns, room) => alone(() => model.deliveries.claim(by, now, turns, room)),
      saveTries: (tries, processId) => alone(() => model.deliveries.saveTries(tries, processId)),
    },
    heartbeat: {
      enter: (processId, instance) => alone(() => model.enter(processId, instance)),
      beat: (processId) => alone(() => model.beat(processId)),
      leave: (processId) => alone(() => model.leave(processId)),
      // For the doctor, who does not look at this world.
      lapsed: () => alone(() => {}),
      tookOver: () => alone(() => {}),
    },
    silent: () => alone(() => model.silent()),
    references: openReferenceStore(model.references, (body) => call(body)),
    invoices: openInvoices(model.invoices, (body) => alone(body)),
    wrongSums: openSums(model.sums, (body) => alone(body)),
    reserve: (name, count) => alone(() => model.reserve(name, count)),
    cut() {
      for (const [unit, state] of open)
        if (state === 'open') events.after(chance.between(0, 50), undefined, () => end(unit, 'rollback'))
    },
  }
}
