import type { Order } from '../../src/order/decide/order.ts'
import { invoiceKey, type InvoiceName } from '../../src/mobile-api/invoice/invoice.ts'
import type { OrderKey, RepeatRow } from '../../src/order/decide/change.ts'
import type { Merchant, Registry } from '../../src/merchant/merchant.ts'
import type { MoveState } from '../../src/merchant/merchant.ts'
import type { RegistryReads } from '../../src/merchant/live.ts'
import type { DeliveryRow } from '../model/deliveries.ts'
import { IdBlocks } from '../model/id-blocks.ts'
import type { InvoiceRow } from '../model/invoices.ts'
import type { StoreCalls } from '../model/store-calls.ts'
import { StoreModel } from '../model/store-model.ts'

const merchantOf = (key: string): bigint => BigInt(key.slice(0, key.indexOf('/')))

/** The configuration of this version, with each merchant in its cell. */
type Configured = (
  version: bigint,
  cells: number,
  cellOf: (merchantId: bigint) => Pick<Merchant, 'cellNo' | 'moving'>,
) => Registry

/** A row of `merchant_move`. */
export interface MoveRow {
  from: number
  to: number
  state: MoveState
  /** The command that moves the merchant. */
  mover: string
}

/**
 * The cells of an installation as if they were one: of each merchant the rows in the cell where it
 * is. Rows that a move has copied so far, or left behind, are not there.
 */
export class Installation {
  readonly cells: readonly StoreModel[]
  readonly moves = new Map<bigint, MoveRow>()
  /** Where the configuration has each merchant, and its version. */
  readonly #placed: Map<bigint, number>
  #version = 1n

  readonly #configuration: Configured

  constructor(now: () => number, cells: number, placed: ReadonlyMap<bigint, number>, configuration: Configured) {
    const ids = new IdBlocks()
    this.cells = Array.from({ length: cells }, () => new StoreModel(now, ids))
    this.#placed = new Map(placed)
    this.#configuration = configuration
  }

  cell(cellNo: number): StoreModel {
    return this.cells[cellNo]!
  }

  home(merchantId: bigint): StoreModel {
    return this.cells[this.homeNo(merchantId)]!
  }

  homeNo(merchantId: bigint): number {
    return this.#placed.get(merchantId) ?? 0
  }

  cellOf(merchantId: bigint): number {
    return this.#placed.get(merchantId)!
  }

  /** The configuration names another cell. */
  place(merchantId: bigint, to: number): void {
    this.#placed.set(merchantId, to)
    this.#version++
  }

  setMove(merchantId: bigint, row: MoveRow | undefined): void {
    if (row) this.moves.set(merchantId, row)
    else this.moves.delete(merchantId)
    this.#version++
  }

  /** How a process reads the configuration; undefined if there is one cell, so that it stays. */
  readsOver(open: () => StoreCalls): RegistryReads | undefined {
    if (this.cells.length === 1) return undefined
    const calls = open()
    const place = (merchantId: bigint) => {
      const move = this.moves.get(merchantId)
      return { cellNo: this.cellOf(merchantId), moving: move?.state }
    }
    const load = () => this.#configuration(this.#version, this.cells.length, place)
    return { version: () => calls.run(() => this.#version), load: () => calls.run(load) }
  }

  readonly orders = {
    get: (key: string): Order | undefined => (key === '' ? undefined : this.home(merchantOf(key)).orders.get(key)),
    values: (): Order[] =>
      this.#all(
        (cell) => cell.orders.values(),
        (order) => order.merchantId,
      ),
  }

  readonly cards = { get: (key: string) => this.home(merchantOf(key)).cards.get(key) }

  readonly deliveries = {
    ofOrder: (order: Order): DeliveryRow[] => this.home(order.merchantId).deliveries.ofOrder(order),
    due: (): DeliveryRow[] =>
      this.#all(
        (cell) => cell.deliveries.due(),
        (row) => row.merchantId,
      ),
  }

  readonly invoices = {
    get: (name: InvoiceName): InvoiceRow | undefined => this.home(name.merchantId).invoices.rows.get(invoiceKey(name)),
    values: (): InvoiceRow[] =>
      this.#all(
        (cell) => cell.invoices.rows.values(),
        ({ invoice }) => invoice.merchantId,
      ),
  }

  readonly references = {
    find: (merchantId: bigint, id: bigint) => this.home(merchantId).references.find(merchantId, id),
    findDestination: (merchantId: bigint, id: bigint) => this.home(merchantId).references.findDestination(merchantId, id),
    ofOrder: (merchantId: bigint, orderId: bigint) => this.home(merchantId).references.ofOrder(merchantId, orderId),
    ofDestination: (merchantId: bigint, orderId: bigint) => this.home(merchantId).references.ofDestination(merchantId, orderId),
  }

  repeat(orderKey: OrderKey, serialNumber: string): RepeatRow | undefined {
    return this.home(orderKey.merchantId).repeat(orderKey, serialNumber)
  }

  /** A key leads to its order from the cell of its birth, also if the merchant has left that. */
  locate(key: string): OrderKey | undefined {
    for (const cell of this.cells) {
      const orderKey = cell.locate(key)
      if (orderKey) return orderKey
    }
    return undefined
  }

  /** Whether this process is dead in the cell of this merchant. */
  isDead(processId: bigint, merchantId: bigint): boolean {
    return this.home(merchantId).isDead(processId)
  }

  isKnownDead(processId: bigint, merchantId: bigint): boolean {
    return this.home(merchantId).isKnownDead(processId)
  }

  /** Whether any step of an order or an invoice waits to be done. */
  hasWork(): boolean {
    return this.cells.some((cell) => cell.hasSteps() || cell.invoices.hasDue())
  }

  #all<T>(rows: (cell: StoreModel) => Iterable<T>, ownerOf: (row: T) => bigint): T[] {
    if (this.cells.length === 1) return [...rows(this.cells[0]!)]
    return this.cells.flatMap((cell) => [...rows(cell)].filter((row) => this.home(ownerOf(row)) === cell))
  }
}
