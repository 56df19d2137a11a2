import * as fc from 'fast-check'
import { cellMarks } from '../../../src/base/cell-mark.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { FollowAsk } from '../../../src/order/decide/amounts.ts'
import type { Event } from '../../../src/order/decide/event.ts'
import { statusOfState, type Order, type Transaction } from '../../../src/order/decide/order.ts'
import { drive, follow, resume, type Deciding, type Work } from '../../../src/order/decide/work.ts'
import { finalStatuses } from '../../../src/spec/words.ts'
import { eventOf, now, registryWithGate } from '../order/decide-orders.ts'

/** What may happen to an order that moves money, whichever operation it is of. */
export type Happening =
  /** What the acquirer did with the message, and whether its answer came. */
  | { do: 'answer'; at: number; booked: boolean; outcome: 'told' | 'lost' | 'awaited' | 'not sent' }
  | { do: 'advise'; at: number; acknowledged: boolean }
  /** The process that has it in hand dies, or a sweep finds what is due. */
  | { do: 'sweep'; at: number }

const at = fc.nat(7)
export const answers = fc.record({
  do: fc.constant('answer' as const),
  at,
  booked: fc.boolean(),
  outcome: fc.constantFrom('told' as const, 'told' as const, 'lost' as const, 'awaited' as const, 'not sent' as const),
})
export const advices = fc.record({ do: fc.constant('advise' as const), at, acknowledged: fc.boolean() })
export const sweeps = fc.record({ do: fc.constant('sweep' as const), at })

export const owner = 1n

/**
 * One order with its clock, its sweeper, and the acquirer's entries of it by transaction, through
 * everything that decides about it.
 */
export class Life {
  order: Order
  readonly booked = new Set<number>()
  gateIsOn = true
  #at = now
  #number = 1n
  #asked = 0

  constructor(order: Order) {
    this.order = order
  }

  happens(one: Happening): void {
    const step = { answer: 'authorise', advise: 'reverse', sweep: undefined }[one.do]
    const found = this.order.transactions.filter((t) => (step ? t.step === step : t.step !== undefined))
    const transaction = found[one.at % Math.max(1, found.length)]
    if (!transaction) return
    if (one.do === 'sweep') {
      const claimed = { ...transaction, lease: owner }
      const work = this.#work({
        ...this.order,
        transactions: this.order.transactions.map((t) => (t === transaction ? claimed : t)),
      })
      resume(work, transaction.no, this.#deciding())
      this.order = work.after
      return
    }
    const work = this.#work(this.order)
    const event = one.do === 'answer' ? this.#answered(transaction, one) : this.#advised(transaction, one)
    drive(work, event, this.#deciding())
    this.order = work.after
  }

  ask(wish: Omit<FollowAsk, 'serialNumber'>) {
    const work = this.#work(this.order)
    const refused = follow(work, { ...wish, serialNumber: `s-${++this.#asked}` }, this.#deciding())
    this.order = work.after
    return refused
  }

  /** Carries everything to its end. */
  finish(): void {
    this.gateIsOn = true
    for (let round = 0; round < 200 && this.order.transactions.some((t) => t.step); round++) {
      this.happens({ do: 'answer', at: 0, booked: true, outcome: 'told' })
      this.happens({ do: 'advise', at: 0, acknowledged: true })
      this.happens({ do: 'sweep', at: round })
    }
    this.happens({ do: 'advise', at: 0, acknowledged: true })
  }

  #work(order: Order): Work {
    this.#at += 60_000
    return { before: order, after: order, rows: [], deliveries: [], eraseCvv2: false, card: undefined, entries: [] }
  }

  #deciding(): Deciding {
    const planner = { enrolment: () => ({ is: 'unknown' as const }), marks: cellMarks(systemRandom, 0), steering: false }
    const registry = registryWithGate(this.gateIsOn)
    return { now: this.#at, processId: owner, registry, planner, number: () => this.#number++, hold: true }
  }

  #openAttempt = ({ no }: Transaction): number =>
    this.order.attempts.find((a) => a.transactionNo === no && a.outcome === undefined)!.no

  /** What was sent before may have been booked then; what was not sent was not. */
  #answered(transaction: Transaction, one: Happening & { do: 'answer' }): Event {
    const attemptNo = this.#openAttempt(transaction)
    const event = (is: Event['is'], changes: object = {}): Event => eventOf(is, { attemptNo, ...changes }, transaction.no)
    if (one.outcome === 'not sent' && transaction.tries === 0) return event('not sent')
    if (one.booked) this.booked.add(transaction.no)
    const approved = transaction.kind === 'transfer' ? 'debited' : 'approved'
    if (one.outcome === 'told') return event(this.booked.has(transaction.no) ? approved : 'declined', { actionCode: '119' })
    if (one.outcome === 'awaited') return event('answer awaited', { lease: owner, leaseDueAt: this.#at + 4_000 })
    return event('answer lost', { reverseAt: this.#at + 5_000 })
  }

  #advised(advice: Transaction, { acknowledged }: Happening & { do: 'advise' }): Event {
    const changes = { attemptNo: this.#openAttempt(advice) }
    if (!acknowledged) return eventOf('reversal unanswered', { ...changes, dueAt: this.#at + 1_000 }, advice.no)
    this.booked.delete(advice.parentNo!)
    if (advice.kind !== 'reversal') this.booked.add(advice.no)
    return eventOf('reversal acknowledged', { ...changes, actionCode: '400' }, advice.no)
  }
}

/** Final transactions stay as they were. */
export function finalsStay(before: readonly Transaction[], { order }: Life): string | undefined {
  const changed = before.findIndex(
    ({ state }, index) => finalStatuses.has(statusOfState(state)) && order.transactions[index]!.state !== state,
  )
  return changed < 0 ? undefined : `transaction ${changed + 1} left its final state`
}
