import { defined } from '../../base/defined.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { binTableOf, issuerFacts } from '../../card/bins.ts'
import { loadBins } from '../../card/bin-rows.ts'
import { hashIdOfNumber } from '../../card/vault.ts'
import type { Secret } from '../../base/secret.ts'
import type { FilterRule, PaymentFacts } from '../../merchant/filter.ts'
import { loadRegistry } from '../../merchant/rows.ts'
import { hideBy, limitsOn } from '../../risk/limits.ts'
import { screenPayment, type Screening } from '../../risk/screening.ts'
import { readCounts } from '../../risk/count-rows.ts'
import type { OrderDesk } from '../desk.ts'
import { inCell } from '../in-cells.ts'
import { endpointOf } from '../known.ts'
import { cellsFor, loginsIn } from '../logins.ts'

/** A hypothetical payment. */
export interface TrialPayment {
  endpointId: bigint
  card: Secret<string>
  email: string
  ip: string
  phone?: string
  country?: string
  purpose?: string
  /** In minor units of the endpoint's currency. */
  amountMinor: bigint
  at: number
}

/**
 * What the filters of an endpoint would decide about a payment now. Limits are read without a lock,
 * and nothing is counted.
 */
export async function tryFilters(
  desk: OrderDesk,
  keys: KeyRing,
  trial: TrialPayment,
): Promise<Omit<Screening, 'counted'> & { rules: readonly FilterRule[] }> {
  const { merchantId, currency } = await endpointOf(desk.pool, trial.endpointId)
  const rules = (await loadRegistry(desk.pool, keys, trial.at)).filters(trial.endpointId)
  const issuer = binTableOf(await loadBins(desk.pool))(trial.card.reveal())
  const { country: cardCountry } = issuerFacts(issuer)
  const facts: PaymentFacts = {
    pan: trial.card.reveal(),
    cardHash: hashIdOfNumber(trial.card, merchantId, keys),
    email: trial.email,
    ip: trial.ip,
    phones: trial.phone === undefined ? [] : [trial.phone],
    ...defined({ country: trial.country, cardCountry, purpose: trial.purpose }),
    amountMinor: trial.amountMinor,
    currency,
    at: trial.at,
  }
  const places = limitsOn(rules, facts, hideBy(keys)).flatMap(([{ filterNo }, all]) =>
    all.map((key) => ({ merchantId, filterNo, key })),
  )
  const [cell] = await cellsFor(desk, await loginsIn(desk.pool), merchantId)
  const counts = await inCell(cell!, ({ pool }) => readCounts(pool, places))
  const bucketsOf = ({ filterNo }: { filterNo: number }) =>
    counts.filter((row) => row.filterNo === filterNo).flatMap(({ buckets }) => buckets)
  return { ...screenPayment(rules, facts, bucketsOf, trial.at), rules }
}
