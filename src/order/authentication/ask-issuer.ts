import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { secret } from '../../base/secret.ts'
import { sealProof } from '../../card/vault.ts'
import type { Registry } from '../../merchant/merchant.ts'
import type { Authentication, TransStatus } from '../../three-d-secure/authentication.ts'
import type { Message } from '../../three-d-secure/codec.ts'
import type { Ending } from '../../three-d-secure/interpret.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { areqOf, type ServerIdentity } from './areq.ts'
import { endedEvent, learnedFrom, waits } from './plan.ts'
import type { Event } from '../decide/event.ts'
import { gateOf } from '../decide/gate.ts'
import type { Held } from '../door/hand.ts'
import type { Order, Transaction } from '../decide/order.ts'

export interface AuthenticationParts {
  clock: Clock
  random: Random
  keys: KeyRing
  registry: () => Registry
  server: ServerIdentity
  /**
   * Asks a directory server. Always resolves; the result is an answer only if its ids and version
   * match the request.
   */
  ask: (directory: string, areq: Message) => Promise<{ is: 'answered'; ares: Message } | { is: 'failed'; why: string }>
  /** Whether a URL of the issuer may be put into a page. */
  usable: (url: string) => boolean
}

/**
 * Step `authenticate`: asks the issuer of the card. A challenge then waits for the result that the
 * directory server posts; anything else is the result.
 */
export async function authenticate(parts: AuthenticationParts, held: Held, transaction: Transaction): Promise<Event> {
  const { order, card } = held
  const registry = parts.registry()
  const endpoint = registry.endpoint(order.endpointId)
  const gate = gateOf(order, transaction, registry)
  const merchantName = registry.merchant(order.merchantId)?.name
  const authentication = transaction.authentication!
  const failed = () => endedEvent(order, transaction, endpoint, { is: 'failed' }, {})
  if (!gate || merchantName === undefined) return failed()
  const areq = areqOf(order, transaction, card.pan, { gate, merchantName, server: parts.server, now: parts.clock.now() })
  if (!areq) return failed()
  const answer = await parts.ask(authentication.directory, areq)
  if (answer.is === 'failed') return failed()
  const learned = learnedFrom(answer.ares)
  if (learned.status !== 'C') return resultEvent(parts, order, transaction, answer.ares)
  if (learned.acsUrl === undefined || !parts.usable(learned.acsUrl)) return failed()
  return {
    is: 'challenge required',
    transactionNo: transaction.no,
    of: authentication.threeDSServerTransId,
    learned,
    dueAt: parts.clock.now() + waits.challengeMs,
  }
}

/** The effect on the order of an ARes without a challenge, or of an RReq after one. */
export function resultEvent(
  parts: Pick<AuthenticationParts, 'keys' | 'random' | 'registry'>,
  order: Order,
  transaction: Transaction,
  message: Message,
): Event {
  const learned: Partial<Authentication> & { status: TransStatus } = learnedFrom(message)
  const proof = message['authenticationValue']
  if (typeof proof === 'string') learned.authenticationValue = sealProof(secret(proof), order, parts.keys, parts.random)
  const ending: Ending = {
    is: 'status',
    status: learned.status as Exclude<TransStatus, 'C'>,
    ...(learned.statusReason === undefined ? {} : { reason: learned.statusReason }),
    ...(learned.challengeCancel === undefined ? {} : { cancel: learned.challengeCancel }),
  }
  return endedEvent(order, transaction, parts.registry().endpoint(order.endpointId), ending, learned)
}
