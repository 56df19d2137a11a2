import type { Clock } from '../../base/clock.ts'
import { look, putBackLater, startSweep, warningOf, type FailedWork, type Sweep } from '../../leases/leased.ts'
import type { Judge } from '../../leases/silence.ts'
import { nextChange, type RunParts } from './run.ts'
import { invoiceKey, type Invoice, type InvoiceSecrets } from './invoice.ts'
import type { Invoices } from './invoices.ts'
import type { OpenInvoice, SealedInvoice } from './rows.ts'

const atOnce = 100
const mostInHand = 4_000
/** After a step that came to nothing yet, or that failed the first time. */
const againMs = 500

export type InvoiceWorkParts = RunParts & {
  invoices: Invoices
  judge: Judge
}

/**
 * Does one step of an invoice after the other as long as there is something to do. A sweep finds
 * the invoices of dead processes, and those that have waited long enough.
 */
export function openInvoiceWork(w: InvoiceWorkParts, sweepMs: number) {
  const inHand = openInvoicesInHand()
  const stopping = new AbortController()
  let sweeping: Sweep | undefined
  let parked = 0

  const start = (claimed: SealedInvoice): void => inHand.take(claimed.invoice, () => work(claimed))
  async function work({ invoice, openSecrets }: SealedInvoice): Promise<void> {
    let last = invoice
    try {
      let open: OpenInvoice | undefined = { invoice, secrets: openSecrets() }
      while (open && hasStep(open.invoice, w.clock.now())) {
        const change = await nextChange(w, open, stopping.signal)
        if (stopping.signal.aborted || !w.holding()) return
        if (!change) {
          const dueAt = w.clock.now() + againMs
          await w.invoices.rest(open.invoice, w.processId, dueAt)
          return sweeping?.expect(dueAt)
        }
        open = await w.invoices.change(open, change, w.clock.now())
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
    const isParked = await putBackLater(w, failedWork(invoice, error), async (dueAt, alarm) => {
      await w.invoices.putBack(invoice, w.processId, dueAt, alarm)
      sweeping?.expect(dueAt)
    })
    if (isParked) parked++
  }

  async function sweepOnce(): Promise<number> {
    const room = inHand.room()
    if (room <= 0 || !w.holding()) return sweepMs
    return look({
      clock: w.clock,
      everyMs: sweepMs,
      firstDue: w.invoices.firstDue,
      claim: async () => w.invoices.claimDue(await w.judge(), w.clock.now(), room),
      take: (due) => due.forEach(start),
    })
  }

  return {
    /** In a state that asks for a step, written by this process under its lease. */
    begin(invoice: Invoice, secrets: InvoiceSecrets): void {
      // Without room a sweep finds it when its lease is looked at.
      if (inHand.hasRoom()) start({ invoice, openSecrets: () => secrets })
    },
    /** How many this process has parked for an operator. */
    parked: (): number => parked,
    /** Invoices of a merchant whose server is being asked. */
    waitingOf: inHand.waitingOf,
    sweep(): void {
      sweeping = startSweep({ clock: w.clock, everyMs: sweepMs, failed: warningOf(w.log, sweepFailed) }, sweepOnce)
    },
    async stop(withinMs: number): Promise<void> {
      stopping.abort()
      await Promise.race([Promise.allSettled([sweeping?.stop(), ...inHand.all()]), elapsed(w.clock, withinMs)])
    },
  }
}

const sweepFailed = 'the sweep of mobile transactions failed'

const failedWork = ({ invoiceId, merchantId, state, tries }: Invoice, error: unknown): FailedWork => {
  const about = { invoice: invoiceId, merchant: String(merchantId) }
  return { kind: 'a mobile transaction', about, what: state, tries, error, firstPauseMs: againMs }
}

const elapsed = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))

/** The invoices that this process works on. */
function openInvoicesInHand() {
  const working = new Map<string, Promise<void>>()
  /** Those that began by asking a merchant's server, which may be slow: no sweep waits for them. */
  let asking = 0
  const askingOf = new Map<bigint, number>()
  return {
    /** Does this work, unless the invoice is worked on already. */
    take(invoice: Invoice, work: () => Promise<void>): void {
      const { state, merchantId } = invoice
      const key = invoiceKey(invoice)
      if (working.has(key)) return
      const by = state === 'checking' ? 1 : 0
      const count = (more: number) => {
        askingOf.set(merchantId, (askingOf.get(merchantId) ?? 0) + more)
        asking += more
      }
      count(by)
      const done = work().finally(() => {
        working.delete(key)
        count(-by)
      })
      working.set(key, done)
    },
    /** How many a sweep may claim. */
    room: () => Math.min(atOnce - (working.size - asking), mostInHand - working.size),
    hasRoom: () => working.size < mostInHand,
    waitingOf: (merchantId: bigint) => askingOf.get(merchantId) ?? 0,
    all: () => [...working.values()],
  }
}

/**
 * Whether there is a step to do now: an invoice that waits for somebody has one only when its time
 * is over.
 */
const hasStep = ({ state, restsUntil }: Invoice, now: number): boolean =>
  state !== 'ordered' && state !== 'declined' && (restsUntil === undefined || restsUntil <= now)
