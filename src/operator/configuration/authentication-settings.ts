/**
 * The 3-D Secure settings of an endpoint: what its requests ask of issuers, and what it does if the
 * card networks leave that to the merchant.
 */
import type { AuthenticationPolicy, EndpointSettings } from '../../merchant/merchant.ts'
import type { ChallengeIndicator } from '../../spec/three-d-secure/kinds.ts'
import { safePolicy } from '../../three-d-secure/interpret.ts'

/** Complete by its type, so that a new choice cannot be forgotten here; in the order of display. */
const names: Readonly<Record<keyof AuthenticationPolicy, string>> = {
  attempted: 'attempted',
  unavailable: 'unavailable',
  notEnrolled: 'not-enrolled',
  failed: 'failed',
}
export const authenticationEnds = Object.entries(names).map(([key, name]) => ({ key: key as keyof AuthenticationPolicy, name }))

/**
 * Keeps only differences from the safe policy: the other choices follow the policy when it changes.
 */
export const departures = (policy: Partial<AuthenticationPolicy>): Partial<AuthenticationPolicy> =>
  Object.fromEntries(
    authenticationEnds.flatMap(({ key }) => {
      const choice = policy[key]
      return choice === undefined || choice === safePolicy[key] ? [] : [[key, choice]]
    }),
  )

export const policyOf = ({ authenticationPolicy }: EndpointSettings): AuthenticationPolicy => ({
  ...safePolicy,
  ...authenticationPolicy,
})

/** All choices in one line; the safe ones are marked if nothing was chosen. */
export function policyText(settings: EndpointSettings): string {
  const policy = policyOf(settings)
  const usual = settings.authenticationPolicy === undefined ? ' (safe)' : ''
  return `${authenticationEnds.map(({ key, name }) => `${name}=${policy[key]}`).join(', ')}${usual}`
}

// oxfmt-ignore
const indicators: Readonly<Record<ChallengeIndicator, string>> = {
  '01': 'no preference',
  '02': 'no challenge asked for',
  '03': 'a challenge asked for',
  '04': 'a challenge mandated',
  '05': 'no challenge: the risk was analysed',
  '06': 'no challenge: data is shared only',
  '07': 'no challenge: strong authentication was done before',
  '08': 'no challenge: the cardholder trusts the merchant',
  '09': 'a challenge asked for, with an offer to trust the merchant',
}

/** Codes of `threeDSRequestorChallengeInd`. */
export const indicatorCodes = Object.keys(indicators) as ChallengeIndicator[]

export function indicatorText({ challengeIndicator }: EndpointSettings): string {
  return challengeIndicator === undefined ? 'none (no preference)' : `${challengeIndicator} (${indicators[challengeIndicator]})`
}

/** One line per code, for the help. */
export const indicatorList = (): string =>
  Object.entries(indicators)
    .map(([code, means]) => `  ${code}  ${means}`)
    .join('\n')
