import { sleep, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { look, putBackLater, startSweep, warningOf, type Sweep } from '../leases/leased.ts'
import { failureOf } from '../storage/pool.ts'
import type { Heartbeat } from '../leases/heartbeat.ts'
import type { Judge } from '../leases/silence.ts'
import type { Door } from './door/advance.ts'
import type { Event } from './decide/event.ts'
import type { Held } from './door/hand.ts'
import { head, type Transaction } from './decide/order.ts'
import { isOutside, type OutsideStep, type Performer } from './perform.ts'
import { orderKeyText } from './decide/change.ts'
import type { Due, OrderStore } from './store/store.ts'

export interface StepsSettings {
  store: Pick<OrderStore, 'load' | 'firstDue' | 'claimDue' | 'putBack'>
  performers: Record<OutsideStep, Performer>
  heartbeat: Heartbeat
  judge: Judge
  clock: Clock
  log: Log
  /** The shortest pause between two sweeps. */
  sweepMs: number
  sweepLimit: number
}

/** The port of the loop to the door, which in turn starts the loop's steps. */
type StepDoor = Pick<Door, 'submit' | 'release' | 'room' | 'holds'>

export interface Steps {
  /** Does a step of an order in memory and reports the outcome to the door. */
  start(held: Held, transaction: Transaction, door: StepDoor): void
  /** A transaction without a lease will be due then. */
  expect(dueAt: number): void
  /** Begins to look for work that no process owns. */
  sweep(door: StepDoor): void
  /** How many this process has parked for an operator. */
  parked(): number
  /** Takes no new work; resolves when the steps under way are reported, or after `withinMs`. */
  stop(withinMs: number): Promise<void>
}

/**
 * The loop that runs the steps of orders: step, performer, event. The sweep finds the steps of dead
 * processes.
 */
export function openSteps(s: StepsSettings): Steps {
  const stopping = new AbortController()
  const work = new WorkUnderWay()
  let sweeping: Sweep | undefined
  let parkedCount = 0

  async function perform(held: Held, transaction: Transaction, door: StepDoor): Promise<void> {
    const step = transaction.step
    if (!isOutside(step)) return
    const { merchantId, orderId } = held.order
    const serial = head(held.order).serialNumber
    const due: Due = { merchantId, orderId, transactionNo: transaction.no, tries: transaction.tries }
    let failure: { error: unknown } | undefined
    try {
      if (!(await stillOurs(held, transaction, s, stopping.signal))) return
      const store = (event: Event) =>
        untilStored(() => door.submit({ is: 'event', merchantId, orderId, event }), serial, s, stopping.signal)
      const later = (event: Event) => work.add(store(event).catch(warningOf(s.log, 'a late answer failed')))
      await store(await s.performers[step](held, transaction, later))
    } catch (error) {
      failure = { error }
    } finally {
      door.release(held.order, transaction)
    }
    // Released before: once it is put back, this process may begin the step again.
    if (failure) await putBack(due, step, failure.error, serial)
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
    const isParked = await putBackLater(s, failure, async (dueAt, alarm) => {
      await s.store.putBack(due, s.heartbeat.processId, dueAt, alarm)
      sweeping?.expect(dueAt)
    })
    if (isParked) parkedCount++
  }

  return {
    start: (held, transaction, door) => work.add(perform(held, transaction, door)),
    expect: (dueAt) => sweeping?.expect(dueAt),
    sweep(door) {
      sweeping = startSweep({ clock: s.clock, everyMs: s.sweepMs, failed: warningOf(s.log, 'the sweep failed') }, () =>
        takeUp(s, door, (due) => work.add(resume(due, door))),
      )
    },
    parked: () => parkedCount,
    async stop(withinMs) {
      if (sweeping) work.add(sweeping.stop())
      await work.over(sleep(s.clock, withinMs))
      stopping.abort()
    },
  }
}

/** Claims due work without a worker, as far as there is room in memory. */
async function takeUp(s: StepsSettings, door: StepDoor, resume: (due: Due) => void): Promise<number> {
  const limit = Math.min(s.sweepLimit, door.room())
  if (limit === 0 || !s.heartbeat.holding()) return s.sweepMs
  return look({
    clock: s.clock,
    everyMs: s.sweepMs,
    firstDue: s.store.firstDue,
    claim: async () => s.store.claimDue(await s.judge(), s.clock.now(), limit),
    take: (found) => {
      noteTakeOver(s.heartbeat, found)
      for (const due of found) if (!door.holds(due)) resume(due)
    },
  })
}

class WorkUnderWay {
  readonly #running = new Set<Promise<void>>()

  add(work: Promise<void>): void {
    this.#running.add(work)
    void work.finally(() => this.#running.delete(work))
  }

  /** Resolves when all of it is over, with what is added meanwhile, or when `late` resolves. */
  async over(late: Promise<void>): Promise<void> {
    await Promise.race([this.#allOver(), late])
  }

  async #allOver(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }
}

/**
 * While the lease is late nothing may be sent, and another process may take the order over. Once
 * the lease is fresh again no other process can, and the row says which one owns it. That is how an
 * order goes on that was accepted while the database was away.
 */
async function stillOurs(
  { order }: Held,
  transaction: Transaction,
  { heartbeat, clock, store }: Pick<StepsSettings, 'heartbeat' | 'clock' | 'store'>,
  stopping: AbortSignal,
): Promise<boolean> {
  if (heartbeat.holding()) return true
  while (!heartbeat.holding() && !stopping.aborted) await sleep(clock, 50, stopping)
  const [now] = stopping.aborted ? [] : await store.load([order])
  return now?.version === order.version && now.transactions[transaction.no - 1]?.lease === heartbeat.processId
}

/**
 * Submits an outcome until it is stored, however long the database is away. Rejects if the database
 * is there and refuses it: the attempt then stays open, and taking it up again ends in a reversal.
 */
async function untilStored(
  submit: () => Promise<unknown>,
  serial: string | undefined,
  { clock, log }: Pick<StepsSettings, 'clock' | 'log'>,
  stopping: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await submit()
      return
    } catch (error) {
      if (stopping.aborted) return
      if (failureOf(error) === 'data') throw error
      log.error({ serial, tries, reason: reasonOf(error) }, 'an outcome could not be stored; it is tried again')
      await sleep(clock, Math.min(5_000, 100 * 2 ** tries), stopping)
    }
  }
}

function noteTakeOver(heartbeat: Heartbeat, due: readonly Due[]): void {
  const inherited = due.filter(({ hadLease }) => hadLease !== undefined && hadLease !== heartbeat.processId)
  if (inherited.length === 0) return
  heartbeat.tookOver(new Set(inherited.map(orderKeyText)).size, [...new Set(inherited.map((d) => d.hadLease!))])
}
