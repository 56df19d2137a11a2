import type { LegacyAuthentications } from './legacy-authentications.ts'
import type { Reply } from '../../src/gateway-api/reply.ts'
import type { Order } from '../../src/order/decide/order.ts'
import type { Refusal } from '../../src/spec/refusals.ts'
import type { TransStatus } from '../../src/three-d-secure/authentication.ts'
import { configuration, enrolmentOf, secureCards } from '../model/configuration.ts'
import { watchHostedPages } from './hosted-pages.ts'
import { check, type Breaks, type Checks } from './invariant.ts'
import type { IssuerResult, Json } from '../parties/issuer-messages.ts'
import { watchProofs } from './proofs.ts'
import type { Upload } from '../parties/uploads.ts'

/**
 * Watches payments with 3-D Secure. The gateway may charge only payments that were authenticated,
 * and only the issuer's own result counts as proof.
 */
export interface Authentications {
  asked(areq: Json): void
  /** A gateway sent an Erro about a correct ARes. */
  refused(erro: Json): void
  /** A process answered a result; undefined if it could not store it. */
  resultAnswered(id: string, result: IssuerResult, answer: Json | undefined, by: string): void
  uploaded(upload: Upload, reply: Reply | Refusal, reachedAt: number): void
  /** A hosted page began the method. The gateway waits for it until `until`, or not at all. */
  begun(orderId: bigint, until: number | undefined): void
  /** An authorisation leaves a gateway, under these names and with these tags. */
  authorised(order: Order, names: string, tags: ReadonlyMap<string, string>): void
  committed(order: Order): void
  settled(order: Order): void
}

export interface AuthenticationParts {
  /** All results that issuers sent for an authentication. */
  issuerResultsOf: (id: string) => readonly IssuerResult[] | undefined
  byAuthentication: (id: string) => Order | undefined
  orderOf: (orderId: bigint) => Order | undefined
  legacy: LegacyAuthentications
  breaks: Breaks
  now: () => number
}

/** The statuses with which an endpoint charges, derived independently of the gateway's table. */
function chargedBy(order: Order): ReadonlySet<TransStatus | 'not enrolled'> {
  const policy = configuration.endpoint(order.endpointId)!.settings.authenticationPolicy
  return new Set([
    'Y',
    ...(policy?.attempted === 'decline' ? [] : (['A'] as const)),
    ...(policy?.unavailable === 'authorise' ? (['U'] as const) : []),
    ...(policy?.notEnrolled === 'authorise' ? (['not enrolled'] as const) : []),
  ])
}

/** A merchant-initiated payment with a registered card needs no authentication. */
const runsHere = ({ endpointId, request }: Order): boolean =>
  configuration.endpoint(endpointId)!.settings.threeDSecure && request.recurrent?.initiator !== 'MERCHANT'
const isEnrolled = ({ card }: Order): boolean =>
  secureCards.some((pan) => pan.startsWith(card.bin) && pan.endsWith(card.lastFour) && enrolmentOf(pan).is === 'enrolled')

export function watchAuthentications(parts: AuthenticationParts): Authentications {
  const { byAuthentication, orderOf, legacy, breaks, now } = parts
  const asked = new Map<string, number>()
  const pages = watchHostedPages(orderOf, breaks, now)
  const proofs = watchProofs(parts)

  return {
    asked(areq) {
      const id = String(areq['threeDSServerTransID'])
      const times = (asked.get(id) ?? 0) + 1
      asked.set(id, times)
      check(whenAsked, { areq, id, times, order: byAuthentication(id) }, breaks)
    },
    refused({ threeDSServerTransID: id, errorCode, errorDetail }) {
      breaks('what an issuer says is understood', `ARes of ${String(id)} got Erro ${String(errorCode)}: ${String(errorDetail)}`)
    },
    resultAnswered: proofs.resultAnswered,
    uploaded: watchUploads(breaks, now),
    begun: pages.begun,
    authorised(order, names, tags) {
      if (!runsHere(order)) return
      const charges = chargedBy(order)
      const { authentication } = order.transactions[0]!
      if (authentication?.version === '1.0.2') legacy.authorised(order, names, tags, charges)
      else if (authentication) proofs.authorised({ order, names, tags, charges, id: authentication.threeDSServerTransId })
      else if (isEnrolled(order) || !charges.has('not enrolled'))
        breaks('nothing is charged that was not authenticated', `order ${order.orderId} is authorised without an authentication`)
    },
    committed(order) {
      pages.committed(order)
      check(whenCommitted, order, breaks)
    },
    settled(order) {
      if (!runsHere(order)) return
      const { authentication } = order.transactions[0]!
      const confirmed = authentication && proofs.confirmedOf(authentication.threeDSServerTransId)
      check(whenSettled, { order, confirmed }, breaks)
    },
  }
}

const whenAsked: Checks<{ areq: Json; id: string; times: number; order: Order | undefined }> = {
  'an issuer is asked once'({ areq, id, times, order }) {
    if (times > 1) return `AReq ${id} was sent ${times} times`
    const { authentication, amountMinor } = order?.transactions[0] ?? {}
    const due = order?.kind === 'account-verification' ? undefined : String(amountMinor)
    const isOther = authentication?.directory !== undefined && areq['purchaseAmount'] !== due
    return isOther && `AReq ${id} is about ${String(areq['purchaseAmount'])}, not ${due}`
  },
}

const ended: ReadonlySet<string> = new Set(['approved', 'declined', 'error', 'unknown'])
const whenCommitted: Checks<Order> = {
  'a proof is gone when it is not needed'({ orderId, transactions }) {
    const kept = transactions.find((t) => ended.has(t.state) && t.authentication?.authenticationValue !== undefined)
    return kept && `transaction ${kept.no} of order ${orderId} is ${kept.state} and has its proof`
  },
}

const whenSettled: Checks<{ order: Order; confirmed: IssuerResult | undefined }> = {
  'a confirmed result counts'({ order, confirmed }) {
    const status = order.transactions[0]!.authentication?.status
    return (
      confirmed && confirmed.status !== status && `order ${order.orderId} has ${status} after ${confirmed.status} was confirmed`
    )
  },
  'a hosted page does not hold the payment up'({ order }) {
    const { authentication, state, result } = order.transactions[0]!
    const isPageClosed = authentication?.methodUntil !== undefined && result.verified === 'UNKNOWN'
    return state === 'declined' && isPageClosed && `order ${order.orderId} is declined since its page was closed`
  },
  'nothing is charged that was not authenticated'({ order }) {
    const { authentication, state, result } = order.transactions[0]!
    const should = authentication?.status === 'Y' || authentication?.status === 'A' ? 'AUTHENTICATED' : 'UNSUPPORTED'
    const isOther = state === 'approved' && result.verified !== should
    return isOther && `order ${order.orderId} is approved as ${result.verified}, not ${should}`
  },
}

/** Watches that the gateway does not refuse the repeat of an upload it acknowledged. */
function watchUploads(breaks: Breaks, now: () => number): Authentications['uploaded'] {
  const acknowledged = new Map<string, number>()
  return ({ orderId, what, isRight }, reply, reachedAt) => {
    const key = `${orderId} ${what}`
    const before = acknowledged.get(key)
    if (!('refused' in reply)) acknowledged.set(key, before ?? now())
    else if (isRight || (before !== undefined && before < reachedAt))
      breaks('a repeated upload has the same answer', `${what} for order ${orderId} was refused: ${reply.refused}`)
  }
}
