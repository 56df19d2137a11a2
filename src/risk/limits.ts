import type { Counted, FilterRule, PaymentFacts } from '../merchant/filter.ts'
import type { KeyRing } from '../keys/ring.ts'
import { keyedHashes } from '../keys/digest.ts'
import { countedValue, counted, isLimit, overAt, type Bucket, type LimitRule, type CountedBy } from './velocity.ts'

/** The row of one limited key. */
export interface CountKey {
  merchantId: bigint
  filterNo: number
  /** Keyed hash of the counted value, in base64url; it names the version of its key. */
  key: string
}

export interface CountRow extends CountKey {
  buckets: readonly Bucket[]
}

/**
 * A locked row: no other transaction counts by it until this one ends. `at`: when it was locked, by
 * the time of the database.
 */
export interface LockedCount extends CountRow {
  at: number
}

export interface CountTables {
  /** Locks the rows in the order of their keys, including new ones. */
  lockCounts(places: readonly CountKey[]): Promise<LockedCount[]>
  saveCounts(rows: readonly (CountRow & { until: number })[]): Promise<void>
}

export const countKey = ({ merchantId, filterNo, key }: CountKey): string => `${merchantId}/${filterNo}/${key}`

/**
 * Makes keyed hashes of a counted value, which is personal data: under the current key first, then
 * under the older ones, under which it may have been counted before.
 */
export type Hide = (text: string) => readonly [string, ...string[]]

/**
 * The limits that a payment may use up, with its keys at each: it is counted by the first, and all
 * of them together say how much is used.
 */
export const limitsOn = (
  rules: readonly FilterRule[],
  facts: PaymentFacts,
  hide: Hide,
): (readonly [rule: LimitRule, keys: ReturnType<Hide>])[] =>
  rules
    .filter(isLimit)
    .filter(({ facts: looks }) => looks.is === 'velocity' || looks.currency === facts.currency)
    .flatMap((rule) => {
      const keys = keysOfValue(rule.facts.per, facts, hide)
      return keys === undefined ? [] : [[rule, keys] as const]
    })

/** Undefined if there is no such value, by which nothing is counted. */
export function keysOfValue(per: Counted, payer: CountedBy, hide: Hide): ReturnType<Hide> | undefined {
  const value = countedValue(per, payer)
  return value === undefined ? undefined : hide(`${per}:${value}`)
}

/** The rows that a batch has locked: each order sees the counts of the earlier ones. */
export class LimitsInHand {
  readonly #rows: Map<string, LockedCount>
  readonly #changed = new Map<string, CountRow & { until: number }>()

  constructor(rows: readonly LockedCount[]) {
    this.#rows = new Map(rows.map((row) => [countKey(row), row]))
  }

  bucketsOf(place: CountKey): readonly Bucket[] {
    return this.#locked(place).buckets
  }

  at(place: CountKey): number {
    return this.#locked(place).at
  }

  /** `at`: when the order was first counted. */
  count(place: CountKey, rule: LimitRule, at: number, by: 1 | -1, minor: bigint): void {
    const row = this.#locked(place)
    const buckets = counted(rule, row.buckets, at, by, minor, row.at)
    this.#rows.set(countKey(place), { ...row, buckets })
    const { merchantId, filterNo, key } = place
    this.#changed.set(countKey(place), { merchantId, filterNo, key, buckets, until: overAt(rule, row.at) })
  }

  changed(): (CountRow & { until: number })[] {
    return [...this.#changed.values()]
  }

  #locked(place: CountKey): LockedCount {
    const row = this.#rows.get(countKey(place))
    if (!row) throw new Error(`the count ${countKey(place)} is not locked`)
    return row
  }
}

export const hideBy =
  (keys: KeyRing): Hide =>
  (text) => {
    const [current, ...older] = keyedHashes(keys, 'digest', `limit:${text}`)
    return [current.toString('base64url'), ...older.map((hash) => hash.toString('base64url'))]
  }
