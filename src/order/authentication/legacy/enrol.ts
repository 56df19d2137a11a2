import { uuid } from '../../../base/random.ts'
import { secret } from '../../../base/secret.ts'
import { sealProof } from '../../../card/vault.ts'
import type { Authentication } from '../../../three-d-secure/authentication.ts'
import type { Ending } from '../../../three-d-secure/interpret.ts'
import type { ParesVerdict } from '../../../three-d-secure/legacy/pares.ts'
import { endedEvent, waits } from '../plan.ts'
import type { Event } from '../../decide/event.ts'
import { gateOf } from '../../decide/gate.ts'
import type { Held } from '../../door/hand.ts'
import type { Order, Transaction } from '../../decide/order.ts'
import { legacyFacts, vereqOf } from './pareq.ts'
import type { LegacyParts } from './parts.ts'

/** Twelve digits. */
const longestAmount = 10n ** 12n

export async function enrol(parts: LegacyParts, { order, card }: Held, transaction: Transaction): Promise<Event> {
  const registry = parts.registry()
  const endpoint = registry.endpoint(order.endpointId)
  const gate = gateOf(order, transaction, registry)
  const end = (ending: Ending) => endedEvent(order, transaction, endpoint, ending, {})
  const fits = card.pan.reveal().length >= 13 && transaction.amountMinor < longestAmount
  if (!gate || !fits) return end({ is: 'failed' })
  const facts = legacyFacts({ gate, now: parts.clock.now() }, uuid(parts.random), parts.random)
  const { directory, threeDSServerTransId: of } = transaction.authentication!
  const xml = vereqOf(facts, card.pan)
  const answer = await parts.askEnrolment(directory, { xml, messageId: facts.messageId })
  if (answer.is === 'not enrolled') return end({ is: 'not enrolled' })
  if (answer.is === 'unavailable') return end({ is: 'status', status: 'U' })
  if (answer.is !== 'enrolled') return end({ is: 'failed' })
  const learned = { acsUrl: answer.url, legacy: { ...facts, accountId: answer.acctId } }
  const dueAt = parts.clock.now() + waits.paresMs
  return { is: 'payer authentication required', transactionNo: transaction.no, of, learned, dueAt }
}

/**
 * What a PARes means once its signature and values are checked. A PARes that fails a check ends the
 * payment.
 */
export function paresEvent(
  parts: Pick<LegacyParts, 'keys' | 'random' | 'registry'>,
  order: Order,
  transaction: Transaction & { authentication: Authentication },
  verdict: ParesVerdict,
): Event {
  const endpoint = parts.registry().endpoint(order.endpointId)
  if (verdict.is === 'refused') return endedEvent(order, transaction, endpoint, { is: 'forged' }, {})
  const { status, cavv, eci } = verdict
  const learned: Partial<Authentication> = { status, dsTransId: transaction.authentication.legacy!.xid }
  if (eci !== undefined) learned.eci = eci
  if (cavv !== undefined) learned.authenticationValue = sealProof(secret(cavv), order, parts.keys, parts.random)
  return endedEvent(order, transaction, endpoint, { is: 'status', status }, learned)
}
