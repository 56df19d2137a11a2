/**
 * What an authentication means for the payment: the outcome table of EMV 3-D Secure, and the
 * endpoint's policy for the cases that the table leaves to the merchant.
 */
import type { AuthenticationPolicy } from '../merchant/fields/authentication-policy.ts'
import type { Authentication, TransStatus, VerifiedStatus } from './authentication.ts'

/**
 * How an authentication ended. `abandoned`: the issuer was never asked, because the end of the
 * method was not reported. `overdue`: nothing was heard after a challenge began. `lost`: the
 * browser came back from the challenge, but the issuer never reported its result. `forged`: a PARes
 * that fails a check.
 */
export type Ending =
  | { is: 'status'; status: Exclude<TransStatus, 'C'>; reason?: string; cancel?: string }
  | { is: 'not enrolled' }
  | { is: 'failed' }
  | { is: 'abandoned' }
  | { is: 'overdue' }
  | { is: 'lost' }
  | { is: 'forged' }

export interface Verdict {
  go: 'authorise' | 'decline' | 'error'
  verified: VerifiedStatus
  /** Reason of a decline or an error; docs/errors.md. */
  errorCode: string
  errorMessage: string
}

interface Row {
  /** `policy`: the endpoint's setting of this name decides. */
  go: Verdict['go'] | keyof AuthenticationPolicy
  verified: VerifiedStatus
  errorCode: string
  errorMessage: string
}

// oxfmt-ignore
const rows = {
  'Y':            { go: 'authorise',   verified: 'AUTHENTICATED',     errorCode: '',     errorMessage: '' },
  'A':            { go: 'attempted',   verified: 'AUTHENTICATED',     errorCode: '2007', errorMessage: 'Cardholder authentication was only attempted' },
  'N':            { go: 'decline',     verified: 'NOT_AUTHENTICATED', errorCode: '2001', errorMessage: 'Cardholder authentication failed' },
  'N cancelled':  { go: 'decline',     verified: 'NOT_AUTHENTICATED', errorCode: '2002', errorMessage: 'Cardholder cancelled the authentication' },
  'N timed out':  { go: 'decline',     verified: 'NOT_AUTHENTICATED', errorCode: '2003', errorMessage: 'Cardholder authentication timed out' },
  'R':            { go: 'decline',     verified: 'NOT_AUTHENTICATED', errorCode: '2004', errorMessage: 'Authentication rejected by the issuer' },
  'U':            { go: 'unavailable', verified: 'UNSUPPORTED',       errorCode: '2005', errorMessage: 'Cardholder authentication is unavailable' },
  'I':            { go: 'authorise',   verified: 'UNSUPPORTED',       errorCode: '',     errorMessage: '' },
  'not enrolled': { go: 'notEnrolled', verified: 'UNSUPPORTED',       errorCode: '2006', errorMessage: 'Card is not enrolled in 3-D Secure' },
  'failed':       { go: 'failed',      verified: 'UNSUPPORTED',       errorCode: '2008', errorMessage: 'Cardholder authentication failed technically' },
  'abandoned':    { go: 'decline',     verified: 'UNKNOWN',           errorCode: '2009', errorMessage: 'Cardholder authentication was not completed in time' },
  'overdue':      { go: 'decline',     verified: 'UNSUPPORTED',       errorCode: '2009', errorMessage: 'Cardholder authentication was not completed in time' },
  'forged':       { go: 'decline',     verified: 'NOT_AUTHENTICATED', errorCode: '2011', errorMessage: 'Payer authentication response is not valid' },
  'lost':         { go: 'error',       verified: 'UNSUPPORTED',       errorCode: '2010', errorMessage: 'Result of the cardholder authentication is missing' },
} as const satisfies Record<string, Row>

export function judge(ending: Ending, policy: AuthenticationPolicy): Verdict {
  const { go, ...rest } = rows[rowOf(ending)]
  return { ...rest, go: go in policy ? policy[go as keyof AuthenticationPolicy] : (go as Verdict['go']) }
}

function rowOf(ending: Ending): keyof typeof rows {
  if (ending.is !== 'status') return ending.is
  if (ending.status !== 'N') return ending.status
  if (ending.cancel === '01') return 'N cancelled'
  return ending.reason === '14' || ending.cancel === '04' || ending.cancel === '05' ? 'N timed out' : 'N'
}

type EciTable = Partial<Record<TransStatus, string>>
const mastercardEci: EciTable = { Y: '02', A: '01', N: '00', R: '00', U: '00', I: '04', C: '00' }
/** For transactions that are not payments. */
const mastercardOtherEci: EciTable = { ...mastercardEci, Y: 'N2', N: 'N0', R: 'N0', U: 'N0', C: 'N0' }
const mirEci: EciTable = { Y: '02', A: '01' }
const commonEci: EciTable = { Y: '05', A: '06', N: '07', R: '07', U: '07', I: '07', C: '07' }

/** The ECI if the issuer sent none; undefined if the network (as named in the vault) has none. */
export function defaultEci(network: string | undefined, category: '01' | '02', status: TransStatus): string | undefined {
  if (network === 'MIR') return mirEci[status]
  if (network !== 'MASTERCARD' && network !== 'MAESTRO') return commonEci[status]
  return (category === '01' ? mastercardEci : mastercardOtherEci)[status]
}

/** The ECI that merchant and acquirer receive: the issuer's, or else the network's. */
export const eciOf = ({ eci, status }: Authentication, network: string | undefined, category: '01' | '02'): string | undefined =>
  eci ?? defaultEci(network, category, status ?? 'U')
