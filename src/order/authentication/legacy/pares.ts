import { knownCurrency } from '../../../base/money.ts'
import type { Authentication } from '../../../three-d-secure/authentication.ts'
import { isMd } from '../../../three-d-secure/legacy/legacy.ts'
import { paresVerifier } from '../../../three-d-secure/legacy/pares.ts'
import type { Event } from '../../decide/event.ts'
import type { Order, Transaction } from '../../decide/order.ts'
import { legacyOf } from './pareq.ts'
import type { LegacyParts } from './parts.ts'
import { paresEvent } from './enrol.ts'

export async function judgePares(
  parts: LegacyParts,
  order: Order,
  transaction: Transaction & { authentication: Authentication },
  { paRes, md }: { paRes: string; md: string },
): Promise<{ event: Event; refused?: string }> {
  const facts = legacyOf(transaction.authentication)
  const currency = knownCurrency(order.currency)
  const odd = new Set<string>()
  const verdict = isMd(md, facts.md)
    ? await parts.turns.run(
        paresVerifier(paRes, {
          messageId: facts.messageId,
          acqBIN: facts.acquirerBin,
          merID: facts.merchantId,
          xid: facts.xid,
          purchaseDate: facts.purchaseDate,
          purchAmount: String(transaction.amountMinor),
          currency: currency.numeric,
          exponent: String(currency.exponent),
          lastFour: order.card.lastFour,
          roots: parts.roots(transaction.authentication.directory),
          now: parts.clock.now(),
          odd,
        }),
      )
    : ({ is: 'refused', why: 'md is not the one that was given' } as const)
  const { directory, threeDSServerTransId } = transaction.authentication
  parts.oddities.noted(directory, threeDSServerTransId, odd)
  const event = paresEvent(parts, order, transaction, verdict)
  return verdict.is === 'refused' ? { event, refused: verdict.why } : { event }
}
