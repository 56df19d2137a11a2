/** Things in words: a table has a row for each kind, whose argument are the facts of a thing. */
type Rows = Readonly<Record<string, (facts: never) => string>>

/** A thing of any kind in the table. */
export type Worded<T extends Rows> = {
  [Is in keyof T]: T[Is] extends (facts: infer Facts) => string ? { is: Is } & Facts : never
}[keyof T]

export const wordsOf =
  <T extends Rows>(table: T) =>
  (thing: Worded<T>): string =>
    (table[(thing as { is: keyof T }).is] as (facts: object) => string)(thing)
