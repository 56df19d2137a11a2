import { isRepeat } from '../../simulators/acquirer/behaviour.ts'
import { readTags, type Message } from '../../simulators/acquirer/wire.ts'
import type { Attempt, Order } from '../../src/order/decide/order.ts'
import type { Authentications } from './authentications.ts'
import type { Actor } from '../world/clock.ts'
import { configuration } from '../model/configuration.ts'
import type { Cvv2Watch } from './cvv2-watch.ts'
import type { FollowUps } from './follow-ups.ts'
import type { Breaks } from './invariant.ts'
import { watchOvertaking } from './overtaking.ts'
import type { Patience } from './patience.ts'
import type { Installation } from '../world/installation.ts'
import type { TransferInvariants } from './transfer-invariants.ts'

/** Watches messages on the lines to the acquirer. */
export interface AcquirerMessages {
  sent(actor: Actor, message: Message): void
  /** A message of the acquirer reached a gateway. */
  reached(message: Message): void
  /** From now on the wall clock of the process in this slot is off by `offsetMs`. */
  clockJumped(slot: number, offsetMs: number): void
}

export interface MessageParts {
  installation: Installation
  orderOf: (orderId: bigint) => Order | undefined
  /** Watches that also see every message that is sent. */
  patience: Patience
  transfers: TransferInvariants
  followUps: FollowUps
  authentications: Authentications
  cvv2s: Cvv2Watch
  breaks: Breaks
  now: () => number
}

/** Terminals at which the acquirer recognises the repeat of a message. */
const recognisesRepeats = new Set(
  [...configuration.gates()].filter((g) => g.settings.recognisesRepeats).map((g) => g.settings.terminalId),
)

const waitedForMs = ({ attempts }: Order, stan: string, terminal: string): number => {
  const attempt = attempts.find((a) => a.stan === stan && a.terminalId === terminal)
  return attempt ? attempt.deadlineAt - attempt.startedAt : 0
}

export function watchMessages(parts: MessageParts): AcquirerMessages {
  const { installation, orderOf, patience, transfers, followUps, authentications, cvv2s, breaks, now } = parts
  const overtaking = watchOvertaking(now)
  /** Keyed by the terminal and STAN of a message. */
  const owners = new Map<string, string>()
  const sentOnce = new Set<string>()

  function holdsLease(numbers: Actor['numbers'], { merchantId }: Order): boolean {
    const processId = numbers.get(installation.homeNo(merchantId))
    return processId !== undefined && !installation.isDead(processId, merchantId)
  }

  function checkNames(names: string, owner: string, what: string): void {
    if ((owners.get(names) ?? owner) !== owner) breaks('names are used once', `${what} has the names of ${owners.get(names)}`)
    owners.set(names, owner)
  }

  function checkOnce(type: string, names: string, terminal: string, what: string): void {
    const isAgain = isRepeat(type) ? !recognisesRepeats.has(terminal) : sentOnce.has(names)
    if (isAgain) breaks('an attempt is sent once', `${what} was sent again`)
    sentOnce.add(names)
  }

  /** Checks a message whose attempt is stored, as every attempt should be. */
  function ofAttempt(message: Message, order: Order, { no, transactionNo, stan, terminalId }: Attempt, what: string): void {
    const { type, fields } = message
    const names = `${terminalId} ${stan}`
    checkNames(names, `${order.orderId}/${no}`, what)
    const overtakes = overtaking.sent(message, (original) => waitedForMs(order, original, terminalId))
    if (overtakes !== undefined) breaks('a reversal never overtakes its original', `order ${order.orderId}: ${overtakes}`)
    if (order.kind === 'transfer') transfers.sent(order, message)
    if (type.startsWith('14')) return
    checkOnce(type, names, terminalId, what)
    if (transactionNo !== 1) return
    followUps.paid(order, stan, BigInt(fields[4] ?? '0'))
    const tags = readTags(fields[48] ?? '') ?? new Map()
    authentications.authorised(order, names, tags)
    cvv2s.authorised(order, tags.get('92'))
  }

  return {
    sent({ name, numbers }, message) {
      const { type, fields } = message
      if (type === '1804') return
      const orderId = BigInt(readTags(fields[48] ?? '')?.get('OI') ?? '0')
      const what = `${type} ${fields[11] ?? ''} of order ${orderId}`
      patience.sent(message)
      const order = orderOf(orderId)
      if (order && !holdsLease(numbers, order))
        breaks('no process sends without its lease', `process ${name} sent ${what} after its lease`)
      const attempt = order?.attempts.find((a) => a.stan === fields[11] && a.terminalId === fields[41])
      if (order && attempt) ofAttempt(message, order, attempt, what)
      else breaks('an attempt is recorded before it is sent', `${what} was sent and is not stored`)
    },
    reached(message) {
      overtaking.answered(message)
      const { type, fields } = message
      if (fields[39] === '904' && type !== '1814' && fields[44] !== 'sign on first')
        breaks('the acquirer can read what it is sent', `${type} ${fields[11]} says ${fields[44]}`)
    },
    clockJumped: (slot, offsetMs) => overtaking.jumped(slot, offsetMs),
  }
}
