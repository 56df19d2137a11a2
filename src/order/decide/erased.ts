/**
 * What is left of an order once the payer's data is erased: what the books, an operator and a later
 * return need. Everything that is not named here is left out.
 */
import { defined } from '../../base/defined.ts'
import type { ShownCard } from '../../card/number.ts'
import type { Screening } from '../../risk/screening.ts'
import type { Authentication } from '../../three-d-secure/authentication.ts'
import type { FollowAsked, MobileFacts, OrderRequest } from './order.ts'

export function erasedRequest(request: OrderRequest, erasedAt: number): OrderRequest {
  const { endpointCallbackUrl, descriptor, recurrent, transfer, mobile } = request
  return {
    orderDesc: '',
    ipAddress: '',
    email: '',
    erasedAt: new Date(erasedAt).toISOString(),
    ...defined({ endpointCallbackUrl, descriptor, recurrent, transfer, mobile: mobile && erasedMobile(mobile) }),
  }
}

const erasedMobile = ({ invoiceId, refusal, randomSum, holdsForMinor }: MobileFacts): MobileFacts => ({
  invoiceId,
  ...defined({ refusal, randomSum, holdsForMinor }),
})

/** The first and last digits and the issuer stay. */
export const erasedCard = ({ bin, lastFour, network, country, bank }: ShownCard): ShownCard => ({
  bin,
  lastFour,
  ...defined({ network, country, bank }),
  expiryMonth: 0,
  expiryYear: 0,
  printedName: '',
  hashId: '',
})

/** Which rules fired stays, without the values that they looked at. */
export const erasedScreening = ({ score, fired, refusal }: Screening): Screening => ({
  score,
  fired: fired.map((one) => ({ ...one, found: '' })),
  ...defined({ refusal }),
})

export function erasedAuthentication(before: Authentication): Authentication {
  const { round, directory, version, threeDSServerTransId, pageToken, challengeIndicator, compInd } = before
  const { acsTransId, dsTransId, status, statusReason, eci, challengeCancel, interactionCounter, cresAt } = before
  return {
    round,
    directory,
    version,
    threeDSServerTransId,
    pageToken,
    ...defined({ challengeIndicator, compInd, acsTransId, dsTransId, status, statusReason, eci }),
    ...defined({ challengeCancel, interactionCounter, cresAt }),
  }
}

export const erasedAsked = ({ operation, whole, idempotencyKey, operator }: FollowAsked): FollowAsked => ({
  operation,
  ...defined({ whole, idempotencyKey, operator: operator && { who: operator.who, reason: '' } }),
})
