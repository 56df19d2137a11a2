import { defined } from '../../src/base/defined.ts'
import { invoiceKey, type Invoice } from '../../src/mobile-api/invoice/invoice.ts'
import type { OpenInvoice, SealedInvoice } from '../../src/mobile-api/invoice/rows.ts'
import { byName, type InvoiceStore, type InvoiceChange } from '../../src/mobile-api/invoice/store.ts'
import { leaseLookMs } from '../../src/leases/heartbeat.ts'
import type { Claimer } from '../../src/leases/leased.ts'
import type { Fence } from './fence.ts'
import { isSpared } from './spared.ts'

/** A stored row of invoices; it is replaced, never changed in place. */
export interface InvoiceRow extends OpenInvoice {
  dueAt: number | undefined
  lease: bigint | undefined
  /** The invoice is parked until an operator acts. */
  alarm?: string
}

const ended: ReadonlySet<Invoice['state']> = new Set(['ordered', 'declined'])
/** In these states nothing more is authorised, so the CVV2 is gone. */
const withoutCvv2: ReadonlySet<Invoice['state']> = new Set(['releasing', 'ordered', 'declined'])

/** The table of invoices. Each statement is a transaction of its own, so no lock outlives one. */
export class Invoices {
  readonly rows = new Map<string, InvoiceRow>()
  /** Called for every written row, with the row that it replaced. */
  onWrite: (after: InvoiceRow, before: InvoiceRow | undefined) => void = () => {}
  readonly nonces = new Set<string>()
  /** Rows with something due, so that a sweep need not look at every row. */
  readonly #due = new Set<string>()
  /** Whose page this is. The rows stay in the cell where the page was made. */
  readonly #pages = new Map<string, bigint>()
  readonly #isFree: (lease: bigint | undefined, by: Claimer) => boolean
  readonly #fence: Fence

  constructor(isFree: (lease: bigint | undefined, by: Claimer) => boolean, fence: Fence) {
    this.#isFree = isFree
    this.#fence = fence
  }

  demandHere({ merchantId }: Invoice): void {
    this.#fence.demand([merchantId])
  }

  hasDue(): boolean {
    return this.#due.size > 0
  }

  /** Time limits of invoices that wait for a choice or a sum; undefined if other work is due. */
  timeLimits(): number[] | undefined {
    const due = [...this.#due].map((key) => this.rows.get(key)!)
    return due.every(({ invoice: { state } }) => state === 'choosing' || state === 'answering')
      ? due.map((row) => row.dueAt!)
      : undefined
  }

  add({ invoice, secrets }: OpenInvoice, processId: bigint): boolean {
    const key = invoiceKey(invoice)
    this.demandHere(invoice)
    const nonce = `${invoice.merchantId}/${invoice.nonce}`
    const stored = this.rows.get(key)
    const dueAt = invoice.createdAt + leaseLookMs
    if (stored)
      return (
        stored.invoice.orderId === invoice.orderId &&
        stored.invoice.state === 'checking' &&
        stored.lease === processId &&
        stored.dueAt === dueAt
      )
    if (this.nonces.has(nonce)) return false
    this.nonces.add(nonce)
    this.#write(key, { invoice, secrets, dueAt, lease: processId })
    return true
  }

  find(merchantId: bigint, invoiceId: string): OpenInvoice | undefined {
    const row = this.rows.get(invoiceKey({ merchantId, invoiceId }))
    return row && { invoice: row.invoice, secrets: row.secrets }
  }

  firstDue(): number {
    const rows = [...this.#due].map((key) => this.rows.get(key)!).filter(({ alarm }) => alarm === undefined)
    return Math.min(...rows.map(({ dueAt }) => dueAt!))
  }

  claimDue(by: Claimer, now: number, limit: number): OpenInvoice[] {
    const { processId } = by
    const taken = [...this.#due]
      .map((key) => [key, this.rows.get(key)!] as const)
      .filter(([, { invoice, lease }]) => !isSpared({ ...invoice, lease }, by))
      .filter(([, row]) => row.dueAt! <= now && row.alarm === undefined && this.#isFree(row.lease, by))
      .sort(([, a], [, b]) => a.dueAt! - b.dueAt!)
      .slice(0, limit)
    this.#fence.demand(taken.map(([, { invoice }]) => invoice.merchantId))
    return taken.map(([key, { invoice, secrets }]) => {
      this.#write(key, { invoice, secrets, dueAt: now + leaseLookMs, lease: processId })
      return { invoice, secrets }
    })
  }

  findByPage(pageToken: string): OpenInvoice | undefined {
    for (const { invoice, secrets } of this.rows.values()) if (invoice.hold?.pageToken === pageToken) return { invoice, secrets }
    return undefined
  }

  /** The keys that opened them are gone. */
  loseCvv2s(): void {
    for (const [key, row] of this.rows)
      if (row.secrets.cvv2) this.rows.set(key, { ...row, secrets: { ...row.secrets, cvv2: 'lost' } })
  }

  /** Fields that `to` leaves out keep their values, except `restsUntil` and the decline reason. */
  move(
    of: Invoice,
    { lease, ...to }: InvoiceChange & { lease?: bigint },
    processId: bigint,
    now: number,
  ): OpenInvoice | undefined {
    const key = invoiceKey(of)
    const row = this.rows.get(key)
    if (row?.invoice.state !== of.state || (row.lease !== undefined && row.lease !== processId)) return undefined
    const { restsUntil: _rested, errorCode: _code, errorMessage: _message, ...was } = row.invoice
    const { cvv2, pan, toPan, ...tokens } = row.secrets
    const numbers = ended.has(to.state) ? {} : defined({ pan, toPan })
    const secrets = { ...tokens, ...numbers, ...(cvv2 && !withoutCvv2.has(to.state) && { cvv2 }) }
    const invoice: Invoice = { ...was, ...to, tries: 0 }
    this.#write(key, { invoice, secrets, dueAt: dueAfter({ lease, ...to }, now), lease })
    return { invoice, secrets }
  }

  /** The invoice, if this change of it was stored before. */
  moved(of: Invoice, { lease, ...to }: InvoiceChange & { lease?: bigint }, now: number): OpenInvoice | undefined {
    const row = this.rows.get(invoiceKey(of))
    if (row?.invoice.state !== to.state || row.lease !== lease || row.dueAt !== dueAfter({ lease, ...to }, now)) return undefined
    const isSameDecline = row.invoice.errorCode === ('errorCode' in to ? to.errorCode : undefined)
    const isSameFee = to.fee === undefined || row.invoice.fee?.assignedId === to.fee.assignedId
    return isSameDecline && isSameFee ? row : undefined
  }

  rest(of: Invoice, processId: bigint, dueAt: number): void {
    const key = invoiceKey(of)
    const row = this.rows.get(key)
    if (row?.dueAt !== undefined && row.lease === processId) this.#write(key, { ...row, dueAt, lease: undefined })
  }

  putBack(of: Invoice, processId: bigint, dueAt: number, alarm: string | undefined): void {
    const key = invoiceKey(of)
    const row = this.rows.get(key)
    if (row?.dueAt === undefined || row.lease !== processId) return
    const invoice = { ...row.invoice, tries: row.invoice.tries + 1 }
    this.#write(key, { ...row, invoice, dueAt, lease: undefined, ...(alarm === undefined ? {} : { alarm }) })
  }

  merchantOfPage(pageToken: string): bigint | undefined {
    return this.#pages.get(pageToken)
  }

  ofMerchant(merchantId: bigint): InvoiceRow[] {
    return [...this.rows.values()].filter(({ invoice }) => invoice.merchantId === merchantId)
  }

  /** A row that comes from another cell. */
  put(row: InvoiceRow): void {
    const { merchantId, nonce, hold } = row.invoice
    if (hold) this.#pages.set(hold.pageToken, merchantId)
    this.nonces.add(`${merchantId}/${nonce}`)
    this.#set(invoiceKey(row.invoice), row)
  }

  remove({ invoice }: InvoiceRow): void {
    this.rows.delete(invoiceKey(invoice))
    this.#due.delete(invoiceKey(invoice))
    this.nonces.delete(`${invoice.merchantId}/${invoice.nonce}`)
  }

  #write(key: string, row: InvoiceRow): void {
    const before = this.rows.get(key)
    const { merchantId, invoiceId, hold } = row.invoice
    this.#fence.write(merchantId, `invoice ${invoiceId}`)
    this.#set(key, row)
    if (hold) this.#pages.set(hold.pageToken, merchantId)
    this.onWrite(row, before)
  }

  #set(key: string, row: InvoiceRow): void {
    this.rows.set(key, row)
    if (row.dueAt === undefined) this.#due.delete(key)
    else this.#due.add(key)
  }
}

function dueAfter(
  to: { state: Invoice['state']; lease?: bigint | undefined; restsUntil?: number },
  now: number,
): number | undefined {
  if (ended.has(to.state)) return undefined
  return to.lease === undefined ? to.restsUntil : now + leaseLookMs
}

function sealed(open: OpenInvoice): SealedInvoice
function sealed(open: OpenInvoice | undefined): SealedInvoice | undefined
function sealed(open: OpenInvoice | undefined): SealedInvoice | undefined {
  return open && { invoice: open.invoice, openSecrets: () => open.secrets }
}

/** The store of one process; each statement goes through `run`. */
export const openInvoices = (table: Invoices, run: <T>(body: () => T) => Promise<T>): InvoiceStore => ({
  add: (invoices, processId) =>
    run(() => {
      for (const { invoice } of invoices) table.demandHere(invoice)
      const added = new Map(invoices.toSorted(byName).map((open) => [open, table.add(open, processId)]))
      return invoices.map((open) => added.get(open)!)
    }),
  find: (names) => run(() => names.map(({ merchantId, invoiceId }) => sealed(table.find(merchantId, invoiceId)))),
  change: (decided, processId) =>
    run(() => {
      for (const { invoice } of decided) table.demandHere(invoice)
      return decided.map(({ invoice, to, now }) =>
        sealed(table.move(invoice, to, processId, now) ?? table.moved(invoice, to, now)),
      )
    }),
  claimDue: (by, now, limit) => run(() => table.claimDue(by, now, limit).map((open) => sealed(open))),
  firstDue: () => run(() => table.firstDue()),
  merchantOfPage: (pageToken) => run(() => table.merchantOfPage(pageToken)),
  findByPage: (_merchantId, pageToken) => run(() => table.findByPage(pageToken)),
  rest: (invoice, processId, dueAt) => run(() => table.rest(invoice, processId, dueAt)),
  putBack: (invoice, processId, dueAt, alarm) => run(() => table.putBack(invoice, processId, dueAt, alarm)),
})
