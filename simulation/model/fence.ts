import { MerchantLeft } from '../../src/storage/store-fence.ts'
import type { Unit } from './store-locks.ts'

export interface FenceRow {
  state: 'leaving' | 'left' | 'arriving'
  otherCell: number
  /** The command that moves the merchant. */
  mover: string
}

/** An order or an invoice that was written since its merchant began to leave. */
export interface Note {
  merchantId: bigint
  orderId?: bigint
  invoiceId?: string
}

/**
 * The tables `merchant_move` and `merchant_move_note` of a cell: the meaning of
 * src/storage/store-fence.ts. Every statement that writes rows of a merchant asks it.
 */
export class Fence {
  readonly rows = new Map<bigint, FenceRow>()
  readonly notes = new Set<Note>()
  /** Transactions that hold a lock on the table until they end. */
  readonly #writers = new Set<Unit>()
  /** Called for each write of rows of a merchant, other than those of a move. */
  onWrite: (merchantId: bigint, what: string) => void = () => {}

  isHere(merchantId: bigint): boolean {
    const row = this.rows.get(merchantId)
    return row === undefined || row.state === 'leaving'
  }

  refuseGone(merchantIds: readonly bigint[]): void {
    for (const merchantId of merchantIds) if (!this.isHere(merchantId)) throw new MerchantLeft(merchantId)
  }

  /** What was read of a merchant; if that is nothing, the merchant may be in another cell. */
  found<T>(merchantId: bigint, read: T | undefined): T | undefined {
    if (read === undefined) this.refuseGone([merchantId])
    return read
  }

  /**
   * Whether a write is noted: also once the fence has closed, since its writer may have been let in
   * before.
   */
  takesNotes(merchantId: bigint): boolean {
    const row = this.rows.get(merchantId)
    return row !== undefined && row.state !== 'arriving'
  }

  /**
   * For a transaction that goes on to write these orders: returns a merchant that is not here, if
   * there is one. The notes look at the fence again at the commit, later than any real save does.
   */
  admit(unit: Unit, places: readonly { merchantId: bigint; orderId: bigint }[]): bigint | undefined {
    for (const writer of this.#writers) if (writer.ended) this.#writers.delete(writer)
    this.#writers.add(unit)
    const gone = places.find(({ merchantId }) => !this.isHere(merchantId))
    for (const { merchantId, orderId } of places)
      unit.staged.push(() => {
        if (this.takesNotes(merchantId)) this.notes.add({ merchantId, orderId })
      })
    return gone?.merchantId
  }

  /** For a statement that writes this order or invoice and is a transaction of its own. */
  note({ merchantId, orderId, invoiceId }: Note): void {
    this.onWrite(merchantId, orderId === undefined ? `invoice ${invoiceId}` : `order ${orderId}`)
    if (!this.takesNotes(merchantId)) return
    this.notes.add(orderId === undefined ? { merchantId, invoiceId: invoiceId! } : { merchantId, orderId })
  }

  /** Resolves when every transaction that has asked so far is over. */
  async passed(): Promise<void> {
    const open = [...this.#writers].filter(({ ended }) => !ended)
    await Promise.all(open.map((writer) => new Promise<void>((resolve) => writer.waiting.push(resolve))))
  }
}
