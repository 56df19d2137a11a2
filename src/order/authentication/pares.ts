import { knownCurrency } from '../../base/money.ts'
import type { Turns } from '../../base/turn.ts'
import type { Authentication } from '../../three-d-secure/authentication.ts'
import { isMd } from '../../three-d-secure/legacy/legacy.ts'
import type { Oddities } from '../../three-d-secure/oddities.ts'
import { paresVerifier } from '../../three-d-secure/legacy/pares.ts'
import type { Event } from '../decide/event.ts'
import type { Order, Transaction } from '../decide/order.ts'
import { legacyOf } from './pareq.ts'
import type { AuthenticationParts } from './ask-issuer.ts'
import { paresEvent } from './ask-enrolment.ts'

export interface ParesParts extends Pick<AuthenticationParts, 'keys' | 'random' | 'registry'> {
  /** Root certificates of the card's network, by its directory server of 1.0.2. */
  paresRoots: (directory: string) => readonly string[]
  oddities: Pick<Oddities, 'noted'>
  turns: Turns
}

/**
 * Checks what an issuer sent back through the browser against the request. `refused` gives the
 * reason why it proves nothing.
 */
export async function judgePares(
  parts: ParesParts,
  order: Order,
  transaction: Transaction & { authentication: Authentication },
  { paRes, md }: { paRes: string; md: string },
  now: number,
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
          roots: parts.paresRoots(transaction.authentication.directory),
          now,
          odd,
        }),
      )
    : ({ is: 'refused', why: 'md is not the one that was given' } as const)
  const { directory, threeDSServerTransId } = transaction.authentication
  parts.oddities.noted(directory, threeDSServerTransId, odd)
  const event = paresEvent(parts, order, transaction, verdict)
  return verdict.is === 'refused' ? { event, refused: verdict.why } : { event }
}
