import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { openBatch, singles } from '../../storage/batch.ts'
import type { Invoice, InvoiceName, InvoiceSecrets } from './invoice.ts'
import type { OpenInvoice, SealedInvoice } from './rows.ts'
import type { DecidedInvoice, InvoiceStore, InvoiceChange } from './store.ts'

/**
 * Single reads and writes of invoices. Those that come at the same time share a round trip and a
 * commit, since each one of its own costs PostgreSQL and this process several times as much.
 */
export interface Invoices extends Pick<InvoiceStore, 'claimDue' | 'firstDue' | 'rest' | 'putBack' | 'merchantOfPage'> {
  /** False if the id of the invoice or its nonce is another one's. */
  add(invoice: Invoice, secrets: InvoiceSecrets): Promise<boolean>
  find(merchantId: bigint, invoiceId: string): Promise<OpenInvoice | undefined>
  /** Undefined if it is in another state by now, or owned by another process. */
  change(open: OpenInvoice, to: InvoiceChange, now: number): Promise<OpenInvoice | undefined>
  findByPage(pageToken: string): Promise<OpenInvoice | undefined>
  /** Resolves when what is under way is stored. */
  close(): Promise<void>
}

export interface InvoicesParts {
  store: InvoiceStore
  processId: bigint
  clock: Clock
  log: Log
}

export function openInvoices({ store, processId, clock, log }: InvoicesParts): Invoices {
  const shared = { ...singles, clock, log }
  const adding = openBatch<OpenInvoice, boolean>({
    name: 'new invoices',
    run: (items) => store.add(items, processId),
    ...shared,
  })
  const finding = openBatch<InvoiceName, SealedInvoice | undefined>({ name: 'invoices', run: store.find, ...shared })
  const moving = openBatch<DecidedInvoice, SealedInvoice | undefined>({
    name: 'changes of invoices',
    run: (items) => store.change(items, processId),
    ...shared,
  })
  return {
    claimDue: store.claimDue,
    firstDue: store.firstDue,
    rest: store.rest,
    putBack: store.putBack,
    merchantOfPage: store.merchantOfPage,
    add: (invoice, secrets) => adding.submit({ invoice, secrets }),
    find: async (merchantId, invoiceId) => opened(await finding.submit({ merchantId, invoiceId })),
    change: async ({ invoice, secrets }, to, now) => opened(await moving.submit({ invoice, secrets, to, now })),
    async findByPage(pageToken) {
      const merchantId = await store.merchantOfPage(pageToken)
      return merchantId === undefined ? undefined : store.findByPage(merchantId, pageToken)
    },
    close: async () => void (await Promise.all([adding.close(), finding.close(), moving.close()])),
  }
}

const opened = (found: SealedInvoice | undefined): OpenInvoice | undefined =>
  found && { invoice: found.invoice, secrets: found.openSecrets() }
