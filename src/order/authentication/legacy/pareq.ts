/**
 * The 3-D Secure 1.0.2 messages of a payment: the question whether its card is enrolled, and the
 * request that the browser carries to the issuer.
 */
import { knownCurrency } from '../../../base/money.ts'
import type { Secret } from '../../../base/secret.ts'
import type { Random } from '../../../base/random.ts'
import { legacyMoment } from '../../../spec/three-d-secure/legacy.ts'
import type { Authentication, LegacyFacts } from '../../../three-d-secure/authentication.ts'
import { encodePareq, makeMd, makeXid, writePareq, writeVereq } from '../../../three-d-secure/legacy/legacy.ts'
import { merchantNameOf, type AReqParts } from '../areq.ts'
import type { LegacyParts } from './parts.ts'
import { gateOf } from '../../decide/gate.ts'
import { head, type Order, type Transaction } from '../../decide/order.ts'

/**
 * Ids of the request and of the messages that may follow it. An amount of more than twelve digits
 * does not fit the request.
 */
export function legacyFacts({ gate, now }: Pick<AReqParts, 'gate' | 'now'>, messageId: string, random: Random): LegacyFacts {
  return {
    messageId,
    xid: makeXid(random),
    md: makeMd(random),
    acquirerBin: gate.settings.acquirerId,
    merchantId: gate.settings.cardAcceptorId.trim(),
    purchaseDate: legacyMoment(now),
  }
}

export const vereqOf = (facts: LegacyFacts, pan: Secret<string>): string =>
  writeVereq(facts.messageId, {
    pan: pan.reveal(),
    'Merchant/acqBIN': facts.acquirerBin,
    'Merchant/merID': facts.merchantId,
  })

/** The form fields `PaReq` and `MD`. */
export function pareqForm(
  { registry: current, site }: Pick<LegacyParts, 'registry' | 'site'>,
  order: Order,
  transaction: Transaction,
): { pareq: string; md: string } {
  const registry = current()
  const facts = legacyOf(transaction.authentication)
  const currency = knownCurrency(order.currency)
  const { expiryMonth, expiryYear } = order.card
  const xml = writePareq(facts.messageId, {
    'Merchant/acqBIN': facts.acquirerBin,
    'Merchant/merID': facts.merchantId,
    'Merchant/name': merchantNameOf(registry.merchant(order.merchantId)?.name ?? '', 25),
    'Merchant/country': gateOf(order, head(order), registry)?.settings.countryNumeric ?? '840',
    'Merchant/url': site,
    'Purchase/xid': facts.xid,
    'Purchase/date': facts.purchaseDate,
    'Purchase/amount': `${transaction.amountText} ${order.currency}`,
    'Purchase/purchAmount': String(transaction.amountMinor),
    'Purchase/currency': currency.numeric,
    'Purchase/exponent': String(currency.exponent),
    'CH/acctID': facts.accountId!,
    'CH/expiry': `${String(expiryYear % 100).padStart(2, '0')}${String(expiryMonth).padStart(2, '0')}`,
  })
  return { pareq: encodePareq(xml), md: facts.md }
}

export function legacyOf(authentication: Authentication | undefined): LegacyFacts {
  if (!authentication?.legacy) throw new Error('this step is of 3-D Secure 1.0.2 alone')
  return authentication.legacy
}
