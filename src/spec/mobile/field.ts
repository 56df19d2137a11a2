/**
 * The machinery of the mobile API's tables: a row defines what a JSON value at a path must be;
 * `readJson` turns a body into values by path, or the first complaint.
 */
import { isObject } from '../../base/json.ts'

export interface JsonKind {
  /** The requirement, to complete "<path> must be …". */
  must: string
  /** The same as JSON Schema, as far as that can express it. */
  schema: Readonly<Record<string, unknown>>
  fits: (value: unknown) => boolean
}

/** Mandatory if the request contains the object at this path, which is one of several choices. */
export type ChosenNeed = `${'sourceOfFunds' | 'destinationOfFunds'}.${'card' | 'reference'}`
export type JsonNeed = 'mandatory' | 'optional' | ChosenNeed

/**
 * Members of which the object at a path has exactly one; or any number, with at least all members
 * of one list. It does not apply if another choice leaves the object out.
 */
export interface Choice {
  at: string
  has: 'exactly one' | 'any'
  of: readonly (readonly string[])[]
}

export interface JsonField {
  is: JsonKind
  need: JsonNeed
  guard: 'open' | 'personal' | 'card' | 'secret'
  means: string
}

export type JsonTable = Readonly<Record<string, JsonField>>

const between = (least: number, most: number) => (least === most ? `${least}` : `${least} to ${most}`)

/**
 * No control characters, which have no meaning in these fields, and no half of a surrogate pair.
 * Neither a NUL nor such a half can be stored.
 */
export const isPlainText = (given: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(given)

export const text = (least: number, most: number): JsonKind => ({
  must: `a string of ${between(least, most)} characters`,
  schema: { type: 'string', minLength: least, maxLength: most },
  fits: (value) => {
    // A character has at most two units: texts that are far too long need not be counted.
    if (typeof value !== 'string' || value.length > 2 * most) return false
    const length = Array.from(value).length
    return length >= least && length <= most && isPlainText(value)
  },
})

export const matching = (pattern: RegExp, must: string): JsonKind => ({
  must,
  schema: { type: 'string', pattern: pattern.source },
  fits: (value) => typeof value === 'string' && pattern.test(value) && isPlainText(value),
})

export const integer = (least: number, most: number): JsonKind => ({
  must: `an integer from ${least} to ${most}`,
  schema: { type: 'integer', minimum: least, maximum: most },
  fits: (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
})

/** Zero means absent: some programs cannot omit a number. */
export const zeroOr = (kind: JsonKind): JsonKind => ({
  must: `0 or ${kind.must}`,
  schema: { anyOf: [{ const: 0 }, kind.schema] },
  fits: (value) => value === 0 || kind.fits(value),
})

export const degrees = (most: number): JsonKind => ({
  must: `a number from -${most} to ${most}`,
  schema: { type: 'number', minimum: -most, maximum: most },
  fits: (value) => typeof value === 'number' && value >= -most && value <= most,
})

export const listOf = (one: JsonKind, most: number): JsonKind => ({
  must: `a list of at most ${most}, each ${one.must}`,
  schema: { type: 'array', maxItems: most, items: one.schema },
  fits: (value) => Array.isArray(value) && value.length <= most && value.every((item) => one.fits(item)),
})

/** The values by path. Reading a value as another type than its table's throws. */
export interface JsonValues {
  has(path: string): boolean
  /** The text of a mandatory field. */
  given(path: string): string
  text(path: string): string | undefined
  number(path: string): number | undefined
  texts(path: string): readonly string[]
  all(): readonly (readonly [path: string, value: unknown])[]
}

function valuesOf(read: ReadonlyMap<string, unknown>): JsonValues {
  const other = (path: string, wanted: string) => new Error(`${path} is no ${wanted}`)
  const textAt = (path: string): string | undefined => {
    const value = read.get(path)
    if (value === undefined || typeof value === 'string') return value
    throw other(path, 'text')
  }
  return {
    has: (path) => read.has(path),
    text: textAt,
    given(path) {
      const value = textAt(path)
      if (value === undefined) throw other(path, 'mandatory text')
      return value
    },
    number(path) {
      const value = read.get(path)
      if (value === undefined || typeof value === 'number') return value
      throw other(path, 'number')
    },
    texts(path) {
      const value = read.get(path) ?? []
      if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value
      throw other(path, 'list of texts')
    },
    all: () => [...read],
  }
}

/**
 * Values by path; null and empty text count as absent. A text is the error message. `required`:
 * paths that are mandatory besides those of the table.
 */
export function readJson(
  fields: JsonTable,
  body: unknown,
  choices: readonly Choice[] = [],
  required: ReadonlySet<string> = new Set(),
): JsonValues | string {
  const chosen = chosenOf(body, choices)
  if (typeof chosen === 'string') return chosen
  const values = new Map<string, unknown>()
  for (const path of Object.keys(fields)) {
    const value = valueAt(body, path)
    if (value !== undefined && value !== null && value !== '') values.set(path, value)
  }
  for (const [path, { need }] of Object.entries(fields))
    if (!values.has(path) && (need === 'mandatory' || chosen.has(need) || required.has(path))) return `${path} may not be empty`
  for (const path of parentsOf(fields)) if (!isObjectOrEmpty(valueAt(body, path) ?? {})) return `${path} must be an object`
  for (const [path, { is }] of Object.entries(fields))
    if (values.has(path) && !is.fits(values.get(path))) return `${path} must be ${is.must}`
  const missing = missingOf(choices, chosen, (path) => values.has(path))
  return missing === undefined ? valuesOf(values) : `${missing} may not be empty`
}

/**
 * The choices that a request made, of objects of which it has exactly one; a text is the error
 * message.
 */
function chosenOf(body: unknown, choices: readonly Choice[]): ReadonlySet<string> | string {
  const chosen = new Set<string>()
  for (const { at, has, of } of choices) {
    if (has !== 'exactly one') continue
    const paths = of.map(([name]) => `${at}.${name}`)
    const [one, other] = paths.filter((path) => (valueAt(body, path) ?? undefined) !== undefined)
    if (one === undefined) return `${paths[0]} may not be empty`
    if (other !== undefined) return `${other} must be left out where there is a ${one.slice(at.length + 1)}`
    chosen.add(one)
  }
  return chosen
}

/** The first missing member, if an object must have at least all of one list. */
function missingOf(
  choices: readonly Choice[],
  chosen: ReadonlySet<string>,
  isThere: (path: string) => boolean,
): string | undefined {
  const left = choices.flatMap(({ at, has, of }) => (has === 'exactly one' ? of.map(([name]) => `${at}.${name}`) : []))
  for (const { at, has, of } of choices) {
    const isLeftOut = left.some((path) => !chosen.has(path) && at.startsWith(`${path}.`))
    const missing = of.map((names) => names.map((name) => `${at}.${name}`).find((path) => !isThere(path)))
    if (has === 'any' && !isLeftOut && missing.every((path) => path !== undefined)) return missing.at(-1)
  }
  return undefined
}

/** Paths of the objects that contain fields. */
const parentsOf = (fields: JsonTable): Set<string> =>
  new Set(
    Object.keys(fields).flatMap((path) => {
      const names = path.split('.').slice(0, -1)
      return names.map((_name, i) => names.slice(0, i + 1).join('.'))
    }),
  )

/** As for a field, empty text counts as absent. */
const isObjectOrEmpty = (value: unknown): boolean => value === '' || isObject(value)

/** The value at a dotted path; only own members count. */
export function valueAt(body: unknown, path: string): unknown {
  let value = body
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
