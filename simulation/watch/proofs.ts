import type { Order } from '../../src/order/decide/order.ts'
import type { TransStatus } from '../../src/three-d-secure/authentication.ts'
import type { Breaks } from './invariant.ts'
import type { IssuerResult, Json } from '../parties/issuer-messages.ts'

interface ProofParts {
  /** All results that issuers sent for an authentication. */
  issuerResultsOf: (id: string) => readonly IssuerResult[] | undefined
  byAuthentication: (id: string) => Order | undefined
  breaks: Breaks
  now: () => number
}

/** An authorisation that leaves a gateway, under these names and with these tags. */
interface Authorised {
  order: Order
  /** The threeDSServerTransID of its authentication. */
  id: string
  names: string
  tags: ReadonlyMap<string, string>
  /** The statuses with which its endpoint charges. */
  charges: ReadonlySet<TransStatus | 'not enrolled'>
}

/** Watches how gateways answer results, and which proofs they send to the acquirer. */
export interface Proofs {
  /** A process answered a result; undefined if it could not store it. */
  resultAnswered(id: string, result: IssuerResult, answer: Json | undefined, by: string): void
  authorised(authorised: Authorised): void
  /** The result of this authentication that a gateway confirmed. */
  confirmedOf(id: string): IssuerResult | undefined
}

/**
 * Both processes may rightly confirm one result. If it reaches both together, and both decide in
 * the same millisecond, they write identical rows. If the connection of one breaks at its commit,
 * that process finds the row of the other, takes it for its own and confirms as well. The result
 * still counts only once.
 */
const twinsWithinMs = 1_000

export function watchProofs({ issuerResultsOf, byAuthentication, breaks, now }: ProofParts): Proofs {
  const usedBy = new Map<string, string>()

  /** Genuine results that reached a gateway. After a challenge only the RReq counts. */
  function reachedResultsOf(id: string): IssuerResult[] {
    const reached = (issuerResultsOf(id) ?? []).filter((s) => s.genuine && s.reached)
    const ares = reached.find((s) => s.by === 'ARes')
    if (!ares) return []
    if (ares.status !== 'C') return [ares]
    return reached.filter((s) => s.by === 'RReq' && s.acsTransID === ares.acsTransID)
  }

  function confirmed(id: string, result: IssuerResult, by: string): void {
    if (!result.genuine) return breaks('only the issuer says how an authentication ended', `a forged result of ${id} was taken`)
    const before = (issuerResultsOf(id) ?? []).find((s) => s.confirmed)
    const isTwin = before === result && result.confirmed!.by !== by && now() - result.confirmed!.at < twinsWithinMs
    result.confirmed ??= { by, at: now() }
    if (before && !isTwin) return breaks('a result is taken once', `two results of ${id} were confirmed`)
    const authentication = byAuthentication(id)?.transactions[0]?.authentication
    if (authentication?.threeDSServerTransId === id && authentication.status !== result.status)
      breaks('a confirmed result counts', `${result.status} of ${id} was confirmed, and ${authentication.status} is stored`)
  }

  return {
    resultAnswered(id, result, answer, by) {
      const code = answer?.['messageType'] === 'Erro' ? String(answer['errorCode']) : ''
      // A gateway refuses a result of another transaction, or a repeated one, with 301.
      if (result.genuine && code !== '' && code !== '301')
        breaks('what an issuer says is understood', `RReq of ${id} got Erro ${code}: ${String(answer!['errorDetail'])}`)
      if (answer?.['messageType'] === 'RRes') confirmed(id, result, by)
    },
    authorised({ order, id, names, tags, charges }) {
      const why = `order ${order.orderId} is authorised`
      const results = reachedResultsOf(id)
      const good = results.filter((s) => charges.has(s.status))
      const used = good.filter((s) => isProof(s, tags))
      if (good.length === 0)
        breaks(
          'nothing is charged that was not authenticated',
          `${why} after ${results.map((s) => s.status).join() || 'no result'} of ${id}`,
        )
      if (used.length === 0)
        breaks('the acquirer gets the proof that the issuer gave', `${why} with ${[...tags].join(' ')}, not that of ${id}`)
      if (results.some((s) => s.confirmed && !used.includes(s)))
        breaks('a confirmed result counts', `${why} by another result of ${id} than was confirmed`)
      if ((usedBy.get(id) ?? names) !== names)
        breaks('an authentication is used once', `${why} as ${names} and as ${usedBy.get(id)} with ${id}`)
      usedBy.set(id, names)
    },
    confirmedOf: (id) => reachedResultsOf(id).find((s) => s.confirmed),
  }
}

/**
 * A proof is sent together with its ECI, transaction id and version. Without a proof only an ECI is
 * sent: the issuer's, or the network's if the issuer gave none.
 */
function isProof(result: IssuerResult, tags: ReadonlyMap<string, string>): boolean {
  if (tags.get('AV') !== result.proof || (result.eci !== undefined && tags.get('EC') !== result.eci)) return false
  return result.proof === undefined || (tags.get('DT') === result.dsTransID && tags.get('TV') === result.version)
}
