/** What is stored of a payment's request. The rows of its fields say under which names. */
import type { Field, Values } from './field.ts'

/** A row of a payment's request. */
interface StoredField<Name> extends Field {
  /**
   * Its name in the stored request, with `browser.` in front for what the browser sent; null if the
   * order has it elsewhere, or it is not stored.
   */
  as: Name | null
  /** Later payments with the card have it from the first. */
  later?: true
}

type StoredTable = Record<string, StoredField<string>>

/** As `table`, for rows that all say what is stored of them; `Name` are the names there are. */
export const storedTable =
  <Name extends string>() =>
  <const T extends Record<string, StoredField<Name>>>(rows: T): T =>
    rows

type NameOf<F> = F extends { as: infer A } ? (A extends `browser.${string}` ? never : A extends string ? A : never) : never
type BrowserNameOf<F> = F extends { as: `browser.${infer A}` } ? A : never
type LaterNameOf<F> = F extends { later: true } ? NameOf<F> : never
type ValueOf<F> = F extends Field<infer T> ? T : never

/** The stored request, without what the browser sent. */
export type Stored<T extends StoredTable> = {
  [K in keyof T as T[K]['need'] extends 'mandatory' ? NameOf<T[K]> : never]: ValueOf<T[K]>
} & { [K in keyof T as T[K]['need'] extends 'mandatory' ? never : NameOf<T[K]>]?: ValueOf<T[K]> }

export type StoredBrowser<T extends StoredTable> = { [K in keyof T as BrowserNameOf<T[K]>]?: ValueOf<T[K]> }

/** What later payments with the card take from the stored request. */
export type Later<T extends StoredTable> = Pick<Stored<T>, keyof Stored<T> & LaterNameOf<T[keyof T]>>

type Read<T extends StoredTable> = Pick<
  Values<T>,
  keyof Values<T> & { [K in keyof T]: T[K]['as'] extends string ? K : never }[keyof T]
>

type Members = Record<string, unknown>
type Names = readonly (readonly [from: string, to: string])[]

function copy(from: Members, names: Names): Members | undefined {
  let to: Members | undefined
  for (const [name, as] of names) {
    const value = from[name]
    if (value !== undefined) (to ??= {})[as] = value
  }
  return to
}

/** Copies what is stored. The lists are made once: looking through the rows costs more. */
export function storing<T extends StoredTable>(rows: T): (values: Read<T>) => Stored<T> & { browser?: StoredBrowser<T> } {
  const named = Object.entries(rows).flatMap(([name, { as }]) => (as === null ? [] : [[name, as] as const]))
  const browsers = named.flatMap(([name, as]) => (as.startsWith('browser.') ? [[name, as.slice(8)] as const] : []))
  const others = named.filter(([, as]) => !as.startsWith('browser.'))
  return (values) => {
    const stored = copy(values, others) ?? {}
    const browser = copy(values, browsers)
    if (browser) stored.browser = browser
    return stored as Stored<T>
  }
}

/** Copies what later payments take. */
export function keepingForLater<T extends StoredTable>(rows: T): (stored: Stored<T>) => Later<T> {
  const names = Object.values(rows).flatMap(({ as, later }) => (as !== null && later ? [[as, as] as const] : []))
  return (stored) => (copy(stored, names) ?? {}) as Later<T>
}
