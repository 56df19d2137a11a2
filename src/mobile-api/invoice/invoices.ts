import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { openBatch, singles } from '../../storage/batch.ts'
import type { FollowMerchant } from '../../storage/store-fence.ts'
import type { Invoice, InvoiceName, InvoiceSecrets } from './invoice.ts'
import type { OpenInvoice, SealedInvoice } from './rows.ts'
import type { DecidedInvoice, InvoiceStore, InvoiceChange } from './store.ts'

/**
 * Single reads and writes of invoices. Those that come at the same time share a round trip and a
 * commit, since each one of its own costs PostgreSQL and this process several times as much.
 */
export interface Invoices extends Pick<InvoiceStore, 'claimDue' | 'firstDue' | 'rest' | 'putBack'> {
  /** False if the id of the invoice or its nonce is another one's. */
  add(invoice: Invoice, secrets: InvoiceSecrets): Promise<boolean>
  find(merchantId: bigint, invoiceId: string): Promise<OpenInvoice | undefined>
  /** Undefined if it is in another state by now, or owned by another process. */
  change(open: OpenInvoice, to: InvoiceChange, now: number): Promise<OpenInvoice | undefined>
  findByPage(pageToken: string): Promise<OpenInvoice | undefined>
  ofPage(merchantId: bigint, pageToken: string): Promise<OpenInvoice | undefined>
  /** Resolves when what is under way is stored. */
  close(): Promise<void>
}

export interface InvoicesParts {
  store: InvoiceStore
  processId: bigint
  follow: FollowMerchant<Pick<Invoices, 'add' | 'find' | 'change' | 'ofPage'>>
  clock: Clock
  log: Log
}

export function openInvoices({ store, processId, follow, clock, log }: InvoicesParts): Invoices {
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
  const ofPage: Invoices['ofPage'] = (merchantId, pageToken) =>
    follow(
      merchantId,
      () => store.findByPage(merchantId, pageToken),
      (there) => there.ofPage(merchantId, pageToken),
    )
  return {
    claimDue: store.claimDue,
    firstDue: store.firstDue,
    rest: store.rest,
    putBack: store.putBack,
    add: (invoice, secrets) =>
      follow(
        invoice.merchantId,
        () => adding.submit({ invoice, secrets }),
        (there) => there.add(invoice, secrets),
      ),
    find: (merchantId, invoiceId) =>
      follow(
        merchantId,
        async () => opened(await finding.submit({ merchantId, invoiceId })),
        (there) => there.find(merchantId, invoiceId),
      ),
    change: ({ invoice, secrets }, asked, now) => {
      // The process has another number in each cell.
      const to = 'lease' in asked ? { ...asked, lease: processId } : asked
      return follow(
        invoice.merchantId,
        async () => opened(await moving.submit({ invoice, secrets, to, now })),
        (there) => there.change({ invoice, secrets }, to, now),
      )
    },
    async findByPage(pageToken) {
      const merchantId = await store.merchantOfPage(pageToken)
      return merchantId === undefined ? undefined : ofPage(merchantId, pageToken)
    },
    ofPage,
    close: async () => void (await Promise.all([adding.close(), finding.close(), moving.close()])),
  }
}

const opened = (found: SealedInvoice | undefined): OpenInvoice | undefined =>
  found && { invoice: found.invoice, secrets: found.openSecrets() }
