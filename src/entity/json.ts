/** Entities as machines read them. */

/** Some members of an entity. */
export const pick = <T extends object, N extends keyof T>(of: T, ...names: readonly N[]): Pick<T, N> =>
  Object.fromEntries(names.map((name) => [name, of[name]])) as Pick<T, N>

/** `answerTimeoutMs` is answer_timeout_ms in JSON. */
export const jsonName = (field: string): string => field.replace(/[A-Z]/g, '_$&').toLowerCase()

/** As a text, with numbers of 64 bits as texts where JSON cannot hold them exactly. */
export const jsonText = (value: object, indent?: number): string =>
  JSON.stringify(
    value,
    (_, v: unknown) => (typeof v !== 'bigint' ? v : Number.isSafeInteger(Number(v)) ? Number(v) : v.toString()),
    indent,
  )

/** The same with all numbers of 64 bits as texts, so that a member has one type. */
export const exactJson = (value: object): string =>
  JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? v.toString() : v))

const isTime = /^at$|(?:At|Until)$/

/** `dueAt` is a time of ISO 8601; what is absent is null. */
export const jsonOf = (facts: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]: [string, unknown]) => [
      jsonName(name),
      isTime.test(name) && typeof value === 'number' ? new Date(value).toISOString() : (value ?? null),
    ]),
  )
