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
  /**
   * The values as sent, before trimming, by the table's spelling: checksums cover either spelling.
   */
  raw: Readonly<Record<string, string>>
}

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
  const given = collect(pairs)
  const trimmed = new Map<string, string>()
  const raw: Record<string, string> = Object.create(null)
  const clash = new Map<string, string>()
  for (const [name, field] of Object.entries(fields)) {
    const first = given.get(name)
    const second = field.alias === undefined ? undefined : given.get(field.alias)
    const sent = [...(first ?? []), ...(second ?? [])]
    // It is not even trimmed, and no checksum covers it.
    if (sent.some((text) => text.length > longestSpelling(field.is.max))) {
      clash.set(name, `it is longer than ${field.is.max} characters`)
      trimmed.set(name, '')
      continue
    }
    const trim = (text: string) => (field.untrimmed ? text : text.trim())
    const values = sent.filter((text) => trim(text) !== '')
    if ((first?.length ?? 0) > 1 || (second?.length ?? 0) > 1) clash.set(name, 'it is given twice')
    else if (values.length > 1 && trim(values[0]!) !== trim(values[1]!)) clash.set(name, `it differs from ${field.alias}`)
    if (values.length === 0) continue
    raw[name] = values[0]!
    trimmed.set(name, trim(values[0]!))
  }
  const neighbours: Neighbours = (name) => trimmed.get(name)
  const missing = firstMissing(fields, neighbours, required, lifted)
  if (missing !== undefined) return refuse('field is required', missing)

  const values: Record<string, unknown> = {}
  let open: string | undefined
  for (const [name, field] of Object.entries(fields)) {
    const doubt = clash.get(name)
    if (doubt !== undefined) return refuse('field is invalid', `${name} is invalid: ${doubt}`)
    const text = trimmed.get(name)
    if (text === undefined) continue
    const value = readOne(field.is, text, neighbours)
    if (isUnfit(value)) return refuse('field is invalid', `${name} is invalid: ${value.unfit}`)
    if (value === undecided) open = name
    else values[name] = value
  }
  if (open !== undefined) throw new Error(`no field was refused, but ${open} could not be read`)
  return { values: values as Values<T>, raw }
}

const none: ReadonlySet<string> = new Set()

function firstMissing(
  fields: Table,
  neighbours: Neighbours,
  required: ReadonlySet<string>,
  lifted: ReadonlySet<string>,
): string | undefined {
  for (const [name, field] of Object.entries(fields)) {
    if (neighbours(name) !== undefined) continue
    if (field.need === 'mandatory' || required.has(name)) return name
    if (typeof field.need === 'object' && !lifted.has(name) && field.need.holds(neighbours)) return name
  }
  return undefined
}

function readOne(kind: Kind<unknown>, text: string, neighbours: Neighbours): unknown {
  const length = codePoints(text)
  if (length > kind.max) return unfit(`it is longer than ${kind.max} characters`)
  if (kind.min !== undefined && length < kind.min) return unfit(`it is shorter than ${kind.min} characters`)
  if (text.includes('\0')) return unfit('it has a NUL character')
  return kind.read(text, neighbours)
}

function collect(pairs: Pairs): Map<string, string[]> {
  const given = new Map<string, string[]>()
  for (const [name, value] of pairs) {
    const seen = given.get(name)
    if (seen) seen.push(value)
    else given.set(name, [value])
  }
  return given
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
