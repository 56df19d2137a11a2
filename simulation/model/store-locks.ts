/** A transaction at the database, with its writes and its locks until it ends. */
export interface Unit {
  /** Writes that the commit applies in order, all or none. */
  staged: (() => void)[]
  /** Rows that it wrote, visible only to itself. */
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

/** Row locks. A wait that would deadlock fails with 40P01, as PostgreSQL does after a while. */
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

  /** Commits or rolls back; only the first call counts. */
  end(unit: Unit, how: 'commit' | 'rollback'): void {
    if (unit.ended) return
    unit.ended = true
    if (how === 'commit') for (const apply of unit.staged) apply()
    for (const row of unit.locked) this.#holders.delete(row)
    for (const wake of unit.waiting.splice(0)) wake()
  }
}
