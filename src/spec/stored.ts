/** The stored fields of a payment's request. Their rows name them. */
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

/** The fields that later payments with the card take from the stored request. */
export type Later<T extends StoredTable> = Pick<Stored<T>, keyof Stored<T> & LaterNameOf<T[keyof T]>>

type Read<T extends StoredTable> = Pick<
  Values<T>,
  keyof Values<T> & { [K in keyof T]: T[K]['as'] extends string ? K : never }[keyof T]
>

type Members = Record<string, unknown>

/**
 * Copies what is stored, going by what was sent: going by the rows, most of which are absent, takes
 * twice as long.
 */
export function storing<T extends StoredTable>(rows: T): (values: Read<T>) => Stored<T> & { browser?: StoredBrowser<T> } {
  const names = new Map(
    Object.entries(rows).flatMap(([name, { as }]) =>
      as === null ? [] : [[name, { as: as.replace('browser.', ''), isOfBrowser: as.startsWith('browser.') }] as const],
    ),
  )
  return (values) => {
    const stored: Members = {}
    let browser: Members | undefined
    for (const name in values) {
      const to = names.get(name)
      if (!to) continue
      const members = to.isOfBrowser ? (browser ??= {}) : stored
      members[to.as] = values[name as keyof Read<T>]
    }
    if (browser) stored.browser = browser
    return stored as Stored<T>
  }
}

/** Copies what later payments take. */
export function keepingForLater<T extends StoredTable>(rows: T): (stored: Stored<T>) => Later<T> {
  const names = Object.values(rows).flatMap(({ as, later }) => (as !== null && later ? [as as keyof Stored<T>] : []))
  return (stored) => {
    const later: Partial<Stored<T>> = {}
    for (const name of names) if (stored[name] !== undefined) later[name] = stored[name]
    return later as Later<T>
  }
}
