/** Entities as machines read them. */

/** Some members of an entity. */
export const pick = <T extends object, N extends keyof T>(of: T, ...names: readonly N[]): Pick<T, N> =>
  Object.fromEntries(names.map((name) => [name, of[name]])) as Pick<T, N>

/** `answerTimeoutMs` is answer_timeout_ms in JSON. */
export const jsonName = (field: string): string => field.replace(/[A-Z]/g, '_$&').toLowerCase()

const isTime = /^at$|(?:At|Until)$/

/** `dueAt` is a time of ISO 8601; what is absent is null. */
export const jsonOf = (facts: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]: [string, unknown]) => [
      jsonName(name),
      isTime.test(name) && typeof value === 'number' ? new Date(value).toISOString() : (value ?? null),
    ]),
  )
