import type { Version } from '../three-d-secure/codec.ts'
import { isWithin, type CardRange } from '../three-d-secure/cards.ts'

/** An item of cardRangeData. */
export type RangeItem = CardRange & { actionInd: 'A' | 'D' | 'M'; acsInfoInd?: readonly string[] }

/**
 * The card ranges, with their state at each serial number, so that a client with an older one gets
 * the difference. Serial numbers begin with the second of the start, so numbers of an earlier run
 * are never taken for numbers of this one.
 */
export class RangeBook {
  readonly #states = new Map<string, readonly CardRange[]>()
  #serial: number
  #ranges: readonly CardRange[]

  constructor(ranges: readonly CardRange[], startedAt: number) {
    this.#serial = Math.floor(startedAt / 1000)
    this.#ranges = ranges
    this.#states.set(this.serial, ranges)
  }

  get serial(): string {
    return String(this.#serial)
  }

  list(): readonly CardRange[] {
    return this.#ranges
  }

  find(number: string): CardRange | undefined {
    return this.#ranges.find((range) => isWithin(number, range))
  }

  /** Adds, modifies or deletes; a text is the refusal. */
  change(action: 'A' | 'D' | 'M', range: CardRange): string | undefined {
    const known = this.#ranges.some((one) => same(one, range))
    if (action !== 'A' && !known) return `There is no range ${range.startRange}–${range.endRange}.`
    if (range.startRange.padEnd(19, '0') > range.endRange.padEnd(19, '9')) return 'The range ends before it starts.'
    const others = this.#ranges.filter((one) => action === 'A' || !same(one, range))
    const overlapped = action === 'D' ? undefined : others.find((one) => overlap(one, range))
    if (overlapped) return `It overlaps with ${overlapped.startRange}–${overlapped.endRange}.`
    this.#ranges = action === 'D' ? others : [...others, range]
    this.#serial++
    this.#states.set(this.serial, this.#ranges)
    return undefined
  }

  /** All ranges, as additions. */
  full(version: Version): RangeItem[] {
    return this.#ranges.map((range) => itemOf(range, 'A', version))
  }

  /**
   * The changes since a serial number; undefined if it is not one of ours. Deletions come first, so
   * that no step overlaps.
   */
  since(serial: string, version: Version): RangeItem[] | undefined {
    const before = this.#states.get(serial)
    if (before === undefined) return undefined
    const gone = before.filter((old) => !this.#ranges.some((now) => same(old, now)))
    const fresh = this.#ranges.filter((now) => !before.some((old) => same(old, now)))
    const changed = this.#ranges.filter((now) =>
      before.some((old) => same(old, now) && JSON.stringify(old) !== JSON.stringify(now)),
    )
    // 2.1.0 has no M: a range is deleted and added again.
    const modified =
      version === '2.1.0'
        ? changed.flatMap((now) => [itemOf(now, 'D', version), itemOf(now, 'A', version)])
        : changed.map((now) => itemOf(now, 'M', version))
    return [...gone.map((old) => itemOf(old, 'D', version)), ...modified, ...fresh.map((now) => itemOf(now, 'A', version))]
  }
}

/** 01: authentications, 02: attempts; the indicator came with 2.2.0. */
const itemOf = (range: CardRange, actionInd: RangeItem['actionInd'], version: Version): RangeItem => ({
  ...range,
  actionInd,
  ...(version === '2.1.0' || actionInd === 'D' ? {} : { acsInfoInd: ['01', '02'] }),
})

const same = (a: CardRange, b: CardRange): boolean => a.startRange === b.startRange && a.endRange === b.endRange

const overlap = (a: CardRange, b: CardRange): boolean =>
  isWithin(a.startRange, b) || isWithin(b.startRange, a) || isWithin(a.endRange, b) || isWithin(b.endRange, a)
