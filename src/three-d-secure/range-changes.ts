/** Applies a PRes to the card ranges of its directory server. */
import type { UnfitEntry } from './codec-fields.ts'
import { isObject } from '../base/json.ts'
import { compare, endOf, isNumber, startOf, type CardRange } from './ranges.ts'

/** One entry of cardRangeData: add, delete or modify. */
export interface RangeItem {
  actionInd: 'A' | 'D' | 'M'
  range: CardRange
}

/** Entries of cardRangeData that the codec has checked. An absent actionInd means add. */
export function itemsOf(directory: string, data: readonly unknown[]): RangeItem[] {
  return (data as readonly Partial<RangeItem & CardRange>[]).map(({ actionInd = 'A', acsInfoInd = [], ...rest }) => ({
    actionInd,
    range: { ...(rest as CardRange), directory, acsInfoInd },
  }))
}

/** For people, to help find the entry. A text that is not the number of a range is not repeated. */
export function describeUnfit({ entry, missing, unfit }: UnfitEntry): string {
  const ends = isObject(entry) ? [entry['startRange'], entry['endRange']] : []
  const known = ends.map((end) => (typeof end === 'string' && isNumber(end) ? end : '?'))
  const short = (name: string) => name.replace(/^cardRangeData\./, '')
  const why = [...missing.map((name) => `${short(name)} is missing`), ...unfit.map((name) => `${short(name)} does not fit`)]
  return `${known.join(' to ') || 'an entry'}: ${why.join(', ')}`
}

/** An inconsistent answer is dropped as a whole, and all ranges are requested again. */
export interface Inconsistent {
  is: 'inconsistent'
  faults: string[]
}

const spanOf = (range: CardRange) => `${startOf(range)} ${endOf(range)}`
/** Spelled as the directory server does: one span may be listed in 16 and in 19 digits. */
const words = ({ startRange, endRange }: CardRange) => `${startRange} to ${endRange}`

/** A load that loses more than this fraction of its entries is refused as a whole. */
const mostLeftOut = 1 / 20

/**
 * The ranges of a full load, in which every entry must be an addition, and why the other entries
 * were left out: `unread` ones, which the codec could not read, and those that contradict an
 * earlier one. Spellings of one span with equal contents are all kept, because a later change may
 * name any of them. Overlapping ranges are kept whatever their contents: a number belongs to the
 * narrowest. *Rejected:* to leave one of two overlapping ranges out. It would take cards out of 3-D
 * Secure.
 */
export function applyFull(
  items: readonly RangeItem[],
  unread: readonly string[] = [],
): { is: 'applied'; ranges: CardRange[]; leftOut: string[] } | Inconsistent {
  const ranges = new Map<string, CardRange>()
  const firstOf = new Map<string, CardRange>()
  const leftOut = [...unread]
  for (const { actionInd, range } of items) {
    const first = firstOf.get(spanOf(range))
    const contradicts =
      first && contentsOf(first) !== contentsOf(range) ? 'it contradicts an earlier entry of its span' : undefined
    const fault = (actionInd === 'A' ? undefined : `${actionInd} in a full load`) ?? wrongIn(range) ?? contradicts
    if (fault === undefined) {
      firstOf.set(spanOf(range), first ?? range)
      ranges.set(words(range), range)
    } else leftOut.push(`${words(range)}: ${fault}`)
  }
  const isRefused = leftOut.length > (items.length + unread.length) * mostLeftOut
  // If an empty load were accepted, it would take every card out of 3-D Secure.
  const empty = ranges.size === 0 ? ['a full load without a range'] : []
  const faults = isRefused ? [...leftOut, ...empty] : empty
  return faults.length > 0 ? { is: 'inconsistent', faults } : { is: 'applied', ranges: [...ranges.values()], leftOut }
}

/** The ranges of one directory server after a change, which must be consistent with them. */
export function applyDelta(
  current: readonly CardRange[],
  items: readonly RangeItem[],
): { is: 'applied'; ranges: CardRange[] } | Inconsistent {
  const spans = new Map<string, Map<string, CardRange>>()
  for (const range of current) spans.set(spanOf(range), (spans.get(spanOf(range)) ?? new Map()).set(words(range), range))
  const known = new Set(spans.keys())
  const faults = changeInOrder(spans, items)
  const ranges = [...spans.values()].flatMap((spellings) => [...spellings.values()])
  const all = [...faults, ...contradictions(spans, items), ...overlaps(ranges, known)]
  return all.length > 0 ? { is: 'inconsistent', faults: all } : { is: 'applied', ranges }
}

/** Applies the items to the ranges, by span and by spelling; returns what could not be done. */
function changeInOrder(spans: Map<string, Map<string, CardRange>>, items: readonly RangeItem[]): string[] {
  const faults: string[] = []
  const deleted = new Set<string>()
  for (const { actionInd, range } of items) {
    const span = spanOf(range)
    const spellings = spans.get(span) ?? new Map<string, CardRange>()
    const fault = wrongIn(range) ?? unfitting(actionInd, range, spellings, deleted.has(span))
    if (fault !== undefined) {
      faults.push(`${actionInd} of ${words(range)}: ${fault}`)
      continue
    }
    // A change may spell the span in a new way: then it refers to all known spellings.
    if (actionInd !== 'A' && !spellings.has(words(range))) spellings.clear()
    if (actionInd === 'D') {
      spellings.delete(words(range))
      deleted.add(span)
    } else spellings.set(words(range), range)
    if (spellings.size === 0) spans.delete(span)
    else spans.set(span, spellings)
  }
  return faults
}

function unfitting(
  actionInd: RangeItem['actionInd'],
  range: CardRange,
  spellings: ReadonlyMap<string, CardRange>,
  wasDeleted: boolean,
): string | undefined {
  if (actionInd === 'A') {
    const same = spellings.get(words(range))
    return same && contentsOf(same) !== contentsOf(range) ? 'it is there already, with other contents' : undefined
  }
  // Both spellings of a span may be deleted although only one was known.
  if (spellings.size === 0 && !(actionInd === 'D' && wasDeleted)) return 'it is not there'
  return undefined
}

function wrongIn(range: CardRange): string | undefined {
  if (![range.startRange, range.endRange].every(isNumber)) return 'its ends are not 13 to 19 digits'
  return startOf(range) > endOf(range) ? 'it ends before it starts' : undefined
}

/** Spans of which only one spelling was changed. */
function contradictions(spans: ReadonlyMap<string, ReadonlyMap<string, CardRange>>, items: readonly RangeItem[]): string[] {
  return [...new Set(items.map(({ range }) => spanOf(range)))].flatMap((span) => {
    const [first, ...others] = [...(spans.get(span)?.values() ?? [])]
    const other = others.find((one) => contentsOf(one) !== contentsOf(first!))
    return other === undefined ? [] : [`${words(first!)} and ${words(other)} are one span with different contents`]
  })
}

/**
 * Ranges that overlap others with different contents. Checked after all changes, so that the order
 * of deleting a range and adding its parts does not matter; only new ranges are reported.
 */
function overlaps(ranges: readonly CardRange[], known: ReadonlySet<string>): string[] {
  let all: Reach = {}
  let fresh: Reach = {}
  return [...ranges]
    .sort((a, b) => compare(startOf(a), startOf(b)))
    .flatMap((range) => {
      const isNew = !known.has(spanOf(range))
      const lies = liesOver(range, isNew ? all : fresh)
      all = extended(all, range)
      if (isNew) fresh = extended(fresh, range)
      return lies ? [`${words(range)} lies over another range`] : []
    })
}

/**
 * The range with the last end so far; `other`: the one with the last end among those with different
 * contents.
 */
interface Reach {
  last?: CardRange
  other?: CardRange
}

function liesOver(range: CardRange, { last, other }: Reach): boolean {
  if (last === undefined || startOf(range) > endOf(last)) return false
  if (contentsOf(last) !== contentsOf(range)) return true
  return other !== undefined && startOf(range) <= endOf(other)
}

function extended({ last, other }: Reach, range: CardRange): Reach {
  // A range that ended before this one starts cannot overlap any later range.
  if (last === undefined || startOf(range) > endOf(last)) return { last: range }
  const goesOn = endOf(range) > endOf(last)
  if (contentsOf(last) === contentsOf(range)) return { last: goesOn ? range : last, ...(other ? { other } : {}) }
  if (goesOn) return { last: range, other: last }
  return { last, other: other === undefined || endOf(range) > endOf(other) ? range : other }
}

export interface RangeChange {
  removed: CardRange[]
  /** New, or with different contents. */
  written: CardRange[]
}

/** The changes from `before` to `after`; a full load without news costs nothing. */
export function differenceOf(before: readonly CardRange[], after: readonly CardRange[]): RangeChange {
  const then = new Map(before.map((range) => [words(range), contentsOf(range)]))
  const now = new Set(after.map(words))
  return {
    removed: before.filter((range) => !now.has(words(range))),
    written: after.filter((range) => then.get(words(range)) !== contentsOf(range)),
  }
}

const contentsOf = (r: CardRange) =>
  JSON.stringify([
    r.acsStartProtocolVersion,
    r.acsEndProtocolVersion,
    r.dsStartProtocolVersion,
    r.dsEndProtocolVersion,
    r.acsInfoInd,
    r.threeDSMethodURL,
  ])
