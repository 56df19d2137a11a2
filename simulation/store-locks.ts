/** A transaction at the database: what it wrote and holds locked until it ends. */
export interface Unit {
  /** Applied in order at the commit, all or nothing. */
  staged: (() => void)[]
  /** Rows it wrote, as it sees them itself. */
  own: Map<string, unknown>
  locked: Set<string>
  waitsFor: Unit | undefined
  waiting: (() => void)[]
  ended: boolean
}

export const newUnit = (): Unit => ({
  staged: [],
  own: new Map(),
  locked: new Set(),
  waitsFor: undefined,
  waiting: [],
  ended: false,
})

/** Row locks. A wait that would close a circle fails with 40P01, as in PostgreSQL after a while. */
export class Locks {
  readonly #holders = new Map<string, Unit>()

  held(row: string): boolean {
    return this.#holders.has(row)
  }

  async take(unit: Unit, row: string): Promise<void> {
    for (;;) {
      if (unit.ended) throw Object.assign(new Error('Connection terminated'), { code: '57P01' })
      const holder = this.#holders.get(row)
      if (holder === undefined || holder === unit) break
      for (let other: Unit | undefined = holder; other; other = other.waitsFor)
        if (other === unit) throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
      unit.waitsFor = holder
      await new Promise<void>((resolve) => holder.waiting.push(resolve))
      unit.waitsFor = undefined
    }
    this.#holders.set(row, unit)
    unit.locked.add(row)
  }

  /** Commits or rolls back: once, whoever asks first. */
  end(unit: Unit, how: 'commit' | 'rollback'): void {
    if (unit.ended) return
    unit.ended = true
    if (how === 'commit') for (const apply of unit.staged) apply()
    for (const row of unit.locked) this.#holders.delete(row)
    for (const wake of unit.waiting.splice(0)) wake()
  }
}
