import type { Outcome } from '../three-d-secure/cards.ts'

/** The issuer's decision about an AReq, a pure function of the card and the merchant's wish. */

/**
 * How a challenge ends: the right password passes, nothing passes, or it passes but the result is
 * never sent.
 */
export type Ending = 'password' | 'fails' | 'no result'
export type Verdict = { status: 'Y' | 'A' | 'N' | 'R' | 'U' | 'I' | 'D' } | { status: 'C'; ending: Ending } | { status: 'Erro' }

const byOutcome: Record<Exclude<Outcome, 'informational'>, Verdict> = {
  frictionless: { status: 'Y' },
  attempt: { status: 'A' },
  denied: { status: 'N' },
  rejected: { status: 'R' },
  unavailable: { status: 'U' },
  challenge: { status: 'C', ending: 'password' },
  'challenge-failed': { status: 'C', ending: 'fails' },
  'no-result': { status: 'C', ending: 'no result' },
  error: { status: 'Erro' },
}

/**
 * Indicators of 2.2.0 that ask for a sharing of data or an exemption. The status I exists only as
 * an answer to them.
 */
const asksForInformation = (indicator: string | undefined): boolean =>
  indicator === '05' || indicator === '06' || indicator === '07'

/** `indicator` is threeDSRequestorChallengeInd. */
export function decide(outcome: Outcome, indicator: string | undefined): Verdict {
  if (outcome === 'informational' && asksForInformation(indicator)) return { status: 'I' }
  const verdict = byOutcome[outcome === 'informational' ? 'frictionless' : outcome]
  const mandated = indicator === '04' && (verdict.status === 'Y' || verdict.status === 'A')
  if (mandated) return { status: 'C', ending: 'password' }
  // A merchant that only shares data cannot be sent a challenge: C may not answer 06.
  return verdict.status === 'C' && indicator === '06' ? { status: 'I' } : verdict
}
