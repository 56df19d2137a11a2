import type { Ledger } from '../simulators/acquirer/ledger.ts'
import type { Reply } from '../src/gateway-api/reply.ts'
import { isRandomSum, type Order, type Transaction } from '../src/order/order.ts'
import { placeKey } from '../src/order/change.ts'
import type { RepeatRow } from '../src/order/store.ts'
import type { Refusal } from '../src/spec/refusals.ts'
import type { Intent } from './asking.ts'
import type { Breaks } from './invariant.ts'
import type { KeyWatch } from './key-watch.ts'
import { configuration } from './configuration.ts'
import type { StoreModel } from './store-model.ts'
import { payerOf } from './wants.ts'

/** Watches what happens to payments after they were approved, in both books; written apart from the gateway's own sums. */
export interface FollowUps {
  following(intent: Intent, serialNumber: string): void
  followed(intent: Intent, serialNumber: string, reply: Reply | Refusal, again: boolean): void
  registered(orderId: bigint, cardRefId: bigint): void
  committed(order: Order, before: Order | undefined): void
  /** The acquirer booked or took back something of this order. */
  booked(orderId: string): void
  /** A payment leaves a gateway, for so much. */
  paid(order: Order, stan: string, amountMinor: bigint): void
  settled(order: Order): void
}

export type Booked = ReturnType<Ledger['search']>['entries'][number]

const sumOf = (of: readonly { amountMinor: bigint | string }[]): bigint =>
  of.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n)

const failed: ReadonlySet<string> = new Set(['declined', 'error'])
const ended: ReadonlySet<string> = new Set(['approved', 'declined', 'error'])
const isPayment = ({ kind }: Booked) => kind !== 'capture' && kind !== 'return' && kind !== 'credit'

/** What may have moved money, by kind; a capture or return whose answer was lost among them, until it is reversed. */
function sumsOf({ transactions: [payment, ...later] }: Order) {
  const standing = (kind: Transaction['kind']) => later.filter((t) => t.kind === kind && !failed.has(t.state))
  const authorised = payment!.state === 'approved' ? payment!.amountMinor : 0n
  const captures = standing('capture')
  const releases = later.filter((t) => (t.kind === 'void' || t.kind === 'cancel') && !failed.has(t.state))
  const settled = payment!.kind === 'sale' ? authorised : sumOf(captures.filter((t) => t.state === 'approved'))
  return { authorised, captured: sumOf(captures), returned: sumOf(standing('return')), settled, releases }
}

/** What should stand in the acquirer's books of an order in the end. */
function owedOf(order: Order): string[] {
  const approved = order.transactions.filter((t) => t.state === 'approved')
  if (approved.some((t) => t.kind === 'void' || t.kind === 'cancel')) return []
  return approved
    .filter((t) => t.kind !== 'reversal')
    .map((t) => `${t.kind === 'transfer' ? 'debit' : t.kind} of ${t.amountMinor}`)
}

const meant = { capture: ['capture'], return: ['return', 'cancel'], void: ['void'] } as const

/** All its fields. */
const requestOf = ({ orderId, operation, amount, comment }: Intent): string =>
  `the ${operation} of ${amount?.text ?? 'all'} of order ${orderId} (${comment ?? 'no comment'})`

const isNamedOtherwise = (one: Intent, other: Intent): boolean =>
  one.idempotencyKey !== undefined && other.idempotencyKey !== undefined && one.idempotencyKey !== other.idempotencyKey

const windowOf = ({ endpointId }: Order): number => configuration.endpoint(endpointId)!.settings.repeatWindowMs ?? 600_000

interface FollowParts {
  model: StoreModel
  ledger: Ledger
  orderOf: (id: bigint) => Order | undefined
  keys: KeyWatch
  breaks: Breaks
}

export function watchFollowUps({ model, ledger, orderOf, keys, breaks }: FollowParts): FollowUps {
  const intents = new Map<string, Intent>()
  /**
   * Where the transactions of an order stood when a request reached the gateway, by its serial
   * number.
   */
  const statesBefore = new Map<string, Order['transactions']>()
  const references = new Map<bigint, bigint>()

  const approvedAtAcquirer = (orderId: string) =>
    ledger.search({ orderId, limit: Infinity }).entries.filter((e) => e.state === 'approved')

  function checkReleased(order: Order): void {
    const { orderId } = order
    const release = order.transactions.find((t) => (t.kind === 'void' || t.kind === 'cancel') && t.state === 'approved')
    const left = release ? approvedAtAcquirer(String(orderId)) : []
    if (left.length > 0)
      breaks(
        'what is released is not charged',
        `order ${orderId} is released; the acquirer has ${left.map((e) => e.kind).join(' and ')}`,
      )
  }

  /** Whether a transaction is the second of one request. */
  function checkOnce(order: Order, t: Transaction): void {
    // The gateway gives the hold of a random sum back by itself.
    if (isRandomSum(order) && t.kind === 'void') return
    const intent = intents.get(t.serialNumber!)
    const what = `transaction ${t.no} of order ${order.orderId}`
    if (!intent) return breaks('a request is done as it was asked', `nobody asked for ${what}`)
    const { operation, amount, idempotencyKey } = intent
    const isMeant = (meant[operation] as readonly string[]).includes(t.kind)
    if (!isMeant || t.amountMinor <= 0n || (amount !== undefined && amount.minor !== t.amountMinor))
      breaks(
        'a request is done as it was asked',
        `${what} is a ${t.kind} of ${t.amountMinor}; a ${operation} of ${amount?.minor ?? 'all'} was asked`,
      )
    for (const other of order.transactions) {
      const earlier = other === t ? undefined : intents.get(other.serialNumber ?? '')
      // One that came after it, perhaps in the same commit, is judged itself.
      if (!earlier || earlier.operation !== operation || other.no > t.no) continue
      const isNamedAlike = idempotencyKey !== undefined && earlier.idempotencyKey === idempotencyKey
      const isEqual = requestOf(earlier) === requestOf(intent) && !isNamedOtherwise(earlier, intent)
      const wasJustApproved = other.state === 'approved' && t.createdAt - other.finalAt! < windowOf(order)
      if (isNamedAlike || (isEqual && (!ended.has(other.state) || wasJustApproved)))
        breaks('a request is done once', `${what} is asked for by the same request as transaction ${other.no}`)
    }
  }

  /**
   * A request that was answered with the transaction of another one has to be equal to that one,
   * which has to be open or just approved. Under a key it may be any of the same request.
   */
  function checkRepeat(order: Order, intent: Intent, { serialNumber, transactionNo, at }: RepeatRow): void {
    const repeated = order.transactions.find(({ no }) => no === transactionNo)!
    const first = intents.get(repeated.serialNumber ?? '')
    const what = `${requestOf(intent)} as ${serialNumber}`
    if (!first || requestOf(first) !== requestOf(intent) || isNamedOtherwise(first, intent))
      breaks(
        'a repeat is of the same request',
        `${what} was answered with ${first && requestOf(first)}, transaction ${transactionNo}`,
      )
    const before = statesBefore.get(serialNumber)?.find(({ no }) => no === transactionNo)
    if (intent.idempotencyKey !== undefined || !before) return
    const isOver = before.state === 'approved' && at - before.finalAt! >= windowOf(order)
    if (isOver || failed.has(before.state))
      breaks('a repeat is of the same request', `${what} was answered with transaction ${transactionNo}, which was over`)
  }

  return {
    following(intent, serialNumber) {
      intents.set(serialNumber, intent)
      const { merchantId, transactions } = orderOf(intent.orderId)!
      statesBefore.set(serialNumber, transactions)
      const { idempotencyKey: key } = intent
      if (key !== undefined) keys.asked({ merchantId, key, request: requestOf(intent) })
    },
    followed(intent, serialNumber, reply, again) {
      const { orderId, operation, idempotencyKey } = intent
      const order = orderOf(orderId)!
      const named =
        idempotencyKey === undefined
          ? undefined
          : { merchantId: order.merchantId, key: idempotencyKey, request: requestOf(intent) }
      const what = `the ${operation} of order ${orderId} as ${serialNumber}`
      if ('refused' in reply) {
        if (named && reply.refused === 'key in use') keys.refused(named)
        if (again && idempotencyKey !== undefined)
          breaks('the same request has the same answer', `${what} was acknowledged, and is refused: ${reply.refused}`)
        return
      }
      const made = order.transactions.find((t) => t.serialNumber === serialNumber)
      const repeat = model.repeat(order, serialNumber)
      if (repeat) checkRepeat(order, intent, repeat)
      if (named) keys.answered(named, `${orderId}/${made?.no ?? repeat?.transactionNo}`)
      if (made && again && idempotencyKey !== undefined)
        breaks('a request is done once', `${what} was acknowledged before, and is a transaction of its own`)
      if (!made && !repeat) breaks('an acknowledged order exists', `${what} was acknowledged, and is not there`)
    },
    registered(orderId, cardRefId) {
      if ((references.get(orderId) ?? cardRefId) !== cardRefId)
        breaks('the same request has the same answer', `order ${orderId} has two card references`)
      references.set(orderId, cardRefId)
    },
    committed(order, before) {
      const { orderId, request, merchantId } = order
      if (!before && request.recurrent && request.email !== payerOf(merchantId))
        breaks(
          'nobody charges the card of another merchant',
          `order ${orderId} of merchant ${merchantId} charges the card of ${request.email}`,
        )
      if (order.transactions.length === 1) return
      for (const t of order.transactions)
        if (t.no > (before?.transactions.length ?? 1) && t.origin === 'request') checkOnce(order, t)
      const { authorised, captured, returned, settled, releases } = sumsOf(order)
      if (captured > authorised)
        breaks('no more is captured than was authorised', `${captured} of ${authorised} of order ${orderId} may be captured`)
      if (returned > settled)
        breaks('no more is returned than was settled', `${returned} of ${settled} of order ${orderId} may be returned`)
      if (releases.length > 1 || (releases.length > 0 && captured + returned > 0n))
        breaks(
          'what is released is not charged',
          `order ${orderId} is released ${releases.length} times, ${captured} captured, ${returned} returned`,
        )
      checkReleased(order)
    },
    booked(orderId) {
      const { entries } = ledger.search({ orderId, limit: Infinity })
      const paid = entries.filter((e) => isPayment(e) && e.actionCode === '000')
      if (paid.length > 1)
        breaks('a list of amounts is charged once', `order ${orderId} was approved ${paid.length} times by the acquirer`)
      const standing = entries.filter((e) => e.state === 'approved')
      const authorised = sumOf(standing.filter(isPayment))
      const captured = sumOf(standing.filter((e) => e.kind === 'capture'))
      const returned = sumOf(standing.filter((e) => e.kind === 'return'))
      const settled = paid[0]?.kind === 'preauth' ? captured : authorised
      if (captured > authorised)
        breaks('no more is captured than was authorised', `the acquirer has ${captured} of ${authorised} of order ${orderId}`)
      if (returned > settled)
        breaks('no more is returned than was settled', `the acquirer gave back ${returned} of ${settled} of order ${orderId}`)
      const order = orderOf(BigInt(orderId || '0'))
      if (order) checkReleased(order)
    },
    paid({ orderId, request, amountMinor: asked, attempts, kind }, stan, amountMinor) {
      const tried = attempts.filter((a) => a.transactionNo === 1).findIndex((a) => a.stan === stan)
      const list = request.recurrent?.amounts
      const fee = BigInt(request.transfer?.commissionMinor ?? 0)
      const due = kind === 'account-verification' ? 0n : list ? BigInt(list[tried]?.[0] ?? 0) : asked + fee
      if (amountMinor !== due)
        breaks('a list of amounts is charged once', `try ${tried + 1} of order ${orderId} is for ${amountMinor}, not ${due}`)
    },
    settled(order) {
      const charged = approvedAtAcquirer(String(order.orderId)).map((e) => `${e.kind} of ${e.amountMinor}`)
      const owed = owedOf(order)
      if (charged.sort().join() !== owed.sort().join())
        breaks(
          'the books are equal',
          `order ${placeKey(order)} has ${owed.join(' and ') || 'nothing'}; the acquirer ${charged.join(' and ') || 'nothing'}`,
        )
    },
  }
}
