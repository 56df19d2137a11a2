type Without<T, Out> = { [K in keyof T as Out extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as Out extends T[K] ? K : never]?: Exclude<T[K], Out>
}

/** Leaves out undefined values, so that absent stays absent when stored. */
export const defined = <T extends object>(facts: T): Without<T, undefined> => without(facts, undefined)

/** Leaves out nulls, by which a row of the database says that a value is absent. */
export const notNull = <T extends object>(facts: T): Without<T, null> => without(facts, null)

function without<T extends object, Out>(facts: T, out: Out): Without<T, Out> {
  const left: Partial<T> = {}
  for (const name in facts) if (facts[name] !== out) left[name] = facts[name]
  return left as unknown as Without<T, Out>
}
