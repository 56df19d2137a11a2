/**
 * The duties that erase card numbers which nothing needs any more, as `cards forget` does by hand.
 * One process at a time does each of them, step by step; where it stops, another goes on.
 */
import { forgetStep, walkFromStart, type Walk } from './forget-rows.ts'
import { startDuty, type DutyParts } from '../leases/duty.ts'
import { claimDuty, enterDuty, noteDuty } from '../leases/duty-rows.ts'

/** How long the cards of ended payments are kept, in milliseconds. */
export interface KeptFor {
  approved: number
  unapproved: number
}

export interface ForgettingDuty {
  /** Card numbers that this process erased. */
  cards: () => number
  /** Resolves once its step is over. */
  stop(): Promise<void>
}

/** A step of one of the duties, from the place where the last one ended; null at the beginning. */
interface Task {
  name: string
  step(place: unknown): Promise<{ forgotten: number; place: object; isOver: boolean }>
}

const everyMs = 3_600_000
const firstLookMs = 5_000
/** How long it may take to notice that another process left a duty. */
const longestLookMs = 60_000
/** Orders that a step looks at. */
const inStep = 200

/**
 * Without `keptFor` the cards of payments stay. An invoice of the mobile API loses its card numbers
 * when it ends.
 */
export function startForgetting(parts: DutyParts, keptFor: KeptFor | undefined): ForgettingDuty {
  let cards = 0
  const erased = (count: number) => void (cards += count)
  const tasks = keptFor ? walks(parts, keptFor) : []
  const stops = tasks.map((task) => keepDoing(parts, task, erased))
  return { cards: () => cards, stop: async () => void (await Promise.all(stops.map((stop) => stop()))) }
}

/**
 * Two walks, each of which begins where everything before is done. One alone would look at all the
 * cards of half a year again every hour. An order that an operator has to take up holds them back.
 */
function walks({ pool, clock }: DutyParts, { approved, unapproved }: KeptFor): Task[] {
  const walk = (name: string, span: number, skipsApproved: boolean): Task => ({
    name,
    async step(place) {
      const now = clock.now()
      const bounds = { approvedBefore: now - approved, othersBefore: now - unapproved, madeBefore: now - span, skipsApproved }
      const step = await forgetStep(pool, (place as Walk | null) ?? walkFromStart, bounds, inStep)
      return { ...step, place: step.isOver ? { at: step.walk.done, done: step.walk.done } : step.walk }
    },
  })
  return [walk('cards of unapproved payments', unapproved, true), walk('cards of approved payments', approved, false)]
}

/** Does a step of the task whenever it is due and free; returns a function that stops. */
const keepDoing = (parts: DutyParts, { name, step }: Task, erased: (count: number) => void): (() => Promise<void>) => {
  const { pool, heartbeat, judge, clock, log } = parts
  return startDuty(parts, {
    about: { duty: name },
    trouble: 'card numbers could not be erased; another try follows',
    everyMs: firstLookMs,
    longestLookMs,
    enter: () => enterDuty(pool, name, clock.now()),
    claim: async () =>
      heartbeat.holding()
        ? claimDuty(pool, name, await judge(), clock.now())
        : { is: 'not due', lookAt: clock.now() + firstLookMs },
    async step(claimed: { place: unknown }) {
      const { forgotten, place, isOver } = await step(claimed.place)
      erased(forgotten)
      if (forgotten > 0) log.info({ duty: name, cards: forgotten }, 'card numbers were erased')
      const due = isOver ? clock.now() + everyMs : clock.now()
      await noteDuty(pool, name, heartbeat.processId, { place, due, letGo: isOver })
      return isOver ? due : undefined
    },
  })
}
