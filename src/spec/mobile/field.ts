/**
 * The machinery of the mobile API's tables: a row says what a JSON value at a path must be;
 * `readJson` turns a body into values by path, or the one complaint that comes first.
 */
import { isObject } from '../../base/json.ts'

export interface JsonKind {
  /** What it must be, to complete "<path> must be …". */
  must: string
  /** The same as JSON Schema, as far as that can say it. */
  schema: Readonly<Record<string, unknown>>
  fits: (value: unknown) => boolean
}

/**
 * `card` and `reference`: mandatory where the source of funds is that one; `to card` and `to
 * reference`: their destination.
 */
export type JsonNeed = 'mandatory' | 'optional' | 'card' | 'reference' | 'to card' | 'to reference'

export interface JsonField {
  is: JsonKind
  need: JsonNeed
  guard: 'open' | 'personal' | 'card' | 'secret'
  means: string
}

export type JsonTable = Readonly<Record<string, JsonField>>

const between = (least: number, most: number) => (least === most ? `${least}` : `${least} to ${most}`)

/**
 * No control characters, which mean nothing in any of these fields, and no half of a surrogate
 * pair. Neither a NUL nor such a half can be stored.
 */
export const isPlainText = (given: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(given)

export const text = (least: number, most: number): JsonKind => ({
  must: `a string of ${between(least, most)} characters`,
  schema: { type: 'string', minLength: least, maxLength: most },
  fits: (value) => {
    // A character is two units at most: what is far too long is not counted.
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

/** Zero for nothing: some programs cannot leave a number out. */
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

export type JsonValues = ReadonlyMap<string, unknown>

/**
 * Values by path; null and empty text count as absent. A text is the complaint. `needs`: which
 * needs hold besides `mandatory`; `required`: paths that are mandatory besides.
 */
export function readJson(
  fields: JsonTable,
  body: unknown,
  needs: ReadonlySet<JsonNeed> = new Set(),
  required: ReadonlySet<string> = new Set(),
): JsonValues | string {
  const values = new Map<string, unknown>()
  for (const path of Object.keys(fields)) {
    const value = valueAt(body, path)
    if (value !== undefined && value !== null && value !== '') values.set(path, value)
  }
  for (const [path, { need }] of Object.entries(fields))
    if (!values.has(path) && (need === 'mandatory' || needs.has(need) || required.has(path))) return `${path} may not be empty`
  for (const path of parentsOf(fields)) if (!isObjectOrEmpty(valueAt(body, path) ?? {})) return `${path} must be an object`
  for (const [path, { is }] of Object.entries(fields))
    if (values.has(path) && !is.fits(values.get(path))) return `${path} must be ${is.must}`
  return values
}

/** Paths of the objects that fields are in. */
const parentsOf = (fields: JsonTable): Set<string> =>
  new Set(
    Object.keys(fields).flatMap((path) => {
      const names = path.split('.').slice(0, -1)
      return names.map((_name, i) => names.slice(0, i + 1).join('.'))
    }),
  )

/** As of a field, empty text counts as absent. */
const isObjectOrEmpty = (value: unknown): boolean => value === '' || isObject(value)

/** What is at a dotted path; only own members count. */
export function valueAt(body: unknown, path: string): unknown {
  let value = body
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
