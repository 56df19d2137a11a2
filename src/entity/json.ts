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

export type Schema = Readonly<Record<string, unknown>>

/** `id` has 64 bits, which the API writes as a text. */
const types: Readonly<Record<string, Schema>> = {
  text: { type: 'string' },
  id: { type: 'string', pattern: '^-?[0-9]+$' },
  time: { type: 'string', format: 'date-time' },
  count: { type: 'integer' },
  number: { type: 'number' },
  flag: { type: 'boolean' },
  object: { type: 'object' },
  next: { type: 'string', description: '`after` for the next page; null on the last page' },
}

type Camel<S> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S
type NameIn<S> = S extends `${infer N}:${string}` ? Camel<N> : S extends `${infer N}?${string}` ? Camel<N> : Camel<S>
type NamesIn<S> = S extends `${infer One} ${infer More}` ? NameIn<One> | NamesIn<More> : NameIn<S>
type Lacks<S, Facts> = [Exclude<NamesIn<S>, keyof Facts | ''>] extends [never] ? unknown : { lacks: NamesIn<S> }

/** JSON Schema of `login ended_at:time? ids:id*`: a text, a time or null, and a list. */
export function schema(members: string, ...also: readonly Schema[]): Schema {
  const own = Array.from(members.matchAll(/(\w+)(?::(\w+))?([?*])?/g), ([, name, of = 'text', how]) => {
    const is = types[of]!
    return [name, how === '*' ? { type: 'array', items: is } : how === '?' ? { ...is, type: [is['type'], 'null'] } : is]
  })
  const properties: object = Object.assign({}, ...also.map((one) => one['properties']), Object.fromEntries(own))
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** A function that makes JSON, with its schema: these members of the facts, null where absent. */
export const jsonBy = <const S extends string, Row, Facts extends object>(
  members: S,
  facts: (row: Row) => Facts & Lacks<S, Facts>,
) => {
  const is = schema(members)
  const names = Object.keys(is['properties'] as object).map((name) =>
    name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
  )
  return describe((row: Row) => jsonOf(pick(facts(row) as Record<string, unknown>, ...names)), is)
}

export const describe = <Make extends (...given: never[]) => object>(make: Make, as: Schema): Make & { schema: Schema } =>
  Object.assign(make, { schema: as })

/** Any object, where the function does not say what it makes. */
export const schemaOf = (make: object): Schema => ('schema' in make ? (make.schema as Schema) : types['object']!)

/** The schema of an object whose member of that name is a list. */
export const listSchema = (name: string, row: object): Schema =>
  schema('', { properties: { [name]: { type: 'array', items: schemaOf(row) } } })
