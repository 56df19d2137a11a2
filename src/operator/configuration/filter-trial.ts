import { defined } from '../../base/defined.ts'
import { binTableOf, issuerFacts } from '../../card/bins.ts'
import { loadBins } from '../../card/bin-rows.ts'
import { hashIdOfNumber } from '../../card/vault.ts'
import type { Secret } from '../../base/secret.ts'
import type { PaymentFacts } from '../../merchant/filter.ts'
import { loadRegistry } from '../../merchant/rows.ts'
import { hideBy, limitsOn } from '../../risk/limits.ts'
import { screenPayment } from '../../risk/screening.ts'
import { readCounts } from '../../risk/count-rows.ts'
import type { Office } from '../office.ts'
import { inCell } from '../in-cells.ts'
import { endpointOf } from '../known.ts'
import { cellsFor, loginsIn } from '../where.ts'

/** A hypothetical payment, in the currency of its endpoint. */
interface TrialPayment extends Pick<PaymentFacts, 'email' | 'ip' | 'country' | 'purpose' | 'amountMinor' | 'at'> {
  endpointId: bigint
  card: Secret<string>
  phone?: string
}

/**
 * What the filters of an endpoint would decide about a payment now. Limits are read without a lock,
 * and nothing is counted.
 */
export async function tryFilters(office: Office, { endpointId, card, phone, ...payment }: TrialPayment) {
  const { pool } = office
  const keys = await office.keys()
  const { merchantId, currency } = await endpointOf(pool, endpointId)
  const rules = (await loadRegistry(pool, keys, payment.at)).filters(endpointId)
  const { country: cardCountry } = issuerFacts(binTableOf(await loadBins(pool))(card.reveal()))
  const facts: PaymentFacts = {
    ...payment,
    ...defined({ cardCountry }),
    pan: card.reveal(),
    cardHash: hashIdOfNumber(card, merchantId, keys),
    phones: phone === undefined ? [] : [phone],
    currency,
  }
  const places = limitsOn(rules, facts, hideBy(keys)).flatMap(([{ filterNo }, all]) =>
    all.map((key) => ({ merchantId, filterNo, key })),
  )
  const [cell] = await cellsFor(office, await loginsIn(pool), merchantId)
  const counts = await inCell(cell!, (one) => readCounts(one.pool, places))
  const bucketsOf = ({ filterNo }: { filterNo: number }) =>
    counts.filter((row) => row.filterNo === filterNo).flatMap(({ buckets }) => buckets)
  return { ...screenPayment(rules, facts, bucketsOf, payment.at), rules }
}
