/**
 * The fields of EMV 3-D Secure messages by their tables, read strictly or with patience for those
 * that decide nothing.
 */
import { isObject } from '../base/json.ts'
import type { AReqFacts, FieldKind, Layout, Presence, MessageFieldRow, Scene, Version } from '../spec/three-d-secure/kinds.ts'

export type MessageFields = Readonly<Record<string, unknown>>

/** A list entry that was left out, with the names of the fields that do not fit. */
export interface UnfitEntry {
  entry: unknown
  missing: readonly string[]
  unfit: readonly string[]
}

export class Faults {
  readonly missing = new Set<string>()
  readonly unfit = new Set<string>()
  readonly unknown = new Set<string>()
}

export interface FieldWalk {
  version: Version
  asked: AReqFacts
  faults: Faults
  /** Who compares an answer with its request. */
  as: 'requestor' | 'author'
  /** Collects entries that do not fit; if absent, they are errors of the message. */
  leftOut?: UnfitEntry[]
  /** Collects what does not fit and decides nothing; if absent, that is an error like any other. */
  odd?: Set<string>
}

/** The fields of the layout that are present and valid. `path` is the object's, ending in a dot. */
export function readObject(walk: FieldWalk, layout: Layout, given: MessageFields, path: string): MessageFields {
  const read: Record<string, unknown> = {}
  const { missing, unfit, unknown } = walk.faults
  const scene: Scene = { asked: walk.asked, value: (name) => scalarOf(walk.version, layout, given, name) }
  for (const [name, row] of Object.entries(layout.fields)) {
    const need = needOf(row, walk.version)
    if (need === 'absent') continue
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    const odd = oddOf(walk, row, scene)
    if (value === undefined || isBlank(value, row.is)) {
      const isMissing = need === 'required' || (typeof need === 'object' && need.holds(scene))
      if (odd || (walk.odd && !isMissing && typeof value !== 'string')) {
        if (isMissing || value !== undefined) walk.odd!.add(`${path}${name} ${value === undefined ? 'missing' : 'empty'}`)
      } else if (isMissing) missing.add(path + name)
      else if (value !== undefined) unfit.add(path + name)
      continue
    }
    const fitting = readValue(walk, row.is, value, path + name)
    if (fitting === undefined && odd) odd.add(`${path}${name} unfit`)
    else if (fitting === undefined) unfit.add(path + name)
    const taken = fitting ?? (odd && mended(row.is, value))
    if (taken !== undefined) read[name] = taken
  }
  for (const rule of layout.rules ?? []) {
    if ((rule.judge !== undefined && walk.as === 'author') || rule.holds(scene)) continue
    const odd = oddOf(walk, layout.fields[rule.field]!, scene)
    if (odd) odd.add(`${path}${rule.field} unfit`)
    else unfit.add(path + rule.field)
  }
  for (const name of Object.keys(given)) {
    const row = Object.hasOwn(layout.fields, name) ? layout.fields[name] : undefined
    if ((row === undefined || needOf(row, walk.version) === 'absent') && given[name] !== undefined) unknown.add(path + name)
  }
  return read
}

/** Where a fault of this field goes if it makes nothing unusable. */
const oddOf = ({ odd }: FieldWalk, { decides = true }: MessageFieldRow, scene: Scene): Set<string> | undefined =>
  (typeof decides === 'object' ? decides.holds(scene) : decides) ? undefined : odd

const mended = (kind: FieldKind, value: unknown): string | undefined =>
  kind.is === 'text' && typeof value === 'string' ? kind.mend?.(value) : undefined

export function needOf({ need }: MessageFieldRow, version: Version): Presence {
  return typeof need === 'object' && version in need ? (need as Record<Version, Presence>)[version] : (need as Presence)
}

function scalarOf(version: Version, layout: Layout, given: MessageFields, name: string): string | boolean | undefined {
  const row = layout.fields[name]
  if (row === undefined || needOf(row, version) === 'absent' || !Object.hasOwn(given, name)) return undefined
  const value = given[name]
  return typeof value === 'boolean' || (typeof value === 'string' && !isBlank(value)) ? value : undefined
}

/** The content of an extension may be an empty object; any other empty value counts as blank. */
export function isBlank(value: unknown, kind?: FieldKind): boolean {
  if (value === undefined || value === null) return true
  if (typeof value === 'string') return value.trim() === ''
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && kind?.is !== 'free' && Object.keys(value).length === 0
}

/** Undefined if the whole value does not fit. Errors inside it are recorded by their own names. */
export function readValue(walk: FieldWalk, kind: FieldKind, value: unknown, path: string): unknown {
  switch (kind.is) {
    case 'text':
      return typeof value === 'string' && kind.fits(value, walk.version) ? value : undefined
    case 'flag':
      return typeof value === 'boolean' && (value || kind.only === undefined) ? value : undefined
    case 'free':
      return isObject(value) ? value : undefined
    case 'object':
      return isObject(value) ? readObject(walk, kind.of, value, `${path}.`) : undefined
    case 'list': {
      if (!Array.isArray(value) || value.length > kind.max) return undefined
      if (kind.each && walk.leftOut) return readEach(walk, walk.leftOut, kind.of, value, path)
      const items = value.map((item: unknown) => readValue(walk, kind.of, item, path))
      return items.includes(undefined) ? undefined : items
    }
  }
}

function readEach(walk: FieldWalk, leftOut: UnfitEntry[], kind: FieldKind, list: readonly unknown[], path: string): unknown[] {
  return list.flatMap((entry) => {
    const faults = new Faults()
    const read = readValue({ ...walk, faults }, kind, entry, path)
    if (read !== undefined && faults.missing.size + faults.unfit.size === 0) return [read]
    const unfit = read === undefined ? [path] : [...faults.unfit]
    leftOut.push({ entry, missing: [...faults.missing], unfit })
    return []
  })
}
