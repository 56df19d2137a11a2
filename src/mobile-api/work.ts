import type { Cancel } from '../base/clock.ts'
import { reasonOf } from '../base/log.ts'
import { nextMove } from './carry.ts'
import type { Invoice } from './invoice.ts'
import type { InvoiceWork, MobileWorld } from './mobile-world.ts'
import type { OpenInvoice } from './store-invoices.ts'

const atOnce = 100
const mostInHand = 4_000
/** After a step that came to nothing yet, or that failed the first time. */
const againMs = 500

/** The loop of invoices: one step after the other as long as there is something to do. What a dead process held, and what has waited long enough, is found by a sweep. */
export function openInvoiceWork(world: () => MobileWorld, sweepMs: number): InvoiceWork {
  const inHand = new Map<string, Promise<void>>()
  /** Of those what began by asking a merchant's server, which may be slow: no sweep waits for its answers. */
  let asking = 0
  const askingOf = new Map<bigint, number>()
  let stopped = false
  let cancel: Cancel = () => {}

  function carry(open: OpenInvoice): void {
    const key = `${open.invoice.merchantId}/${open.invoice.invoiceId}`
    if (inHand.has(key)) return
    const { state, merchantId } = open.invoice
    const by = state === 'checking' ? 1 : 0
    askingOf.set(merchantId, (askingOf.get(merchantId) ?? 0) + by)
    asking += by
    const done = work(open).finally(() => {
      inHand.delete(key)
      askingOf.set(merchantId, askingOf.get(merchantId)! - by)
      asking -= by
    })
    inHand.set(key, done)
  }

  async function work(found: OpenInvoice): Promise<void> {
    const w = world()
    let open: OpenInvoice | undefined = found
    try {
      while (open && isJob(open.invoice, w.clock.now())) {
        const move = await nextMove(w, open, () => stopped)
        if (stopped || !w.holding()) return
        if (!move) return await w.invoices.putBack(open.invoice, w.processId, w.clock.now() + againMs)
        open = await w.invoices.move(open.invoice, move, w.processId, w.clock.now())
      }
    } catch (error) {
      await later(w, open ?? found, error)
    }
  }

  async function later(w: MobileWorld, { invoice }: OpenInvoice, error: unknown): Promise<void> {
    const { invoiceId, tries } = invoice
    w.log.error({ invoice: invoiceId, tries, reason: reasonOf(error) }, 'a mobile transaction could not go on; it is put back')
    const dueAt = w.clock.now() + Math.min(60_000, againMs * 2 ** Math.min(tries, 10))
    await w.invoices
      .putBack(invoice, w.processId, dueAt)
      .catch((failure) =>
        w.log.error({ invoice: invoiceId, reason: reasonOf(failure) }, 'it could not be put back; a sweep finds it'),
      )
  }

  async function sweepOnce(): Promise<void> {
    const w = world()
    const room = Math.min(atOnce - (inHand.size - asking), mostInHand - inHand.size)
    if (room <= 0 || !w.holding()) return
    for (const open of await w.invoices.claimDue(w.processId, w.clock.now(), room)) carry(open)
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
      if (inHand.size < mostInHand) carry({ invoice, secrets })
    },
    waitingOf: (merchantId) => askingOf.get(merchantId) ?? 0,
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

/** Whether there is a step to do now: what waits for somebody has one only when its time is over. */
const isJob = ({ state, restsUntil }: Invoice, now: number): boolean =>
  state !== 'ordered' && state !== 'declined' && (restsUntil === undefined || restsUntil <= now)
