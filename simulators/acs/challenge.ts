import { sameText } from '../../src/base/digest.ts'
import type { Cancel, Clock } from '../../src/base/clock.ts'
import { password } from '../three-d-secure/cards.ts'
import type { Ending } from './risk.ts'

/** How a challenge ended, in the words of RReq. */
export interface Result {
  passed: boolean
  /** transStatusReason and challengeCancel. */
  reason?: string
  cancel?: string
  interactions: number
}

/** The next page of the browser. `undelivered`: the directory server did not get the result. */
export type View =
  | { is: 'asking'; triesLeft: number; notice?: 'wrong' | 'empty' | 'sent again' | 'not sent again' }
  | { is: 'over'; result: Result; delivery: 'delivered' | 'undelivered' }

const firstRequestMs = 30_000
const interactionMs = 600_000
const tries = 3
const resends = 3

/**
 * One challenge, in one of four modes:
 *   expected  ARes said C, and the browser has not come; ends after 30 s
 *   asking    the page is shown; ends with the right password, the third wrong one, a cancellation,
 *             or after 10 minutes without an answer
 *   ending    the result is being sent
 *   over      the result was sent, and does not change any more
 * Only `#end` leads to the last two.
 */
export class Challenge {
  readonly #clock: Clock
  readonly #ending: Ending
  readonly #report: (result: Result) => Promise<'delivered' | 'undelivered'>
  #mode: 'expected' | 'asking' | 'ending' | 'over' = 'expected'
  #interactions = 0
  #resent = 0
  #cancelTimer: Cancel
  #ended: Promise<View> | undefined

  /** `report` sends the result; it is called once and never rejects. */
  constructor(clock: Clock, ending: Ending, report: (result: Result) => Promise<'delivered' | 'undelivered'>) {
    this.#clock = clock
    this.#ending = ending
    this.#report = report
    this.#cancelTimer = clock.after(firstRequestMs, () => void this.#end({ reason: '14', cancel: '05' }))
  }

  get mode(): string {
    return this.#mode
  }

  /** A CReq came: the first one shows the page, the same one after a refresh continues. */
  open(): Promise<View> {
    if (this.#mode === 'expected') {
      this.#mode = 'asking'
      this.#wait()
    }
    return this.view()
  }

  view(): Promise<View> {
    return this.#ended ?? Promise.resolve(this.#asking())
  }

  submit(given: string): Promise<View> {
    if (this.#mode !== 'asking') return this.view()
    this.#wait()
    if (given.trim() === '') return Promise.resolve(this.#asking('empty'))
    this.#interactions++
    if (sameText(given.trim(), password)) return this.#end(this.#ending === 'fails' ? { reason: '01' } : {})
    return this.#interactions < tries ? Promise.resolve(this.#asking('wrong')) : this.#end({ reason: '01' })
  }

  resend(): Promise<View> {
    if (this.#mode !== 'asking') return this.view()
    this.#wait()
    return Promise.resolve(this.#asking(++this.#resent <= resends ? 'sent again' : 'not sent again'))
  }

  cancel(): Promise<View> {
    return this.#mode === 'asking' ? this.#end({ reason: '01', cancel: '01' }) : this.view()
  }

  /** Forgets it without reporting a result. */
  drop(): void {
    this.#cancelTimer()
  }

  #asking(notice?: 'wrong' | 'empty' | 'sent again' | 'not sent again'): View {
    return { is: 'asking', triesLeft: tries - this.#interactions, ...(notice === undefined ? {} : { notice }) }
  }

  #wait(): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#clock.after(interactionMs, () => void this.#end({ reason: '14', cancel: '04' }))
  }

  #end(how: { reason?: string; cancel?: string }): Promise<View> {
    if (this.#ended !== undefined) return this.#ended
    this.#cancelTimer()
    this.#mode = 'ending'
    const result: Result = { passed: how.reason === undefined, ...how, interactions: this.#interactions }
    this.#ended = this.#report(result).then((delivery) => {
      this.#mode = 'over'
      return { is: 'over', result, delivery }
    })
    return this.#ended
  }
}
