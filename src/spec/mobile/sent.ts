import type { JsonField, JsonKind } from './field.ts'

/**
 * Rows of messages that are sent, to an app or to a merchant's server. They are like those of
 * requests, but `need` may be a condition in words.
 */
export interface SentField extends Pick<JsonField, 'is' | 'means'> {
  need: 'mandatory' | 'optional' | `when ${string}`
}

export type SentTable = Readonly<Record<string, SentField>>

export const oneOf = (...words: readonly string[]): JsonKind => ({
  must: words.join(', '),
  schema: { type: 'string', enum: words },
  fits: (value) => typeof value === 'string' && words.includes(value),
})

/** An identifier that some clients send as a number. */
export const identifier = (most: number): JsonKind => ({
  must: `a string of 1 to ${most} characters, or a whole number`,
  schema: { type: ['string', 'integer'], minLength: 1, maxLength: most, minimum: 0 },
  fits: (value) =>
    typeof value === 'number'
      ? Number.isSafeInteger(value) && value >= 0
      : typeof value === 'string' && value.length >= 1 && value.length <= most,
})

/** A list of objects, each with all of these members. */
export const listOfRows = (rows: Readonly<Record<string, JsonKind>>): JsonKind => ({
  must: `a list of objects with ${Object.keys(rows).join(', ')}`,
  schema: {
    type: 'array',
    items: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(rows).map(([name, { schema }]) => [name, schema])),
      required: Object.keys(rows),
    },
  },
  fits: (value) =>
    Array.isArray(value) &&
    value.every((item: unknown) =>
      Object.entries(rows).every(([name, { fits }]) => fits((item as Record<string, unknown> | null)?.[name])),
    ),
})
