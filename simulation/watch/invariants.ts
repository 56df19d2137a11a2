import type { Order } from '../../src/order/decide/order.ts'
import { authenticationKey } from '../../src/order/decide/locator-keys.ts'
import { orderKeyText, type Change } from '../../src/order/decide/change.ts'
import { watchMessages, type AcquirerMessages } from './acquirer-messages.ts'
import { watchAnswers, type Answers } from './answers.ts'
import { watchAuthentications, type Authentications } from './authentications.ts'
import { commitChecks } from '../model/commits.ts'
import { watchCvv2s, type Cvv2Watch } from './cvv2-watch.ts'
import { watchFilters } from './filters.ts'
import { watchFollowUps, type FollowUps } from './follow-ups.ts'
import { check, type Breaks, type Broken } from './invariant.ts'
import { watchKeys } from './key-watch.ts'
import { watchLegacy, type LegacyAuthentications } from './legacy-authentications.ts'
import { watchMobile, type MobileInvariants } from './mobile-invariants.ts'
import { watchPatience, type Patience } from './patience.ts'
import type { Peers } from '../world/peers.ts'
import { watchStatuses, type Statuses } from './statuses.ts'
import type { Installation } from '../world/installation.ts'
import { watchSums } from './sum-invariants.ts'
import { watchTransfers, type TransferInvariants } from './transfer-invariants.ts'
import { watchWaiting, type Waiting } from './waiting.ts'

/** All checks that run as things happen; each part has its own watch. */
export interface Invariants {
  broken(): Broken | undefined
  breaks: Breaks
  answers: Answers
  authentications: Authentications
  cvv2s: Cvv2Watch
  followUps: FollowUps
  legacy: LegacyAuthentications
  messages: AcquirerMessages
  mobile: MobileInvariants
  patience: Patience
  statuses: Statuses
  transfers: TransferInvariants
  waiting: Waiting
  committed(change: Change, stored: Order | undefined): void
  /** The acquirer booked or took back something of this order. */
  booked(orderId: string): void
}

export interface InvariantParts {
  installation: Installation
  peers: Peers
  /** Whether the process with this number is alive. */
  lives: (processId: bigint) => boolean
  now: () => number
}

/** The first invariant that breaks is kept. */
export function watchInvariants({ installation, peers, lives, now }: InvariantParts): Invariants {
  const { network, issuers, legacyIssuers, servers } = peers
  const { ledger } = network
  let broken: Broken | undefined
  const breaks: Breaks = (invariant, why) => void (broken ??= { invariant, why, at: now() })
  const keyOf = new Map<bigint, string>()
  const orderOf = (orderId: bigint) => installation.orders.get(keyOf.get(orderId) ?? '')
  const byAuthentication = (id: string) => {
    const orderKey = installation.locate(authenticationKey(id))
    return orderKey && installation.orders.get(orderKeyText(orderKey))
  }
  const keys = watchKeys(breaks)
  const filtered = watchFilters(installation, breaks, now)
  const answers = watchAnswers(orderOf, keys, breaks)
  const statuses = watchStatuses(orderOf, breaks)
  const waiting = watchWaiting(breaks, now)
  const patience = watchPatience(installation, lives, breaks, now)
  const followUps = watchFollowUps({ installation, ledger, orderOf, keys, breaks })
  const transfers = watchTransfers(ledger, servers.initiated, breaks)
  const sums = watchSums(installation, ledger, now, breaks)
  const mobile = watchMobile({ installation, servers, transfers, sums, breaks })
  const legacy = watchLegacy(installation, legacyIssuers, breaks)
  const issuerResultsOf = (id: string) => issuers.resultsById.get(id)
  const authentications = watchAuthentications({ issuerResultsOf, byAuthentication, orderOf, legacy, breaks, now })
  const cvv2s = watchCvv2s(breaks)
  const messages = watchMessages({ installation, orderOf, patience, transfers, followUps, authentications, cvv2s, breaks, now })
  const watches = { answers, authentications, cvv2s, followUps, legacy, messages, mobile, patience, statuses, transfers, waiting }

  return {
    ...watches,
    broken: () => broken,
    breaks,
    committed(change, stored) {
      const { before, after } = change
      const { orderId } = after
      patience.committed(change)
      const versions = `decided on version ${before?.version} and stored over ${stored?.version}`
      if (stored?.version !== before?.version) breaks('no decision is lost', `order ${orderId} was ${versions}`)
      const lost = (stored?.transactions.length ?? 0) - after.transactions.length
      if (lost > 0) breaks('no decision is lost', `${lost} transactions of order ${orderId} are gone`)
      const named = keyOf.get(orderId)
      if (!before && named !== undefined)
        breaks('an id is drawn once', `order ${orderId} of merchant ${after.merchantId} is ${named}`)
      keyOf.set(orderId, orderKeyText(after))
      if (!before) answers.made(after)
      waiting.committed(change)
      filtered(after, before)
      statuses.committed(after)
      authentications.committed(after)
      followUps.committed(after, before)
      mobile.committed(after, before)
      if (after.kind === 'transfer') transfers.committed(after)
      check(commitChecks, { ...change, installation }, breaks)
    },
    booked(orderId) {
      followUps.booked(orderId)
      const order = orderOf(BigInt(orderId || '0'))
      if (order?.kind === 'transfer') transfers.booked(order)
    },
  }
}
