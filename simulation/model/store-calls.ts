import type { Chance } from '../world/chance.ts'
import type { Actor, Events } from '../world/clock.ts'
import { databaseError } from './store-constraints.ts'
import { newUnit, type Unit } from './store-locks.ts'
import type { StoreModel } from './store-model.ts'

/** State of the database and of the way to it; the troubles of a world change it. */
export interface DatabaseWeather {
  down: boolean
  /** The most that one way takes. */
  latencyMs: number
  /**
   * How likely a statement loses its connection, on the way to the database and on the way back.
   */
  lossOdds: number
  /** How likely a commit is refused with 40001. */
  conflictOdds: number
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

const serialisationFailure = () => databaseError('40001', 'could not serialize access due to concurrent update')
const terminated = () => databaseError('57P01', 'Connection terminated unexpectedly')

/**
 * The way from a process to the model. Each statement takes time in both directions, and between
 * two statements the connection, the database or the process may fail. If the connection is lost at
 * the commit, the process cannot know whether the commit succeeded.
 */
export class StoreCalls {
  readonly #parts: LineParts
  readonly #open = new Map<Unit, 'open' | 'committing'>()

  constructor(parts: LineParts) {
    this.#parts = parts
  }

  /** One statement, of this transaction or of none. */
  run<T>(body: () => T | Promise<T>, unit?: Unit): Promise<T> {
    const { events, actor, chance, weather, reached } = this.#parts
    return new Promise((resolve, reject) => {
      const answer = (deliver: () => void) => events.after(this.#wayMs(), actor, deliver)
      const refuse = (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error))))
      const lose = () => {
        // The database notices the loss later than the process, and keeps the locks until then.
        if (unit) events.after(chance.between(0, 200), undefined, () => this.#end(unit, 'rollback'))
        refuse(terminated())
      }
      events.after(this.#wayMs(), undefined, () => {
        reached?.(weather.down ? 'refused' : 'answered')
        if (weather.down) {
          if (unit) this.#end(unit, 'rollback')
          return refuse(databaseError('ECONNREFUSED', 'connect ECONNREFUSED'))
        }
        if (!actor.alive && chance.happens(0.5)) return unit && this.#end(unit, 'rollback')
        if (chance.happens(weather.lossOdds)) return lose()
        const done = async () => body()
        void done().then((value) => (chance.happens(weather.lossOdds) ? lose() : answer(() => resolve(value))), refuse)
      })
    })
  }

  /** A statement that is a transaction of its own. */
  alone<T>(body: (unit: Unit) => T | Promise<T>): Promise<T> {
    const { locks } = this.#parts.model
    return this.run(async () => {
      const unit = newUnit()
      try {
        const value = await body(unit)
        locks.end(unit, 'commit')
        return value
      } catch (error) {
        locks.end(unit, 'rollback')
        throw error
      }
    })
  }

  /** A whole transaction in one round trip, commit included. */
  atOnce<T>(body: (unit: Unit) => T | Promise<T>): Promise<T> {
    const { chance, weather } = this.#parts
    return this.alone(async (unit) => {
      const value = await body(unit)
      if (chance.happens(weather.conflictOdds)) throw serialisationFailure()
      return value
    })
  }

  /** A statement within a transaction. */
  inside<T>(unit: Unit, body: () => T | Promise<T>): Promise<T> {
    return this.run(() => {
      if (unit.ended) throw terminated()
      return body()
    }, unit)
  }

  async transaction<T>(body: (unit: Unit) => Promise<T>): Promise<T> {
    const unit = newUnit()
    this.#open.set(unit, 'open')
    try {
      const result = await body(unit)
      await this.#commit(unit)
      return result
    } catch (error) {
      // If the connection was lost at the commit, none is left for a rollback.
      if (this.#open.get(unit) === 'open')
        await this.run(() => this.#end(unit, 'rollback'), unit).catch(() => {
          // The connection is gone, and with it the transaction.
        })
      throw error
    }
  }

  /** The process died: rolls back its transactions that had not yet reached the commit. */
  cut(): void {
    const { events, chance } = this.#parts
    for (const [unit, state] of this.#open)
      if (state === 'open') events.after(chance.between(0, 50), undefined, () => this.#end(unit, 'rollback'))
  }

  #commit(unit: Unit): Promise<void> {
    const { events, chance, weather } = this.#parts
    this.#open.set(unit, 'committing')
    return this.inside(unit, () => {
      if (chance.happens(weather.conflictOdds)) {
        this.#end(unit, 'rollback')
        throw serialisationFailure()
      }
      if (!chance.happens(weather.lossOdds)) return this.#end(unit, 'commit')
      const fate = chance.whole(0, 2)
      if (fate === 0) this.#end(unit, 'rollback')
      else if (fate === 1) this.#end(unit, 'commit')
      else events.after(chance.between(0, 100), undefined, () => this.#end(unit, 'commit'))
      throw terminated()
    })
  }

  #end(unit: Unit, how: 'commit' | 'rollback'): void {
    this.#open.delete(unit)
    this.#parts.model.locks.end(unit, how)
  }

  #wayMs(): number {
    return this.#parts.chance.between(0.1, this.#parts.weather.latencyMs)
  }
}
