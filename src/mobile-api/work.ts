import type { Cancel } from '../base/clock.ts'
import { reasonOf } from '../base/log.ts'
import type { Invoice, InvoiceSecrets } from './invoice.ts'
import { askMerchant } from './merchant-calls.ts'
import type { MobileWorld } from './mobile-world.ts'
import { orderInvoice } from './pay.ts'
import { placeOfInvoice } from './place.ts'

export interface InvoiceWork {
  /** Written down by this process, under its lease. */
  begin(invoice: Invoice, secrets: InvoiceSecrets): void
  sweep(): void
  stop(withinMs: number): Promise<void>
}

const atOnce = 100

/** The loop of invoices: the merchant's server is asked, then there is an order. What a dead process held is found by a sweep, and asked again. */
export function openInvoiceWork(world: () => MobileWorld, sweepMs: number): InvoiceWork {
  const inHand = new Map<string, Promise<void>>()
  let stopped = false
  let cancel: Cancel = () => {}

  function carry(invoice: Invoice, secrets: InvoiceSecrets): void {
    const key = `${invoice.merchantId}/${invoice.invoiceId}`
    if (inHand.has(key)) return
    const done = work(invoice, secrets).finally(() => inHand.delete(key))
    inHand.set(key, done)
  }

  async function work(invoice: Invoice, secrets: InvoiceSecrets): Promise<void> {
    const w = world()
    const { invoiceId, tries } = invoice
    try {
      const place = placeOfInvoice(w.registry(), invoice)
      const verdict = await askMerchant(w, place, invoice, secrets)
      if (stopped || !w.holding()) return
      const decline = verdict.is === 'declined' ? verdict.decline : await orderInvoice(w, place, invoice, secrets, verdict)
      if (verdict.is === 'declined') w.log.info({ invoice: invoiceId, why: verdict.why }, 'a mobile transaction is declined')
      await w.invoices.end(invoice, decline ? { state: 'declined', ...decline } : { state: 'ordered' }, w.clock.now())
    } catch (error) {
      w.log.error({ invoice: invoiceId, tries, reason: reasonOf(error) }, 'a mobile transaction could not go on; it is put back')
      const dueAt = w.clock.now() + Math.min(60_000, 500 * 2 ** Math.min(tries, 10))
      await w.invoices
        .putBack(invoice, w.processId, dueAt)
        .catch((failure) =>
          w.log.error({ invoice: invoiceId, reason: reasonOf(failure) }, 'it could not be put back; a sweep finds it'),
        )
    }
  }

  async function sweepOnce(): Promise<void> {
    const w = world()
    const room = atOnce - inHand.size
    if (room <= 0 || !w.holding()) return
    for (const { invoice, secrets } of await w.invoices.claimDue(w.processId, w.clock.now(), room)) carry(invoice, secrets)
  }

  function sweep(): void {
    cancel = world().clock.after(sweepMs, () => {
      if (stopped) return
      void sweepOnce()
        .catch((error) => world().log.warn({ reason: reasonOf(error) }, 'the sweep of mobile transactions failed'))
        .then(sweep)
    })
  }

  return {
    begin(invoice, secrets) {
      // Beyond that a sweep finds it when its lease is looked at.
      if (inHand.size < atOnce * 10) carry(invoice, secrets)
    },
    sweep,
    async stop(withinMs) {
      stopped = true
      cancel()
      await Promise.race([
        Promise.allSettled(inHand.values()),
        new Promise<void>((resolve) => world().clock.after(withinMs, resolve)),
      ])
    },
  }
}
