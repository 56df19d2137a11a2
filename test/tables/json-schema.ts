/** As much of JSON Schema as the reference of the mobile API uses, written apart from it. */

export interface Schema {
  $ref?: string
  type?: string | string[]
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  enum?: unknown[]
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  maxItems?: number
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
  description?: string
  examples?: unknown[]
}

const understood = new Set(['$ref', 'type', 'required', 'properties', 'items', 'enum', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'maxItems', 'oneOf', 'anyOf', 'allOf', 'description', 'examples']) // oxfmt-ignore

const typeOf = (value: unknown): string[] => {
  if (Array.isArray(value)) return ['array']
  if (value === null) return ['null']
  return Number.isInteger(value) ? ['integer', 'number'] : [typeof value]
}

/** What of a value does not fit the schema. `at` finds what a reference leads to. */
export function misfits(value: unknown, given: Schema, at: (ref: string) => unknown, path = ''): string[] {
  const schema = given.$ref === undefined ? given : (at(given.$ref) as Schema)
  const wrong: string[] = []
  const check = (holds: boolean, why: string) => void (holds || wrong.push(`${path || 'it'} ${why}`))
  for (const word of Object.keys(schema)) check(understood.has(word), `has a schema with ${word}`)
  const types = schema.type === undefined ? [] : [schema.type].flat()
  check(types.length === 0 || typeOf(value).some((type) => types.includes(type)), `is no ${types.join(' or ')}`)
  check(schema.enum === undefined || schema.enum.includes(value), 'is none of those listed')
  if (typeof value === 'string') {
    const length = Array.from(value).length
    check(length >= (schema.minLength ?? 0) && length <= (schema.maxLength ?? Infinity), `has ${length} characters`)
    check(schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value), 'does not match')
  }
  if (typeof value === 'number')
    check(value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity), 'is out of range')
  if (Array.isArray(value)) {
    check(value.length <= (schema.maxItems ?? Infinity), 'is too long')
    value.forEach((item, i) => wrong.push(...misfits(item, schema.items ?? {}, at, `${path}[${i}]`)))
  } else if (typeof value === 'object' && value !== null) {
    for (const name of schema.required ?? []) check(Object.hasOwn(value, name), `lacks ${name}`)
    for (const [name, member] of Object.entries(value)) {
      const rule = schema.properties?.[name]
      if (rule) wrong.push(...misfits(member, rule, at, path === '' ? name : `${path}.${name}`))
    }
  }
  const fitting = (all: readonly Schema[]) => all.filter((one) => misfits(value, one, at, path).length === 0).length
  for (const one of schema.allOf ?? []) wrong.push(...misfits(value, one, at, path))
  check(schema.anyOf === undefined || fitting(schema.anyOf) > 0, 'fits none of several')
  check(schema.oneOf === undefined || fitting(schema.oneOf) === 1, 'does not fit exactly one of several')
  return wrong
}

/** Follows `#/a/b` in a document. */
export const finder =
  (document: unknown) =>
  (ref: string): unknown =>
    ref
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((inside, key) => (inside as Record<string, unknown> | undefined)?.[key], document)
