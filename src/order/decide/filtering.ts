/**
 * How the filters of an endpoint judge an order: the facts they receive, the limits that the order
 * uses up, and when it gives its share back.
 */
import { defined } from '../../base/defined.ts'
import type { Card } from '../../card/vault.ts'
import type { PaymentFacts } from '../../merchant/filter.ts'
import type { Registry } from '../../merchant/merchant.ts'
import { countKey, limitsOn, LimitsInHand, type CountKey, type CountTables, type Hide } from '../../risk/limits.ts'
import { screenPayment, type Screening } from '../../risk/screening.ts'
import { isLimit, type LimitRule } from '../../risk/velocity.ts'
import { head, statusOf, type Order } from './order.ts'

/**
 * The most that may be charged: the greatest of a list of amounts, the amount of a transfer with
 * its commission, or the payment that is to follow the hold of a random sum.
 */
function mostMinor(order: Order): bigint {
  const listed = (order.request.recurrent?.amounts ?? []).map(([minor]) => BigInt(minor))
  const toFollow = BigInt(order.request.mobile?.holdsForMinor ?? 0)
  return [order.amountMinor, head(order).amountMinor, toFollow, ...listed].reduce((a, b) => (b > a ? b : a))
}

/** `card`: in memory, for lists of BINs. */
export function factsForFilters(order: Order, card: Card | undefined): PaymentFacts {
  const { request, card: shown } = order
  const phones = [request.phone, request.cellPhone].filter((phone) => phone !== undefined)
  return {
    ...(card === undefined ? {} : { pan: card.pan.reveal() }),
    cardHash: shown.hashId,
    email: request.email,
    ip: request.ipAddress,
    phones,
    ...defined({ country: request.country, cardCountry: shown.country, purpose: request.purpose }),
    amountMinor: mostMinor(order),
    currency: order.currency,
    at: order.createdAt,
  }
}

/**
 * The filters in one round of the door. The whole round uses the rules loaded at its start, because
 * no row is locked for a rule that was added later.
 */
export class FilterRound {
  readonly #registry: Registry
  readonly #hide: Hide
  #limits = new LimitsInHand([])

  constructor(registry: Registry, hide: Hide) {
    this.#registry = registry
    this.#hide = hide
  }

  /** Whether any of these orders may use up a limit or give one back. */
  needsLocks(fresh: readonly Fresh[], changes: readonly Changed[]): boolean {
    return this.#touched(fresh, changes).length > 0
  }

  /**
   * Locks the limits that the orders of a batch may use up or give back. It locks them in one
   * statement, so that two batches lock shared limits in the same order.
   */
  async lock(tables: CountTables, fresh: readonly Fresh[], changes: readonly Changed[]): Promise<void> {
    const distinct = new Map(this.#touched(fresh, changes).map((place) => [countKey(place), place]))
    if (distinct.size > 0) this.#limits = new LimitsInHand(await tables.lockCounts([...distinct.values()]))
  }

  /**
   * Judges a new order under the locks of its limits. Undefined if its endpoint has no filters.
   */
  screen(order: Order, card: Card | undefined): Screening | undefined {
    const rules = this.#registry.filters(order.endpointId)
    if (rules.length === 0) return undefined
    const facts = factsForFilters(order, card)
    const limits = this.#limitsOn(order, card)
    const places = this.#places(order, limits)
    const at = Math.max(0, ...places.map((place) => this.#limits.at(place)))
    const bucketsOf = ({ filterNo }: LimitRule) =>
      places.filter((place) => place.filterNo === filterNo).flatMap((place) => this.#limits.bucketsOf(place))
    const judged = screenPayment(rules, facts, bucketsOf, at)
    if (limits.length === 0) return judged
    const keys = limits.map(([filterNo, [current]]) => [filterNo, current] as const)
    return { ...judged, counted: { at, minor: String(facts.amountMinor), keys } }
  }

  /**
   * Updates the counters for one order. A new order is counted before the next one of its batch is
   * judged; limits on refusals are updated again once it is refused. Rules that were removed
   * meanwhile are skipped.
   */
  count({ before, after }: Changed): void {
    const { counted } = after.screening ?? {}
    if (!counted || (before && (refused(before) || !refused(after)))) return
    const rules = this.#registry.filters(after.endpointId)
    for (const [filterNo, key] of counted.keys) {
      const rule = rules.find((one) => one.filterNo === filterNo)
      if (!rule || !isLimit(rule)) continue
      const by = changeOf(rule, before === undefined, refused(after))
      const place = { merchantId: after.merchantId, filterNo, key }
      if (by !== 0) this.#limits.count(place, rule, counted.at, by, BigInt(counted.minor))
    }
  }

  save(tables: CountTables): Promise<void> {
    return tables.saveCounts(this.#limits.changed())
  }

  #touched(fresh: readonly Fresh[], changes: readonly Changed[]): CountKey[] {
    return [
      ...fresh.flatMap(({ order, card }) => this.#places(order, this.#limitsOn(order, card))),
      ...changes.flatMap(({ before, after }) => placesLeft(before, after)),
    ]
  }

  #limitsOn(order: Order, card: Card | undefined): Limits {
    const rules = this.#registry.filters(order.endpointId)
    if (!rules.some(isLimit)) return []
    return limitsOn(rules, factsForFilters(order, card), this.#hide).map(([rule, keys]) => [rule.filterNo, keys] as const)
  }

  #places({ merchantId }: Order, limits: Limits): CountKey[] {
    return limits.flatMap(([filterNo, keys]) => keys.map((key) => ({ merchantId, filterNo, key })))
  }
}

type Limits = (readonly [filterNo: number, keys: ReturnType<Hide>])[]

interface Fresh {
  order: Order
  card: Card
}

interface Changed {
  before?: Order
  after: Order
}

const refused = (order: Order): boolean => ['declined', 'error', 'filtered'].includes(statusOf(order))

/** The limits whose counters change because the order was refused. */
function placesLeft(before: Order | undefined, after: Order): CountKey[] {
  if (!before?.screening?.counted || refused(before) || !refused(after)) return []
  return before.screening.counted.keys.map(([filterNo, key]) => ({ merchantId: after.merchantId, filterNo, key }))
}

function changeOf({ facts }: LimitRule, isNew: boolean, isRefused: boolean): 1 | -1 | 0 {
  if (facts.counts === 'refused') return isRefused ? 1 : 0
  if (isNew) return isRefused && facts.counts === 'unrefused' ? 0 : 1
  return facts.counts === 'unrefused' ? -1 : 0
}
