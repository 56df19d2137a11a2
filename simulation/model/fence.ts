import { fenceName } from '../../src/gateway/guard.ts'
import { databaseError } from './store-constraints.ts'
import type { Unit } from './store-locks.ts'

/**
 * The constraint of all tables of a cell: the meaning of src/operator/cells/merchant-fence.ts.
 * Every statement that inserts or changes rows of a merchant meets it.
 */
export class Fence {
  readonly away = new Set<bigint>()
  /** Transactions that hold locks on the tables until they end. */
  readonly #writers = new Set<Unit>()
  /** Called for each write of rows of a merchant, other than those of a move. */
  onWrite: (merchantId: bigint, what: string) => void = () => {}

  /** For a statement that writes rows of these merchants: then it writes none. */
  demand(merchantIds: Iterable<bigint>): void {
    for (const merchantId of merchantIds)
      if (this.away.has(merchantId)) throw databaseError('23514', `a new row violates check constraint "${fenceName}"`)
  }

  /** The same within a transaction that goes on. */
  admit(unit: Unit, places: readonly { merchantId: bigint }[]): void {
    for (const writer of this.#writers) if (writer.ended) this.#writers.delete(writer)
    this.#writers.add(unit)
    this.demand(places.map(({ merchantId }) => merchantId))
  }

  /** For a statement that writes one row, and is a transaction of its own. */
  write(merchantId: bigint, what: string): void {
    this.demand([merchantId])
    this.onWrite(merchantId, what)
  }

  /**
   * Waits for all transactions that write, and puts the fence around the merchant if nothing of it
   * runs then; resolves with how much does.
   */
  async close(merchantId: bigint, running: () => number = () => 0): Promise<number> {
    for (;;) {
      const open = [...this.#writers].filter(({ ended }) => !ended)
      if (open.length === 0) break
      await Promise.all(open.map((writer) => new Promise<void>((resolve) => writer.waiting.push(resolve))))
    }
    const steps = running()
    if (steps === 0) this.away.add(merchantId)
    return steps
  }
}

/** The commands that may write the rows of merchants that move. */
export class Movers extends Map<bigint, string> {
  is(merchantId: bigint, mover: string): boolean {
    return this.get(merchantId) === mover
  }
}
