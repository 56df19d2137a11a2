import type { Ledger } from '../../simulators/acquirer/ledger.ts'
import type { Order, Transaction } from '../../src/order/decide/order.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import { check, type Checks } from './invariant.ts'
import { watchRequests, type RequestParts, type Requests } from './requests.ts'
import { payerOf } from '../parties/wants.ts'

/**
 * Watches payments after their approval, in the books of both sides. It computes its sums
 * independently of the gateway.
 */
export interface FollowUps extends Pick<Requests, 'following' | 'followed'> {
  registered(orderId: bigint, cardRefId: bigint): void
  committed(order: Order, before: Order | undefined): void
  /** The acquirer booked or took back something of this order. */
  booked(orderId: string): void
  /** An authorisation for this amount leaves a gateway. */
  paid(order: Order, stan: string, amountMinor: bigint): void
  settled(order: Order): void
}

type Booked = ReturnType<Ledger['search']>['entries'][number]

/** The sums of an order in one of the books. */
interface Sums {
  authorised: bigint
  captured: bigint
  returned: bigint
  settled: bigint
}

const sumOf = (of: readonly { amountMinor: bigint | string }[]): bigint =>
  of.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n)

const failed: ReadonlySet<string> = new Set(['declined', 'error'])
const isRelease = ({ kind }: Transaction) => kind === 'void' || kind === 'cancel'
const isPayment = ({ kind }: Booked) => kind !== 'capture' && kind !== 'return' && kind !== 'credit'
const isApproved = ({ state }: { state: string }) => state === 'approved'

/**
 * Everything in the gateway's book that may have moved money. A capture or return whose answer was
 * lost counts until it is reversed.
 */
function storedSums({ transactions: [payment, ...later] }: Order): Sums {
  const standing = (kind: Transaction['kind']) => later.filter((t) => t.kind === kind && !failed.has(t.state))
  const authorised = payment!.state === 'approved' ? payment!.amountMinor : 0n
  const captures = standing('capture')
  const settled = payment!.kind === 'sale' ? authorised : sumOf(captures.filter(isApproved))
  return { authorised, captured: sumOf(captures), returned: sumOf(standing('return')), settled }
}

function bookedSums(entries: readonly Booked[], approvedPayments: readonly Booked[]): Sums {
  const standing = entries.filter(isApproved)
  const authorised = sumOf(standing.filter(isPayment))
  const captured = sumOf(standing.filter((e) => e.kind === 'capture'))
  const returned = sumOf(standing.filter((e) => e.kind === 'return'))
  return { authorised, captured, returned, settled: approvedPayments[0]?.kind === 'preauth' ? captured : authorised }
}

const entriesOf = (ledger: Ledger, orderId: bigint | string): Booked[] =>
  ledger.search({ orderId: String(orderId), limit: Infinity }).entries

/** The sum that the acquirer still has booked for a released order. */
function leftOf(ledger: Ledger, { orderId, transactions }: Order): string | false {
  const isReleased = transactions.some((t) => isRelease(t) && isApproved(t))
  const left = isReleased ? entriesOf(ledger, orderId).filter(isApproved) : []
  return left.length > 0 && `order ${orderId} is released; the acquirer has ${left.map((e) => e.kind).join(' and ')}`
}

const whenFollowed: Checks<{ ledger: Ledger; order: Order; sums: Sums }> = {
  'no more is captured than was authorised': ({ order, sums: { authorised, captured } }) =>
    captured > authorised && `${captured} of ${authorised} of order ${order.orderId} may be captured`,

  'no more is returned than was settled': ({ order, sums: { returned, settled } }) =>
    returned > settled && `${returned} of ${settled} of order ${order.orderId} may be returned`,

  'what is released is not charged'({ ledger, order, sums: { captured, returned } }) {
    const releases = order.transactions.filter((t) => isRelease(t) && !failed.has(t.state)).length
    const isCharged = releases > 1 || (releases > 0 && captured + returned > 0n)
    const what = `order ${order.orderId} is released ${releases} times, ${captured} captured, ${returned} returned`
    return isCharged ? what : leftOf(ledger, order)
  },
}

interface BookedView {
  ledger: Ledger
  orderId: string
  order: Order | undefined
  approvals: number
  sums: Sums
}
const whenBooked: Checks<BookedView> = {
  'a list of amounts is charged once': ({ orderId, approvals }) =>
    approvals > 1 && `order ${orderId} was approved ${approvals} times by the acquirer`,

  'no more is captured than was authorised': ({ orderId, sums: { authorised, captured } }) =>
    captured > authorised && `the acquirer has ${captured} of ${authorised} of order ${orderId}`,

  'no more is returned than was settled': ({ orderId, sums: { returned, settled } }) =>
    returned > settled && `the acquirer gave back ${returned} of ${settled} of order ${orderId}`,

  'what is released is not charged': ({ ledger, order }) => order && leftOf(ledger, order),
}

const whenPaid: Checks<{ order: Order; stan: string; amountMinor: bigint }> = {
  'a list of amounts is charged once'({ order, stan, amountMinor }) {
    const { orderId, request, kind, attempts } = order
    const tried = attempts.filter((a) => a.transactionNo === 1).findIndex((a) => a.stan === stan)
    const list = request.recurrent?.amounts
    const sum = list ? BigInt(list[tried]?.[0] ?? 0) : order.amountMinor + BigInt(request.transfer?.commissionMinor ?? 0)
    const due = kind === 'account-verification' ? 0n : sum
    return amountMinor !== due && `try ${tried + 1} of order ${orderId} is for ${amountMinor}, not ${due}`
  },
}

const whenSettled: Checks<{ ledger: Ledger; order: Order }> = {
  'the books are equal'({ ledger, order }) {
    const charged = entriesOf(ledger, order.orderId).filter(isApproved)
    const listed = (all: readonly string[]) => all.join(' and ') || 'nothing'
    const theirs = charged.map((e) => `${e.kind} of ${e.amountMinor}`).sort()
    const owed = owedOf(order).sort()
    const isEqual = theirs.join() === owed.join()
    return !isEqual && `order ${orderKeyText(order)} has ${listed(owed)}; the acquirer ${listed(theirs)}`
  },
}

/** The entries that the acquirer's books should have for an order at the end of a world. */
function owedOf(order: Order): string[] {
  const approved = order.transactions.filter(isApproved)
  if (approved.some(isRelease)) return []
  return approved
    .filter((t) => t.kind !== 'reversal')
    .map((t) => `${t.kind === 'transfer' ? 'debit' : t.kind} of ${t.amountMinor}`)
}

const whenCreated: Checks<Order> = {
  'no merchant charges the card of another': ({ orderId, request, merchantId }) =>
    request.recurrent &&
    request.email !== payerOf(merchantId) &&
    `order ${orderId} of merchant ${merchantId} charges the card of ${request.email}`,
}

export function watchFollowUps({ ledger, ...parts }: RequestParts & { ledger: Ledger }): FollowUps {
  const { orderOf, breaks } = parts
  const requests = watchRequests(parts)
  const references = new Map<bigint, bigint>()
  return {
    following: requests.following,
    followed: requests.followed,
    registered(orderId, cardRefId) {
      if ((references.get(orderId) ?? cardRefId) !== cardRefId)
        breaks('the same request has the same answer', `order ${orderId} has two card references`)
      references.set(orderId, cardRefId)
    },
    committed(order, before) {
      if (!before) check(whenCreated, order, breaks)
      if (order.transactions.length === 1) return
      requests.committed(order, before)
      check(whenFollowed, { ledger, order, sums: storedSums(order) }, breaks)
    },
    booked(orderId) {
      const entries = entriesOf(ledger, orderId)
      const approved = entries.filter((e) => isPayment(e) && e.actionCode === '000')
      const order = orderOf(BigInt(orderId || '0'))
      const sums = bookedSums(entries, approved)
      check(whenBooked, { ledger, orderId, order, approvals: approved.length, sums }, breaks)
    },
    paid: (order, stan, amountMinor) => check(whenPaid, { order, stan, amountMinor }, breaks),
    settled: (order) => check(whenSettled, { ledger, order }, breaks),
  }
}
