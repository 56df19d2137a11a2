import { isRepeat } from '../simulators/acquirer/behaviour.ts'
import type { Ledger } from '../simulators/acquirer/ledger.ts'
import type { Message } from '../simulators/acquirer/wire.ts'
import { readTags } from '../simulators/acquirer/wire.ts'
import type { Reply } from '../src/gateway-api/reply.ts'
import type { Refusal } from '../src/spec/refusals.ts'
import { finalStatuses, kindWords, type Status } from '../src/spec/words.ts'
import type { EventName } from '../src/order/event.ts'
import { statusOf, statusOfState, type Order } from '../src/order/order.ts'
import { authenticationKey } from '../src/order/locator-keys.ts'
import { placeKey, type Change } from '../src/order/change.ts'
import type { Breaks, Broken, Invariant } from './invariant.ts'
import { watchAuthentications, type Authentications } from './authentications.ts'
import type { Wanted } from './asking.ts'
import { configuration } from './configuration.ts'
import { watchFilters } from './filters.ts'
import { watchFollowUps, type FollowUps } from './follow-ups.ts'
import type { Said } from './issuer-messages.ts'
import { watchLegacy, type LegacyAuthentications } from './legacy-authentications.ts'
import type { LegacyIssuers } from './legacy-issuers.ts'
import { watchKeys } from './key-watch.ts'
import type { Told } from './merchants.ts'
import type { MerchantServers } from './merchant-servers.ts'
import { watchMobile, type MobileInvariants } from './mobile-invariants.ts'
import { watchSums } from './sum-invariants.ts'
import { watchTransfers, type TransferInvariants } from './transfer-invariants.ts'
import { watchOvertaking } from './overtaking.ts'
import { watchPatience, type Patience } from './patience.ts'
import type { StoreModel } from './store-model.ts'
import { watchWaiting, type Waiting } from './waiting.ts'

export interface Invariants {
  broken(): Broken | undefined
  breaks: Breaks
  authentications: Authentications
  legacy: LegacyAuthentications
  followUps: FollowUps
  mobile: MobileInvariants
  transfers: TransferInvariants
  patience: Patience
  waiting: Waiting
  answered(wanted: Wanted, answer: { orderId: bigint } | { refused: string }): void
  /** A payment reaches a gateway under a key, and is answered there. */
  keyed(wanted: Wanted, key: string): void
  keyedAnswer(wanted: Wanted, key: string, reply: Reply | Refusal): void
  status(orderId: bigint, status: string): void
  committed(change: Change, stored: Order | undefined): void
  sent(processId: bigint | undefined, message: Message): void
  /** The acquirer booked or took back something of this order. */
  booked(orderId: string): void
  /** A message of the acquirer reached a gateway. */
  reached(message: Message): void
  /** The wall clock of the process in this place is off by that much from now on. */
  clockJumped(slot: number, offsetMs: number): void
  told(told: Told): void
  /** Orders that were acknowledged, with the request each belongs to. */
  acknowledged(): ReadonlyMap<bigint, Wanted>
}

/** Events that take a step in hand. Whatever else happens to a transaction, and what is put back, is in nobody's. */
const takesLease: ReadonlySet<EventName> = new Set<EventName>([
  'attempt recorded',
  'answer awaited',
  'taken up',
  'method uploaded',
  'enrolment unknown',
  'authentication demanded',
])
const live: ReadonlySet<Status> = new Set(['processing', 'unknown', 'approved'])
const recognisesRepeats = new Set(
  [...configuration.gates()].filter((g) => g.settings.recognisesRepeats).map((g) => g.settings.terminalId),
)

/** Before the attempt that may be the last: an acquirer may want a challenge where there was none, once. */
const mayNeedCvv2 = ({ attempts, finalAt, transactions: [payment] }: Order): boolean => {
  if (finalAt !== undefined || payment!.state === 'unknown') return false
  const { authentication } = payment!
  if (authentication?.round === 2) return attempts.length === 1
  return attempts.length === 0 || (authentication !== undefined && authentication.acsUrl === undefined)
}

/** Those that are checked as things happen. The first one broken is kept. */
export function watchInvariants(
  model: StoreModel,
  ledger: Ledger,
  saidOf: (id: string) => readonly Said[] | undefined,
  legacyIssuers: LegacyIssuers,
  servers: MerchantServers,
  lives: (processId: bigint) => boolean,
  now: () => number,
): Invariants {
  let broken: Broken | undefined
  const keyOf = new Map<bigint, string>()
  const byName = new Map<string, bigint[]>()
  const answers = new Map<string, bigint[]>()
  const acknowledged = new Map<bigint, Wanted>()
  const sentOnce = new Set<string>()
  const owners = new Map<string, string>()
  const statuses = new Map<bigint, string>()
  const overtaking = watchOvertaking(now)
  const waiting = watchWaiting(now)

  const breaks = (invariant: Invariant, why: string) => (broken ??= { invariant, why, at: now() })
  const orderOf = (orderId: bigint) => model.orders.get(keyOf.get(orderId) ?? '')
  const byAuthentication = (id: string) => {
    const place = model.locate(authenticationKey(id))
    return place && model.orders.get(placeKey(place))
  }
  const filtered = watchFilters(model, breaks, now)
  const keys = watchKeys(breaks)
  const keyedOf = ({ endpointId, operation, clientOrderid }: Wanted, key: string) => {
    const { merchantId } = configuration.endpoint(endpointId)!
    return { merchantId, key, request: `the ${operation} ${clientOrderid}` }
  }
  const followUps = watchFollowUps({ model, ledger, orderOf, keys, breaks })
  const transfers = watchTransfers(ledger, servers.initiated, (...broke) => void breaks(...broke))
  const sums = watchSums(model, ledger, now, (...broke) => void breaks(...broke))
  const mobile = watchMobile(model, servers, transfers, sums, (...broke) => void breaks(...broke))
  const patience = watchPatience(model, lives, breaks, now)
  const legacy = watchLegacy(model, legacyIssuers, (...broke) => void breaks(...broke))
  const authentications = watchAuthentications(saidOf, byAuthentication, orderOf, legacy, breaks, now)

  /** How long an answer to an attempt is waited for once it is sent. */
  function patienceOf(orderId: bigint, stan: string, terminal: string): number {
    const attempt = orderOf(orderId)?.attempts.find((a) => a.stan === stan && a.terminalId === terminal)
    return attempt ? attempt.deadlineAt - attempt.startedAt : 0
  }

  /** Another answer than before is right only when the first order came to nothing more than ten seconds ago. */
  function sameAnswer(wanted: Wanted, orderId: bigint) {
    const name = `${wanted.endpointId}/${wanted.clientOrderid}`
    const given = answers.get(name) ?? []
    if (given.includes(orderId)) return
    for (const other of given) {
      const [older, newer] = [orderOf(other), orderOf(orderId)].sort((a, b) => Number(a!.orderId - b!.orderId))
      const [first, second] = older!.createdAt <= newer!.createdAt ? [older!, newer!] : [newer!, older!]
      if (live.has(statusOf(first)) || second.createdAt - first.createdAt <= 10_000)
        breaks(
          'the same request has the same answer',
          `${name} was answered with order ${first.orderId} and order ${second.orderId}`,
        )
    }
    answers.set(name, [...given, orderId])
  }

  function checkNewName(order: Order) {
    const name = `${order.merchantId}/${order.clientOrderid}`
    const others = byName.get(name) ?? []
    const rival = others.map(orderOf).find((o) => o && live.has(statusOf(o)))
    if (rival)
      breaks(
        'one live order a name',
        `order ${order.orderId} was made while order ${rival.orderId} of that name is ${statusOf(rival)}`,
      )
    byName.set(name, [...others, order.orderId])
  }

  function checkWaiting({ before, rows }: Change) {
    for (const { event, transactionNo } of rows) {
      if (event !== 'answer lost' && event !== 'answer awaited') continue
      const attempt = before?.attempts.find((a) => a.transactionNo === transactionNo && a.outcome === undefined)
      const early = attempt && waiting.givenUp(attempt)
      if (early !== undefined) breaks('an answer is waited for', `order ${before!.orderId}: ${early}`)
    }
  }

  function seen(orderId: bigint, status: string, where: string) {
    const before = statuses.get(orderId)
    if (before !== undefined && before !== status && finalStatuses.has(before as Status))
      breaks('a final status stays', `order ${orderId} was ${before} and is ${status} in ${where}`)
    if (before === undefined || finalStatuses.has(status as Status)) statuses.set(orderId, status)
  }

  return {
    broken: () => broken,
    breaks,
    authentications,
    legacy,
    followUps,
    mobile,
    transfers,
    patience,
    waiting,
    acknowledged: () => acknowledged,
    answered(wanted, answer) {
      const { merchantId } = configuration.endpoint(wanted.endpointId)!
      if ((wanted.referenceOf ?? merchantId) !== merchantId) {
        if (!('refused' in answer) || answer.refused !== 'card reference not found')
          breaks(
            'nobody charges the card of another merchant',
            `${wanted.clientOrderid} of merchant ${merchantId} names a card of ${wanted.referenceOf}, and is not refused`,
          )
        return
      }
      if ('refused' in answer)
        return void breaks('the same request has the same answer', `${wanted.clientOrderid} was refused: ${answer.refused}`)
      const order = orderOf(answer.orderId)
      if (!order) return void breaks('an acknowledged order exists', `order ${answer.orderId} is not there`)
      acknowledged.set(answer.orderId, wanted)
      sameAnswer(wanted, answer.orderId)
    },
    keyed: (wanted, key) => keys.asked(keyedOf(wanted, key)),
    keyedAnswer(wanted, key, reply) {
      if (!('refused' in reply)) keys.answered(keyedOf(wanted, key), `${reply['gateway-order-id']}/1`)
      else if (reply.refused === 'key in use') keys.refused(keyedOf(wanted, key))
    },
    status(orderId, status) {
      if (finalStatuses.has(status as Status)) seen(orderId, status, 'a status reply')
    },
    committed(change, stored) {
      const { before, after, rows, deliveries } = change
      patience.committed(change)
      const key = placeKey(after)
      const { orderId } = after
      if (stored?.version !== before?.version)
        breaks(
          'no decision is lost',
          `order ${orderId} was decided on version ${before?.version} and stored over ${stored?.version}`,
        )
      keyOf.set(orderId, key)
      if (!before) checkNewName(after)
      checkWaiting(change)
      filtered(after, before)
      const status = statusOf(after)
      if (finalStatuses.has(status) || statuses.has(orderId)) seen(orderId, status, 'the store')
      authentications.committed(after)
      followUps.committed(after, before)
      mobile.committed(after, before)
      if (after.kind === 'transfer') transfers.committed(after)
      if (!mayNeedCvv2(after) && model.cards.get(key)?.cvv2Sealed)
        breaks(
          'a CVV2 is gone when it is not needed',
          `order ${orderId} is ${after.transactions[0]!.state} and still has its CVV2`,
        )
      for (const t of after.transactions) {
        const kept = t.lease === before?.transactions[t.no - 1]?.lease
        if (t.lease !== undefined && !kept && !rows.some((r) => r.transactionNo === t.no && takesLease.has(r.event)))
          breaks(
            'a lease is taken by an event or a claim',
            `transaction ${t.no} of order ${orderId} is in the hand of ${t.lease}`,
          )
      }
      for (const d of deliveries) {
        const same = [...Array(after.deliveries + 2).keys()]
          .map((no) => model.deliveries.rows.get(`${key}/${no}`))
          .filter((o) => o && o.url === d.url && o.transactionNo === d.transactionNo)
        if (same.length > 1)
          breaks('an outcome is told once to each', `order ${orderId} has ${same.length} messages for ${d.url}`)
      }
    },
    booked(orderId) {
      followUps.booked(orderId)
      const order = orderOf(BigInt(orderId || '0'))
      if (order?.kind === 'transfer') transfers.booked(order)
    },
    reached(message) {
      overtaking.answered(message)
      const { type, fields } = message
      if (fields[39] === '904' && type !== '1814' && fields[44] !== 'sign on first')
        breaks('the acquirer can read what it is sent', `${type} ${fields[11]} says ${fields[44]}`)
    },
    clockJumped: (slot, offsetMs) => overtaking.jumped(slot, offsetMs),
    sent(processId, { type, fields }) {
      if (type === '1804') return
      const orderId = BigInt(readTags(fields[48] ?? '')?.get('OI') ?? '0')
      const [stan, terminal] = [fields[11] ?? '', fields[41] ?? '']
      const what = `${type} ${stan} of order ${orderId}`
      if (processId === undefined || model.isDead(processId))
        breaks('nobody sends without its lease', `process ${processId} sent ${what} after its lease`)
      patience.sent({ type, fields })
      const attempt = orderOf(orderId)?.attempts.find((a) => a.stan === stan && a.terminalId === terminal)
      if (!attempt) return void breaks('an attempt is recorded before it is sent', `${what} was sent and is not stored`)
      const owner = `${orderId}/${attempt.no}`
      const names = `${terminal} ${stan}`
      if ((owners.get(names) ?? owner) !== owner) breaks('names are used once', `${what} has the names of ${owners.get(names)}`)
      owners.set(names, owner)
      const overtakes = overtaking.sent({ type, fields }, (original) => patienceOf(orderId, original, terminal))
      if (overtakes !== undefined) breaks('a reversal never overtakes its original', `order ${orderId}: ${overtakes}`)
      const order = orderOf(orderId)!
      if (order.kind === 'transfer') transfers.sent(order, { type, fields })
      if (type.startsWith('14')) return
      const again = isRepeat(type) ? !recognisesRepeats.has(terminal) : sentOnce.has(names)
      if (again) breaks('an attempt is sent once', `${what} was sent again`)
      sentOnce.add(names)
      if (attempt.transactionNo !== 1) return
      followUps.paid(order, stan, BigInt(fields[4] ?? '0'))
      authentications.authorised(order, names, readTags(fields[48] ?? '') ?? new Map())
    },
    told({ orderId, status, url, type }) {
      const order = orderOf(BigInt(orderId || '0'))
      const about = order?.transactions.filter((t) => t.origin === 'request' && kindWords[t.kind].callbackType === type)
      if (!order || !about?.some((t) => statusOfState(t.state) === status))
        breaks('a final status stays', `${url} was told ${status} of the ${type} of order ${orderId}`)
      else if (about[0]!.no === 1) seen(order.orderId, status, 'a callback')
    },
  }
}
