import type { LegacyAuthentications } from './legacy-authentications.ts'
import type { Reply } from '../src/gateway-api/reply.ts'
import type { Order } from '../src/order/order.ts'
import type { Refusal } from '../src/spec/refusals.ts'
import type { TransStatus } from '../src/three-d-secure/authentication.ts'
import type { Upload } from './cardholders.ts'
import { epochMs, farthestJumpMs } from './clock.ts'
import { configuration, enrolmentOf, secureCards } from './configuration.ts'
import type { Breaks } from './invariant.ts'
import type { Json, Said } from './issuer-messages.ts'

/** Watches the payments that run 3-D Secure: what was charged for must have been authenticated, by what the issuer said and nothing else. */
export interface Authentications {
  asked(areq: Json): void
  /** An Erro about an answer that had no fault. */
  refused(erro: Json): void
  /** The answer of a process to a result. */
  told(id: string, said: Said, answer: Json | undefined, by: string): void
  uploaded(upload: Upload, reply: Reply | Refusal, reachedAt: number): void
  /** A hosted page that began the method was answered until when the gateway waits, if it does. */
  begun(orderId: bigint, until: number | undefined): void
  /** An authorisation leaves a gateway, under these names and with these tags. */
  authorised(order: Order, names: string, tags: ReadonlyMap<string, string>): void
  committed(order: Order): void
  settled(order: Order): void
}

/** By which statuses an endpoint charges; written apart from the gateway's own table. */
function chargedBy(order: Order): ReadonlySet<TransStatus | 'not enrolled'> {
  const policy = configuration.endpoint(order.endpointId)!.settings.authenticationPolicy
  return new Set([
    'Y',
    ...(policy?.attempted === 'decline' ? [] : (['A'] as const)),
    ...(policy?.unavailable === 'authorise' ? (['U'] as const) : []),
    ...(policy?.notEnrolled === 'authorise' ? (['not enrolled'] as const) : []),
  ])
}

/** Nobody is asked about a payment that the merchant makes with a registered card. */
const runsHere = ({ endpointId, request }: Order): boolean =>
  configuration.endpoint(endpointId)!.settings.threeDSecure && request.recurrent?.initiator !== 'MERCHANT'
const isEnrolled = ({ card }: Order): boolean =>
  secureCards.some((pan) => pan.startsWith(card.bin) && pan.endsWith(card.lastFour) && enrolmentOf(pan).is === 'enrolled')

/**
 * A message that comes to both processes at once, and is decided by both in the same millisecond, makes them write the very same. The one whose commit is refused by a broken connection
 * finds it stored, takes it for its own and confirms it too: the same was told twice, and counted once.
 */
const twinsWithinMs = 1_000

export function watchAuthentications(
  saidOf: (id: string) => readonly Said[] | undefined,
  orderOfId: (id: string) => Order | undefined,
  orderOf: (orderId: bigint) => Order | undefined,
  legacy: LegacyAuthentications,
  breaks: Breaks,
  now: () => number,
): Authentications {
  const asked = new Map<string, number>()
  const usedBy = new Map<string, string>()
  const acknowledged = new Map<string, number>()
  /** When the wait for a method of the hosted page ends, by the authentication. */
  const waitsUntil = new Map<string, number>()

  /** Results that a gateway has: of a challenge, only what the directory server told. */
  function resultsOf(id: string): Said[] {
    const reached = (saidOf(id) ?? []).filter((s) => s.genuine && s.reached)
    const ares = reached.find((s) => s.by === 'ARes')
    if (!ares) return []
    if (ares.status !== 'C') return [ares]
    return reached.filter((s) => s.by === 'RReq' && s.acsTransID === ares.acsTransID)
  }

  return {
    asked(areq) {
      const id = String(areq['threeDSServerTransID'])
      asked.set(id, (asked.get(id) ?? 0) + 1)
      if (asked.get(id)! > 1) breaks('an issuer is asked once', `AReq ${id} was sent ${asked.get(id)} times`)
      const order = orderOfId(id)
      const { authentication, amountMinor } = order?.transactions[0] ?? {}
      const due = order?.kind === 'account-verification' ? undefined : String(amountMinor)
      if (authentication?.directory !== undefined && areq['purchaseAmount'] !== due)
        breaks('an issuer is asked once', `AReq ${id} is about ${String(areq['purchaseAmount'])}, not ${due}`)
    },
    refused(erro) {
      const { threeDSServerTransID: id, errorCode, errorDetail } = erro
      breaks('what an issuer says is understood', `ARes of ${String(id)} got Erro ${String(errorCode)}: ${String(errorDetail)}`)
    },
    told(id, said, answer, by) {
      const code = answer?.['messageType'] === 'Erro' ? String(answer['errorCode']) : ''
      // A result of another transaction, or one that comes again, is refused with 301.
      if (said.genuine && code !== '' && code !== '301')
        breaks('what an issuer says is understood', `RReq of ${id} got Erro ${code}: ${String(answer!['errorDetail'])}`)
      if (answer?.['messageType'] !== 'RRes') return
      if (!said.genuine) return breaks('only the issuer says how an authentication ended', `a forged result of ${id} was taken`)
      const before = (saidOf(id) ?? []).find((s) => s.confirmed)
      const isTwin = before === said && said.confirmed!.by !== by && now() - said.confirmed!.at < twinsWithinMs
      said.confirmed ??= { by, at: now() }
      if (before && !isTwin) return breaks('a result is taken once', `two results of ${id} were confirmed`)
      const authentication = orderOfId(id)?.transactions[0]?.authentication
      if (authentication?.threeDSServerTransId === id && authentication.status !== said.status)
        breaks('a confirmed result counts', `${said.status} of ${id} was confirmed, and ${authentication.status} is stored`)
    },
    uploaded({ orderId, what, isRight }, reply, reachedAt) {
      const key = `${orderId} ${what}`
      const before = acknowledged.get(key)
      if (!('refused' in reply)) acknowledged.set(key, before ?? now())
      else if (isRight || (before !== undefined && before < reachedAt))
        breaks('an upload is answered alike', `${what} for order ${orderId} was refused: ${reply.refused}`)
    },
    begun(orderId, until) {
      const { state, authentication } = orderOf(orderId)?.transactions[0] ?? {}
      if (until === undefined && state === 'awaiting method' && authentication?.methodUntil === undefined)
        breaks('a hosted page does not hold the payment up', `order ${orderId} does not wait for its page alone`)
    },
    authorised(order, names, tags) {
      const charges = chargedBy(order)
      if (!runsHere(order)) return
      const { authentication } = order.transactions[0]!
      const why = `order ${order.orderId} is authorised`
      const early = (detail: string) => breaks('nothing is charged that was not authenticated', `${why} ${detail}`)
      if (!authentication) {
        if (isEnrolled(order) || !charges.has('not enrolled')) early('without an authentication')
        return
      }
      if (authentication.version === '1.0.2') return legacy.authorised(order, names, tags, charges)
      const id = authentication.threeDSServerTransId
      const results = resultsOf(id)
      const good = results.filter((s) => charges.has(s.status))
      if (good.length === 0) return early(`after ${results.map((s) => s.status).join() || 'no result'} of ${id}`)
      const used = good.filter((s) => isProof(s, tags))
      if (used.length === 0)
        return breaks('the acquirer gets the proof that the issuer gave', `${why} with ${[...tags].join(' ')}, not that of ${id}`)
      if (results.some((s) => s.confirmed && !used.includes(s)))
        breaks('a confirmed result counts', `${why} by another result of ${id} than was confirmed`)
      if ((usedBy.get(id) ?? names) !== names)
        breaks('an authentication is used once', `${why} as ${names} and as ${usedBy.get(id)} with ${id}`)
      usedBy.set(id, names)
    },
    committed({ orderId, transactions }) {
      const { state: current, authentication: about, dueAt } = transactions[0]!
      if (current === 'awaiting method' && about?.methodUntil !== undefined) {
        const until = waitsUntil.get(about.threeDSServerTransId) ?? about.methodUntil
        waitsUntil.set(about.threeDSServerTransId, until)
        // A step committed after its time is due at once, by the clock of the process that decided
        // it.
        const latest = Math.max(until, epochMs + now() + farthestJumpMs)
        if (about.methodUntil !== until || dueAt === undefined || dueAt > latest)
          breaks('a hosted page does not hold the payment up', `order ${orderId} waits until ${dueAt}, not ${until}`)
      }
      for (const { state, authentication, no } of transactions)
        if (['approved', 'declined', 'error', 'unknown'].includes(state) && authentication?.authenticationValue !== undefined)
          breaks('a proof is gone when it is not needed', `transaction ${no} of order ${orderId} is ${state} and has its proof`)
    },
    settled(order) {
      if (!runsHere(order)) return
      const { authentication, state, result } = order.transactions[0]!
      const confirmed = authentication && resultsOf(authentication.threeDSServerTransId).find((s) => s.confirmed)
      if (confirmed && confirmed.status !== authentication.status)
        breaks(
          'a confirmed result counts',
          `order ${order.orderId} has ${authentication.status} after ${confirmed.status} was confirmed`,
        )
      if (state === 'declined' && authentication?.methodUntil !== undefined && result.verified === 'UNKNOWN')
        breaks('a hosted page does not hold the payment up', `order ${order.orderId} is declined since its page was closed`)
      if (state !== 'approved') return
      const should = authentication?.status === 'Y' || authentication?.status === 'A' ? 'AUTHENTICATED' : 'UNSUPPORTED'
      if (result.verified !== should)
        breaks(
          'nothing is charged that was not authenticated',
          `order ${order.orderId} is approved as ${result.verified}, not ${should}`,
        )
    },
  }
}

/** Where there is a proof it goes with all that belongs to it; without one only the issuer's ECI, or the network's where he said none. */
function isProof(said: Said, tags: ReadonlyMap<string, string>): boolean {
  if (tags.get('AV') !== said.proof || (said.eci !== undefined && tags.get('EC') !== said.eci)) return false
  return said.proof === undefined || (tags.get('DT') === said.dsTransID && tags.get('TV') === said.version)
}
