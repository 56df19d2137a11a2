import type { Chance } from '../world/chance.ts'
import type { AtIssuer } from './issuers.ts'

/** How an upload is sent: once, again after its reply, to both processes together, or never. */
export type Way = 'once' | 'again' | 'both' | 'never'

/**
 * What happens to the hosted page after it began the method: it stays and reports its browser when
 * the method is over, or the cardholder closes the tab.
 */
type OnPage = 'stays' | 'is closed'

/** The actions of a cardholder and the shop during one authentication. */
export interface Plan {
  methodAfterMs: number
  method: Way
  /** Absent: the merchant runs the method on a page of its own. */
  page: OnPage | undefined
  /** How often the cardholder reloads the page during the method. */
  reloads: number
  /** First uploads the method result of another payment. */
  strays: boolean
  at: AtIssuer | 'away'
  challengeMs: number
  cres: Way
  /**
   * A CRes that is uploaded before the cardholder has answered: forged by the merchant, or of
   * another order.
   */
  before: 'forged' | 'foreign' | undefined
}

/** How long cardholders may take. */
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
