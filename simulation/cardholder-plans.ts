import type { Chance } from './chance.ts'
import type { AtIssuer } from './issuers.ts'

/** How an upload is made: once, again after its answer, to both processes at once, or never. */
export type Way = 'once' | 'again' | 'both' | 'never'

/**
 * What becomes of the hosted page once it began the method: its browser is described when it is
 * over, or the tab is closed.
 */
type OnPage = 'stays' | 'is closed'

/** What a cardholder and the shop do about one authentication. */
export interface Plan {
  methodAfterMs: number
  method: Way
  /** Absent: the merchant runs the method on a page of its own. */
  page: OnPage | undefined
  /** How often the page is loaded again meanwhile. */
  reloads: number
  /** Uploads the method of somebody else first. */
  strays: boolean
  at: AtIssuer | 'away'
  challengeMs: number
  cres: Way
  /**
   * What is uploaded before the cardholder has answered: a CRes that the merchant made itself, or
   * one of another order.
   */
  before: 'forged' | 'foreign' | undefined
}

/** How long cardholders have. */
export const hourMs = 3_600_000

export function planOf(chance: Chance): Plan {
  const ways: Way[] = ['once', 'once', 'once', 'once', 'once', 'again', 'both', 'both']
  const late = chance.happens(0.05) ? chance.between(30_000, 240_000) : chance.between(50, 8_000)
  return {
    methodAfterMs: chance.happens(0.002) ? chance.between(0.51 * hourMs, 0.6 * hourMs) : late,
    method: chance.happens(0.03) ? 'never' : chance.pick(ways),
    page: chance.happens(0.3) ? chance.pick(['stays', 'is closed']) : undefined,
    reloads: chance.pick([0, 0, 0, 1, 2]),
    strays: chance.happens(0.05),
    at: chance.pick(['right', 'right', 'right', 'right', 'right', 'right', 'wrong', 'cancel', 'away']),
    challengeMs: chance.happens(0.05) ? chance.between(60_000, 400_000) : chance.between(500, 30_000),
    cres: chance.happens(0.1) ? 'never' : chance.pick(ways),
    before: chance.happens(0.08) ? 'forged' : chance.happens(0.05) ? 'foreign' : undefined,
  }
}
