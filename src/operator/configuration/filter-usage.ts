import type { Secret } from '../../base/secret.ts'
import { hashIdOfNumber } from '../../card/vault.ts'
import { cardNumber, Unreadable } from '../../entity/kinds.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { Counted } from '../../merchant/filter.ts'
import { takeCounts } from '../../risk/count-rows.ts'
import { hideBy, keysOfValue } from '../../risk/limits.ts'
import { isLimit, usedOf, type Used } from '../../risk/velocity.ts'
import { changeInCell } from '../change.ts'
import type { Office } from '../office.ts'
import { Refused, unfit } from '../refused.ts'
import { cellsFor, loginsIn } from '../where.ts'
import { filterNumbered, refuseRemoved, type FilterEntry } from './filter-rows.ts'
import { ruleText, usedJson } from './filter-settings.ts'

/**
 * Lets a limit count one value from nothing again: an address, or a card by its number or its
 * card-hash-id. The audit trail gets how much was counted, never by what. A payment that is under
 * way and is refused later is still taken off, and then from what was counted since.
 */
export async function resetCount(
  office: Office,
  login: string,
  filterNo: number,
  value: Secret<string>,
): Promise<{ filter: FilterEntry; used: Used }> {
  const filter = await filterNumbered(office.pool, login, filterNo)
  refuseRemoved(filter)
  if (!isLimit(filter)) throw new Refused({ what: 'no limit', login, filterNo, does: ruleText(filter) })
  const { merchantId, facts } = filter
  const keys = await office.keys()
  const hidden = keysOfValue(facts.per, payingBy(facts.per, value, merchantId, keys), hideBy(keys)) ?? []
  const places = hidden.map((key) => ({ merchantId, filterNo, key }))
  const [cell] = await cellsFor(office, await loginsIn(office.pool), merchantId)
  return changeInCell(office, cell!, async (runner) => {
    const taken = await takeCounts(runner, places)
    const buckets = taken.flatMap((row) => row.buckets)
    const used = usedOf(filter, buckets, office.clock.now())
    if (used.orders === 0) throw new Refused({ what: 'nothing counted', login, filterNo, per: facts.per })
    const details = { per: facts.per, freed: usedJson(filter, used) }
    return { note: { subject: `filter ${login} ${filterNo}`, details }, result: { filter, used } }
  })
}

/** The value by which a limit counts a payment. */
function payingBy(per: Counted, value: Secret<string>, merchantId: bigint, keys: KeyRing) {
  const text = value.reveal()
  return { cardHash: per === 'card' ? cardHashOf(text, merchantId, keys) : '', email: text, ip: text }
}

function cardHashOf(text: string, merchantId: bigint, keys: KeyRing): string {
  if (/^[0-9a-f]{32}$/i.test(text)) return text.toLowerCase()
  const number = cardNumber.read(text)
  if (number instanceof Unreadable) throw new Refused(unfit('value', 'the number of a card, or its card-hash-id'))
  return hashIdOfNumber(number, merchantId, keys)
}
