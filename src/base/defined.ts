type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Leaves out undefined values, so that absent stays absent when stored. */
export const defined = <T extends object>(facts: T): Defined<T> =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Defined<T>
