/** Entities as machines read them. */

/** Some members of an entity. */
export const pick = <T extends object, N extends keyof T>(of: T, ...names: readonly N[]): Pick<T, N> =>
  Object.fromEntries(names.map((name) => [name, of[name]])) as Pick<T, N>

const isTime = /^at$|(?:At|Until)$/

/** `dueAt` is due_at and a time of ISO 8601; what is absent is null. */
export const jsonOf = (facts: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]: [string, unknown]) => [
      name.replace(/[A-Z]/g, '_$&').toLowerCase(),
      isTime.test(name) && typeof value === 'number' ? new Date(value).toISOString() : (value ?? null),
    ]),
  )
