import { reasonOf } from '../base/log.ts'
import { putBackLater, startSweep, type Sweep } from '../storage/leased.ts'
import { nextMove } from './carry.ts'
import type { Invoice } from './invoice.ts'
import type { InvoiceWork, MobileWorld } from './mobile-world.ts'
import type { ClaimedInvoice, OpenInvoice } from './store-invoices.ts'

const atOnce = 100
const mostInHand = 4_000
/** After a step that came to nothing yet, or that failed the first time. */
const againMs = 500

/** The loop of invoices: one step after the other as long as there is something to do. What a dead process held, and what has waited long enough, is found by a sweep. */
export function openInvoiceWork(w: MobileWorld, sweepMs: number): InvoiceWork {
  const inHand = new Map<string, Promise<void>>()
  /** Of those what began by asking a merchant's server, which may be slow: no sweep waits for its answers. */
  let asking = 0
  const askingOf = new Map<bigint, number>()
  const stopping = new AbortController()
  let sweeping: Sweep | undefined

  let parked = 0

  function carry(claimed: ClaimedInvoice): void {
    const { state, merchantId, invoiceId } = claimed.invoice
    const key = `${merchantId}/${invoiceId}`
    if (inHand.has(key)) return
    const by = state === 'checking' ? 1 : 0
    askingOf.set(merchantId, (askingOf.get(merchantId) ?? 0) + by)
    asking += by
    const done = work(claimed).finally(() => {
      inHand.delete(key)
      askingOf.set(merchantId, askingOf.get(merchantId)! - by)
      asking -= by
    })
    inHand.set(key, done)
  }

  async function work({ invoice, openSecrets }: ClaimedInvoice): Promise<void> {
    let last = invoice
    try {
      let open: OpenInvoice | undefined = { invoice, secrets: openSecrets() }
      while (open && isJob(open.invoice, w.clock.now())) {
        const move = await nextMove(w, open, stopping.signal)
        if (stopping.signal.aborted || !w.holding()) return
        if (!move) return await w.invoices.rest(open.invoice, w.processId, w.clock.now() + againMs)
        open = await w.invoices.move(open.invoice, move, w.processId, w.clock.now())
        last = open?.invoice ?? last
      }
    } catch (error) {
      await later(last, error)
    }
  }

  /**
   * A step that fails is tried again later and later, then parked with an alarm; other invoices go
   * on meanwhile.
   */
  async function later(invoice: Invoice, error: unknown): Promise<void> {
    const { invoiceId, merchantId, state, tries } = invoice
    const about = { invoice: invoiceId, merchant: String(merchantId) }
    const failure = { kind: 'a mobile transaction', about, what: state, tries, error, firstPauseMs: againMs }
    if (await putBackLater(w, failure, (...to) => w.invoices.putBack(invoice, w.processId, ...to))) parked++
  }

  async function sweepOnce(): Promise<void> {
    const room = Math.min(atOnce - (inHand.size - asking), mostInHand - inHand.size)
    if (room <= 0 || !w.holding()) return
    for (const claimed of await w.invoices.claimDue(await w.judge(), w.clock.now(), room)) carry(claimed)
  }

  return {
    begin(invoice, secrets) {
      // Beyond that a sweep finds it when its lease is looked at.
      if (inHand.size < mostInHand) carry({ invoice, openSecrets: () => secrets })
    },
    parked: () => parked,
    waitingOf: (merchantId) => askingOf.get(merchantId) ?? 0,
    sweep() {
      const failed = (error: unknown) => w.log.warn({ reason: reasonOf(error) }, 'the sweep of mobile transactions failed')
      sweeping = startSweep({ clock: w.clock, everyMs: sweepMs, failed }, sweepOnce)
    },
    async stop(withinMs) {
      stopping.abort()
      const swept = sweeping?.stop()
      await Promise.race([
        Promise.allSettled([swept, ...inHand.values()]),
        new Promise<void>((resolve) => w.clock.after(withinMs, resolve)),
      ])
    },
  }
}

/** Whether there is a step to do now: what waits for somebody has one only when its time is over. */
const isJob = ({ state, restsUntil }: Invoice, now: number): boolean =>
  state !== 'ordered' && state !== 'declined' && (restsUntil === undefined || restsUntil <= now)
