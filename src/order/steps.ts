import { sleep, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { putBackLater, startSweep, type Sweep } from '../storage/leased.ts'
import { failureOf } from '../storage/pool.ts'
import type { Heartbeat } from '../storage/store-heartbeat.ts'
import type { Judge } from '../storage/store-silence.ts'
import type { Door } from './advance.ts'
import type { Held } from './hand.ts'
import { head, type Transaction } from './order.ts'
import { isOutside, type OutsideStep, type Performer } from './perform.ts'
import { placeKey } from './change.ts'
import type { Due, OrderStore } from './store.ts'

export interface StepsSettings {
  store: Pick<OrderStore, 'load' | 'claimDue' | 'putBack'>
  performers: Record<OutsideStep, Performer>
  heartbeat: Heartbeat
  judge: Judge
  clock: Clock
  log: Log
  /** Pause between two sweeps that found nothing. */
  sweepMs: number
  sweepLimit: number
}

/** What the loop needs of the door, which in turn starts the loop's steps. */
type StepDoor = Pick<Door, 'submit' | 'release' | 'room' | 'holds'>

export interface Steps {
  /** Does a step of an order in memory and reports to the door what came of it. */
  start(held: Held, transaction: Transaction, door: StepDoor): void
  /** Begins to look for work in nobody's hand. */
  sweep(door: StepDoor): void
  /** How many this process has parked for an operator. */
  parked(): number
  /** Takes no new work; resolves when the steps under way have been told, or after `withinMs`. */
  stop(withinMs: number): Promise<void>
}

/**
 * The loop that carries orders on: step, performer, event. What a dead process had in hand is found
 * by the sweep.
 */
export function openSteps(s: StepsSettings): Steps {
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  let sweeping: Sweep | undefined
  let parkedCount = 0

  function track(work: Promise<void>) {
    running.add(work)
    void work.finally(() => running.delete(work))
  }

  async function perform(held: Held, transaction: Transaction, door: StepDoor): Promise<void> {
    const step = transaction.step
    if (!isOutside(step)) return
    const { merchantId, orderId } = held.order
    const serial = head(held.order).serialNumber
    const due: Due = { merchantId, orderId, transactionNo: transaction.no, tries: transaction.tries }
    try {
      if (!(await stillOurs(held, transaction))) return
      const event = await s.performers[step](held, transaction)
      await tell(serial, () => door.submit({ is: 'event', merchantId, orderId, event }))
    } catch (error) {
      door.release(held.order, transaction)
      await putBack(due, step, error, serial)
    } finally {
      door.release(held.order, transaction)
    }
  }

  /**
   * While the lease is late nothing may be sent, and another process may take the order over. Once
   * it is fresh again nobody can, and the row says whose it is: an order accepted while the
   * database was away goes on then.
   */
  async function stillOurs({ order }: Held, transaction: Transaction): Promise<boolean> {
    if (s.heartbeat.holding()) return true
    while (!s.heartbeat.holding() && !stopping.signal.aborted) await sleep(s.clock, 50, stopping.signal)
    const [now] = stopping.signal.aborted ? [] : await s.store.load([order])
    return now?.version === order.version && now.transactions[transaction.no - 1]?.lease === s.heartbeat.processId
  }

  /**
   * An outcome is told until it is stored: while the database is away nobody gives it up. Rejects
   * when the database is there and will not have it; the attempt is then open, and taking it up
   * again ends in a reversal.
   */
  async function tell(serial: string | undefined, submit: () => Promise<unknown>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await submit()
        return
      } catch (error) {
        if (stopping.signal.aborted) return
        if (failureOf(error) === 'data') throw error
        s.log.error({ serial, tries, reason: reasonOf(error) }, 'an outcome could not be stored; it is tried again')
        await sleep(s.clock, Math.min(5_000, 100 * 2 ** tries), stopping.signal)
      }
    }
  }

  async function sweepOnce(door: StepDoor): Promise<void> {
    const limit = Math.min(s.sweepLimit, door.room())
    if (limit === 0 || !s.heartbeat.holding()) return
    const due = await s.store.claimDue(await s.judge(), s.clock.now(), limit)
    noteTakeOver(s.heartbeat, due)
    const lost = due.filter((d) => !door.holds(d))
    for (const d of lost) track(resume(d, door))
  }

  async function resume(d: Due, door: StepDoor): Promise<void> {
    try {
      const { merchantId, orderId, transactionNo } = d
      await door.submit({ is: 'resume', merchantId, orderId, transactionNo })
    } catch (error) {
      await putBack(d, 'resume', error)
    }
  }

  /**
   * A step that cannot be done is tried again later and later, then parked with an alarm; other
   * orders go on meanwhile.
   */
  async function putBack(due: Due, what: string, error: unknown, serial?: string): Promise<void> {
    const about = { serial, order: String(due.orderId) }
    const failure = { kind: 'a step', about, what, tries: due.tries, error, firstPauseMs: 500 }
    const isParked = await putBackLater(s, failure, (...to) => s.store.putBack(due, s.heartbeat.processId, ...to))
    if (isParked) parkedCount++
  }

  return {
    start: (held, transaction, door) => track(perform(held, transaction, door)),
    sweep(door) {
      const failed = (error: unknown) => s.log.warn({ reason: reasonOf(error) }, 'the sweep failed')
      sweeping = startSweep({ clock: s.clock, everyMs: s.sweepMs, failed }, () => sweepOnce(door))
    },
    parked: () => parkedCount,
    async stop(withinMs) {
      if (sweeping) track(sweeping.stop())
      const late = sleep(s.clock, withinMs)
      while (running.size > 0 && !(await Promise.race([Promise.allSettled(running).then(() => false), late.then(() => true)])));
      stopping.abort()
    },
  }
}

function noteTakeOver(heartbeat: Heartbeat, due: readonly Due[]): void {
  const inherited = due.filter(({ hadLease }) => hadLease !== undefined && hadLease !== heartbeat.processId)
  if (inherited.length === 0) return
  heartbeat.tookOver(new Set(inherited.map(placeKey)).size, [...new Set(inherited.map((d) => d.hadLease!))])
}
