/**
 * The machinery of the contract tables: a kind reads one value, a row defines the meaning and the
 * guard of a field, and `readFields` turns a form into typed values or the first refusal.
 */
import { refuse, type Refusal } from './refusals.ts'

/**
 * Other values of the same request, trimmed, empty ones absent: for kinds that depend on a
 * neighbour (an amount on its currency).
 */
export type Neighbours = (name: string) => string | undefined

export interface Unfit {
  unfit: string
}

/**
 * Reads one text. Returns the value that the code works with; `unfit` completes the sentence
 * "Parameter x is invalid: …".
 */
export interface Kind<T> {
  read(text: string, neighbours: Neighbours): T | Unfit | typeof undecided
  /** For documentation: "text", "digits" … */
  name: string
  /** Longest text in Unicode code points. */
  max: number
  min?: number
  /** A longer text is cut, not refused. */
  cuts?: true
}

/**
 * The longest text, in UTF-16 units, that is read for a field of at most `max` characters: a
 * character may take two units, and blanks may surround it.
 */
export const longestSpelling = (max: number): number => 2 * max + 1_024

/** A value that cannot be judged, because it depends on a neighbour that is itself refused. */
export const undecided = Symbol('undecided')

export const unfit = (why: string): Unfit => ({ unfit: why })
export const isUnfit = (value: unknown): value is Unfit => typeof value === 'object' && value !== null && 'unfit' in value

/**
 * Who may see a value: open in logs and pages, personal (masked in logs), card (only masked, sealed
 * at rest), secret (never leaves memory).
 */
export type Guard = 'open' | 'personal' | 'card' | 'secret'

export interface Condition {
  when: string
  holds: (neighbours: Neighbours) => boolean
}

export const when = (sentence: string, holds: Condition['holds']): Condition => ({ when: sentence, holds })

export interface Field<T = unknown> {
  is: Kind<T>
  need: 'mandatory' | 'optional' | Condition
  guard: Guard
  means: string
  /** Another spelling that integrators use; if both are sent they must agree. */
  alias?: string
  /** Read unchanged, including spaces. */
  untrimmed?: true
}

export type Table = Record<string, Field>

/** Keeps the literal names and kinds of the rows, so that the read values are typed by them. */
export const table = <const T extends Table>(rows: T): T => rows

type ValueOf<F> = F extends Field<infer T> ? T : never
export type Values<T extends Table> = {
  [K in keyof T as T[K]['need'] extends 'mandatory' ? K : never]: ValueOf<T[K]>
} & { [K in keyof T as T[K]['need'] extends 'mandatory' ? never : K]?: ValueOf<T[K]> }

/** A form as received: every pair in order, names and values decoded. */
export type Pairs = readonly (readonly [name: string, value: string])[]

export interface Read<T extends Table> {
  values: Values<T>
  raw: Raw
}

/** A value as sent, before trimming, by the table's spelling: checksums cover either spelling. */
export type Raw = (name: string) => string | undefined

/**
 * Reads a form by a table; docs/choices.md, "Fields". Refusals in this order: the first missing
 * field in the order of the table (code 1), then the first field that does not fit, a field sent
 * twice, or two spellings that differ (code 3). `required` adds mandatory fields by name, `lifted`
 * names fields whose condition does not apply here.
 */
export function readFields<T extends Table>(
  fields: T,
  pairs: Pairs,
  required: ReadonlySet<string> = none,
  lifted: ReadonlySet<string> = none,
): Read<T> | Refusal {
  const layout = layoutOf(fields)
  const { names, rows, places } = layout
  const { raw, trimmed, clashes } = sentOf(layout, pairs)
  const neighbours: Neighbours = (name) => textAt(trimmed, places.get(name))
  const missing = firstMissing(layout, trimmed, neighbours, required, lifted)
  if (missing !== undefined) return refuse('field is required', missing)

  const values: Record<string, unknown> = {}
  let open: string | undefined
  for (let place = 0; place < rows.length; place++) {
    const clash = clashes?.get(place)
    if (clash !== undefined) return refuse('field is invalid', `${names[place]!} is invalid: ${clash}`)
    const text = trimmed[place]
    if (text === undefined) continue
    const value = readOne(rows[place]!.is, text, neighbours)
    if (isUnfit(value)) return refuse('field is invalid', `${names[place]!} is invalid: ${value.unfit}`)
    if (value === undecided) open = names[place]
    else values[names[place]!] = value
  }
  if (open !== undefined) throw new Error(`no field was refused, but ${open} could not be read`)
  return { values: values as Values<T>, raw: (name) => textAt(raw, places.get(name)) }
}

/** The first field that a request with these pairs lacks, as `readFields` looks for it. */
export function missingField(fields: Table, pairs: Pairs, required = none, lifted = none): string | undefined {
  const layout = layoutOf(fields)
  const { trimmed } = sentOf(layout, pairs)
  return firstMissing(layout, trimmed, (name) => textAt(trimmed, layout.places.get(name)), required, lifted)
}

const none: ReadonlySet<string> = new Set()

/**
 * A table as requests are read: its rows by place. Each spelling has a place too, a name that of
 * its row, an alias one behind all rows.
 */
interface Layout {
  names: readonly string[]
  rows: readonly Field[]
  places: ReadonlyMap<string, number>
  spellings: ReadonlyMap<string, number>
  /** The row of a spelling. */
  rowOf: readonly number[]
  /** The alias of a row. */
  aliasOf: readonly (number | undefined)[]
  /** A text for each spelling, all absent; copied for each request. */
  noTexts: Readonly<Texts>
}

const layouts = new WeakMap<Table, Layout>()

/** Made once for a table: looking through its object again for each request costs more than all. */
function layoutOf(fields: Table): Layout {
  const known = layouts.get(fields)
  if (known) return known
  const names = Object.keys(fields)
  const rows = Object.values(fields)
  const places = new Map(names.map((name, place) => [name, place]))
  const spellings = new Map(places)
  const rowOf = rows.map((_, place) => place)
  const aliasOf = rows.map(({ alias }, place) => {
    if (alias === undefined) return undefined
    if (spellings.has(alias)) throw new Error(`two fields of a table are spelled ${alias}`)
    spellings.set(alias, rowOf.length)
    return rowOf.push(place) - 1
  })
  const noTexts = rowOf.map(() => undefined)
  const layout = { names, rows, places, spellings, rowOf, aliasOf, noTexts }
  layouts.set(fields, layout)
  return layout
}

type Texts = (string | undefined)[]

const textAt = (texts: Texts, place: number | undefined) => (place === undefined ? undefined : texts[place])
const trim = (text: string, { untrimmed }: Field) => (untrimmed ? text : text.trim())

/** The sent values of a table, by the place of their rows. */
interface Sent {
  raw: Texts
  trimmed: Texts
  /** Why a field is refused whatever its value is. */
  clashes: ReadonlyMap<number, string> | undefined
}

function sentOf({ rows, spellings, rowOf, aliasOf, noTexts }: Layout, pairs: Pairs): Sent {
  const trimmed = noTexts.slice()
  let clashes: Map<number, string> | undefined
  // By spelling, the first text that is not blank.
  const given = noTexts.slice()
  for (const pair of pairs) {
    const spelling = spellings.get(pair[0])
    if (spelling === undefined) continue
    const place = rowOf[spelling]!
    const row = rows[place]!
    const text = row.is.cuts ? pair[1].slice(0, longestSpelling(row.is.max)) : pair[1]
    const before = given[spelling]
    if (text.length > longestSpelling(row.is.max)) {
      // It is not even trimmed, and no checksum covers it.
      clashes = (clashes ?? new Map()).set(place, `it is longer than ${row.is.max} characters`)
      trimmed[place] = ''
    } else if (before === undefined) {
      given[spelling] = text
    } else {
      if (!clashes?.has(place)) clashes = (clashes ?? new Map()).set(place, 'it is given twice')
      if (trim(before, row) === '') given[spelling] = text
    }
  }
  const raw = noTexts.slice()
  for (let place = 0; place < rows.length; place++) {
    const first = given[place]
    const second = textAt(given, aliasOf[place])
    const isTooLong = trimmed[place] !== undefined
    if (isTooLong || (first === undefined && second === undefined)) continue
    const row = rows[place]!
    const one = first === undefined ? '' : trim(first, row)
    const other = second === undefined ? '' : trim(second, row)
    if (one === '' && other === '') continue
    if (one !== '' && other !== '' && one !== other && !clashes?.has(place))
      clashes = (clashes ?? new Map()).set(place, `it differs from ${row.alias}`)
    raw[place] = one === '' ? second : first
    trimmed[place] = one === '' ? other : one
  }
  return { raw, trimmed, clashes }
}

function firstMissing(
  { names, rows }: Layout,
  trimmed: Texts,
  neighbours: Neighbours,
  required: ReadonlySet<string>,
  lifted: ReadonlySet<string>,
): string | undefined {
  for (let place = 0; place < rows.length; place++) {
    if (trimmed[place] !== undefined) continue
    const { need } = rows[place]!
    const name = names[place]!
    if (need === 'mandatory' || required.has(name)) return name
    if (need !== 'optional' && !lifted.has(name) && need.holds(neighbours)) return name
  }
  return undefined
}

function readOne(kind: Kind<unknown>, text: string, neighbours: Neighbours): unknown {
  const length = codePoints(text)
  if (length > kind.max && kind.cuts) return readOne(kind, Array.from(text).slice(0, kind.max).join(''), neighbours)
  if (length > kind.max) return unfit(`it is longer than ${kind.max} characters`)
  if (kind.min !== undefined && length < kind.min) return unfit(`it is shorter than ${kind.min} characters`)
  if (text.includes('\0')) return unfit('it has a NUL character')
  return kind.read(text, neighbours)
}

function codePoints(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0xd800 && unit < 0xdc00 && i + 1 < text.length) i++
    count++
  }
  return count
}
