/** Card ranges in memory: which directory server a number belongs to, in which version, and what a PRes changes of them. Numbers stay digit strings: they go beyond 2^53. */
import { versions, type Version } from './authentication.ts'

export interface CardRange {
  /** Name of the directory server. */
  directory: string
  /** 13 to 19 digits as received; both ends belong to the range. */
  startRange: string
  endRange: string
  acsStartProtocolVersion: string
  acsEndProtocolVersion: string
  /** Of the directory server for this range; absent where it said none. */
  dsStartProtocolVersion?: string
  dsEndProtocolVersion?: string
  acsInfoInd: readonly string[]
  threeDSMethodURL?: string
}

/** One entry of cardRangeData: add, delete or modify. */
export interface RangeItem {
  actionInd: 'A' | 'D' | 'M'
  range: CardRange
}

export interface Ranges {
  /** The narrowest range that `pan` (13 to 19 digits) is in. */
  find(pan: string): CardRange | undefined
}

const longest = 19
const isNumber = (digits: string) => /^\d{13,19}$/.test(digits)
const low = (digits: string) => digits.padEnd(longest, '0')
const high = (digits: string) => digits.padEnd(longest, '9')
const startOf = (range: CardRange) => low(range.startRange)
const endOf = (range: CardRange) => high(range.endRange)
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** A range with its ends as they are compared. */
interface Placed {
  range: CardRange
  start: string
  end: string
}

/** From `at` on, up to the next piece, numbers belong to this range. */
interface Piece {
  at: string
  range: CardRange | undefined
}

/** Orders the ranges so that a look-up is one binary search, however they lie over each other. 100,000 take about 0.2 s. */
export function openRanges(list: readonly CardRange[]): Ranges {
  const inOrder = list
    .map((range) => ({ range, start: startOf(range), end: endOf(range) }))
    .sort((a, b) => compare(a.start, b.start))
  const pieces: Piece[] = []
  let heap: Placed[] = []
  let end = ''
  for (const one of inOrder) {
    if (one.start > end) {
      cut(heap, pieces)
      heap = []
    }
    heap.push(one)
    if (one.end > end) end = one.end
  }
  cut(heap, pieces)
  return {
    find(pan) {
      if (!isNumber(pan)) return undefined
      const key = low(pan)
      return pieces[firstFrom(pieces.length, (i) => pieces[i]!.at > key) - 1]?.range
    },
  }
}

/**
 * Cuts ranges that lie over each other into pieces that do not, in order, each of which belongs to the narrowest range over it; of equally narrow ones to the
 * one that starts first, then by name of its directory server.
 */
function cut(heap: readonly Placed[], pieces: Piece[]): void {
  const [only] = heap
  if (only && heap.length === 1) {
    pieces.push({ at: only.start, range: only.range }, { at: behind(only.end), range: undefined })
    return
  }
  const byNarrowness = heap
    .map((one) => ({ ...one, width: BigInt(one.end) - BigInt(one.start) }))
    .sort(
      (a, b) =>
        Number(a.width > b.width) - Number(a.width < b.width) ||
        compare(a.start, b.start) ||
        compare(a.range.directory, b.range.directory),
    )
  const edges = byNarrowness
    .flatMap(({ start, end }, rank) => [
      { at: start, rank, begins: true },
      { at: behind(end), rank, begins: false },
    ])
    .sort((a, b) => compare(a.at, b.at))
  /** Ranks of the ranges over the current place, lowest first. */
  const over: number[] = []
  for (const [i, { at, rank, begins }] of edges.entries()) {
    const place = firstFrom(over.length, (j) => over[j]! >= rank)
    if (begins) over.splice(place, 0, rank)
    else over.splice(place, 1)
    if (edges[i + 1]?.at === at) continue
    pieces.push({ at, range: over.length > 0 ? byNarrowness[over[0]!]?.range : undefined })
  }
}

/** Sorts behind a number of 19 digits and before the next one. */
const behind = (end: string) => `${end}~`

/** The first index below `length` for which `holds`, which holds for all behind it too; `length` if there is none. */
function firstFrom(length: number, holds: (index: number) => boolean): number {
  let from = 0
  let to = length
  while (from < to) {
    const middle = (from + to) >> 1
    if (holds(middle)) to = middle
    else from = middle + 1
  }
  return from
}

/** The highest version that we, the directory server and the issuer speak; a missing interval allows all. */
export function versionFor(range: CardRange): Version | undefined {
  return versions.findLast(
    (version) =>
      isWithin(version, range.acsStartProtocolVersion, range.acsEndProtocolVersion) &&
      isWithin(version, range.dsStartProtocolVersion, range.dsEndProtocolVersion),
  )
}

const isWithin = (version: string, start: string | undefined, end: string | undefined) =>
  (start === undefined || compareVersions(start, version) <= 0) && (end === undefined || compareVersions(version, end) <= 0)

function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number))
  const at = left!.findIndex((part, i) => part !== (right![i] ?? 0))
  return at < 0 ? 0 : left![at]! - (right![at] ?? 0)
}

/** Entries of cardRangeData, whose fields the codec has judged one by one. An absent actionInd means add. */
export function itemsOf(directory: string, data: readonly unknown[]): RangeItem[] {
  return (data as readonly Partial<RangeItem & CardRange>[]).map(({ actionInd = 'A', acsInfoInd = [], ...rest }) => ({
    actionInd,
    range: { ...(rest as CardRange), directory, acsInfoInd },
  }))
}

/** What became of a PRes. Where its entries do not fit together nothing of it counts: the directory server is asked again for everything. */
export type Applied = { is: 'applied'; ranges: CardRange[] } | { is: 'inconsistent'; faults: string[] }

const keyOf = (range: CardRange) => `${startOf(range)} ${endOf(range)}`
const words = ({ startRange, endRange }: CardRange) => `${startRange} to ${endRange}`

/** The ranges of a full load, in which everything is to be added. Ranges over each other are left as they are, since asking again would not help. */
export function applyFull(items: readonly RangeItem[]): Applied {
  const { ranges, faults } = changeInOrder(new Map(), items)
  const foreign = items.filter(({ actionInd }) => actionInd !== 'A')
  return applied({
    ranges,
    faults: [
      ...foreign.map(({ actionInd, range }) => `${actionInd} of ${words(range)} in a full load`),
      ...faults,
      // Believed, it would take every card out of 3-D Secure.
      ...(items.length === 0 ? ['a full load without a range'] : []),
    ],
  })
}

/** The ranges of one directory server after a change, which must fit them. */
export function applyDelta(current: readonly CardRange[], items: readonly RangeItem[]): Applied {
  const changed = changeInOrder(new Map(current.map((range) => [keyOf(range), range])), items)
  const known = new Set(current.map(keyOf))
  return applied({ ...changed, faults: [...changed.faults, ...overlaps([...changed.ranges.values()], known)] })
}

const applied = ({ ranges, faults }: { ranges: Map<string, CardRange>; faults: string[] }): Applied =>
  faults.length > 0 ? { is: 'inconsistent', faults } : { is: 'applied', ranges: [...ranges.values()] }

function changeInOrder(ranges: Map<string, CardRange>, items: readonly RangeItem[]) {
  const faults: string[] = []
  for (const { actionInd, range } of items) {
    const key = keyOf(range)
    const isThere = ranges.has(key)
    const noRange = wrongIn(range)
    if (noRange !== undefined) faults.push(`${actionInd} of ${words(range)}, ${noRange}`)
    else if (actionInd === 'A' && isThere) faults.push(`A of ${words(range)}, which is there already`)
    else if (actionInd !== 'A' && !isThere) faults.push(`${actionInd} of ${words(range)}, which is not there`)
    else if (actionInd === 'D') ranges.delete(key)
    else ranges.set(key, range)
  }
  return { ranges, faults }
}

function wrongIn(range: CardRange): string | undefined {
  if (![range.startRange, range.endRange].every(isNumber)) return 'which are not 13 to 19 digits'
  return startOf(range) > endOf(range) ? 'which ends before it starts' : undefined
}

/** Looked for when all is done, so that the order of deleting a range and adding its parts does not matter; only what is new is blamed. */
function overlaps(ranges: readonly CardRange[], known: ReadonlySet<string>): string[] {
  let endOfAll = ''
  let endOfNew = ''
  return [...ranges]
    .sort((a, b) => compare(startOf(a), startOf(b)))
    .flatMap((range) => {
      const isNew = !known.has(keyOf(range))
      const liesOver = startOf(range) <= (isNew ? endOfAll : endOfNew)
      if (endOf(range) > endOfAll) endOfAll = endOf(range)
      if (isNew && endOf(range) > endOfNew) endOfNew = endOf(range)
      return liesOver ? [`${words(range)} lies over another range`] : []
    })
}

export interface Change {
  removed: CardRange[]
  /** New, or with other contents. */
  written: CardRange[]
}

/** What must be written to make `before` `after`, so that a full load that brings nothing new costs nothing. */
export function differenceOf(before: readonly CardRange[], after: readonly CardRange[]): Change {
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
