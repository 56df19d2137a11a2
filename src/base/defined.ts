type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Leaves out undefined values, so that absent stays absent when stored. */
export function defined<T extends object>(facts: T): Defined<T> {
  const left: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(facts)) if (value !== undefined) left[name] = value
  return left as Defined<T>
}
