/** The settings of an entity as a table: all that can be said about one follows from its row. */
import { defined } from '../base/defined.ts'
import type { Fact } from './show.ts'
import { describe, jsonName, schema, type Schema } from './json.ts'
import { Unreadable, type ValueKind } from './kinds.ts'

export interface EntityField<Value, Wish = Value> {
  is: ValueKind<Value, Wish>
  /** Its name for people. */
  label: string
  /** The meaning of the field, for help, forms and documents. */
  means: string
  /** The default value. */
  usual?: Value
  /** A new entity has to have it. */
  needed?: true
  /** Its name in a command where that is not its own. */
  option?: string
  /** The text shown if there is no value; without it, no line is shown. */
  none?: string
}

type AnyField = EntityField<unknown, unknown>
export type FieldTable = Readonly<Record<string, AnyField>>

export type ValueOf<F> = F extends { is: ValueKind<infer Value, infer _> } ? Value : never
export type WishOf<F> = F extends { is: ValueKind<infer _, infer Wish> } ? Wish : never
type Certain<T> = { [K in keyof T]: T[K] extends { usual: unknown } | { needed: true } ? K : never }[keyof T]

/** The settings with all usual values filled in. */
export type Settings<T> = { -readonly [K in Certain<T>]: ValueOf<T[K]> } & {
  -readonly [K in Exclude<keyof T, Certain<T>>]?: ValueOf<T[K]>
}
/** Changes: absent fields keep their value, null is as never set. */
export type Wishes<T> = { -readonly [K in keyof T]?: WishOf<T[K]> | null }

/** `answerTimeoutMs` is answer-timeout in a command. */
export const optionName = (field: string, { option }: { option?: string | undefined }): string =>
  option ?? field.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Written with stored settings, so that a later form can tell them apart. */
const version = 1

/** Each row with the values of its own kind. */
type Checked<T> = { [K in keyof T]: EntityField<ValueOf<T[K]>, WishOf<T[K]>> }

export function fields<const T extends FieldTable>(table: T & Checked<T>) {
  type Whole = Settings<T>
  const names = Object.keys(table) as (keyof T & string)[]
  const orNull = Object.fromEntries(names.map((name) => [name, { ...table[name], change: 'there' }]))
  const usual = (name: keyof T): unknown => structuredClone(table[name].usual)
  const shownOf = (name: keyof T, value: unknown): string | undefined =>
    value === undefined ? table[name].none : table[name].is.shown(value)

  return {
    table,
    /** Settings as they were stored, or those given of a new entity, with all usual values. */
    whole<Given extends Partial<Whole>>(given: Given): Omit<Given, keyof Whole> & Whole {
      const { v: _version, ...whole } = { v: version, ...given } as Record<string, unknown>
      // An earlier form had an empty text for what is not set.
      for (const name of names) if (whole[name] === undefined || whole[name] === '') whole[name] = usual(name)
      return defined(whole) as Omit<Given, keyof Whole> & Whole
    },
    stored: (settings: Whole): object => ({ v: version, ...settings }),
    after(before: Whole, wishes: Wishes<T>): Whole {
      const after = { ...before } as Record<keyof T, unknown>
      for (const name of names) {
        const wish = wishes[name]
        if (wish === undefined) continue
        const value: unknown = wish === null ? usual(name) : table[name].is.merge(before[name as keyof Whole], wish)
        if (value === undefined) delete after[name]
        else after[name] = value
      }
      return after as Whole
    },
    /** The fields that a new entity with these wishes would lack. */
    missing: (wishes: Wishes<T>): (keyof T & string)[] =>
      names.filter((name) => table[name].needed === true && (wishes[name] ?? undefined) === undefined),
    facts: (settings: Whole): Fact[] =>
      names.map((name) => [table[name].label, shownOf(name, settings[name as keyof Whole])] as const),
    json: describe(
      (settings: Whole): Record<string, unknown> =>
        Object.fromEntries(
          names.map((name) => {
            const value: unknown = settings[name as keyof Whole]
            return [jsonName(name), value === undefined ? null : table[name].is.json(value)]
          }),
        ),
      schema('', jsonSchemaOf(orNull)),
    ),
  }
}

/** A value that does not fit its field; `must` continues "it must be". */
interface UnfitValue {
  what: 'unfit'
  field: string
  must: string
}

export const unfit = (field: string, must: string): UnfitValue => ({ what: 'unfit', field, must })

/** Reads the members of a JSON object that a table names; null takes a value away. */
export function fromJson<T extends Readonly<Record<string, Pick<AnyField, 'is' | 'needed'>>>>(
  table: T,
  object: Readonly<Record<string, unknown>>,
): Wishes<T> | UnfitValue {
  const wishes: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(table)) {
    const given = object[jsonName(name)]
    if (given === undefined) continue
    const read: unknown = given !== null ? field.is.fromJson(given) : field.needed ? new Unreadable('there') : null
    if (read instanceof Unreadable) return unfit(name, read.must)
    wishes[name] = read
  }
  return wishes as Wishes<T>
}

/** JSON Schema of an object with the members of a table; null takes a setting away. */
export function jsonSchemaOf(table: Readonly<Record<string, Omit<AnyField, 'label'> & { change?: string }>>): Schema {
  const rows = Object.entries(table)
  return {
    type: 'object',
    properties: Object.fromEntries(
      rows.map(([name, { is, means, change, usual }]) => [
        jsonName(name),
        {
          description: means,
          ...(change ? { anyOf: [is.schema, { type: 'null' }] } : is.schema),
          ...(!change && usual !== undefined && { default: is.json(usual) }),
        },
      ]),
    ),
    required: rows.flatMap(([name, { needed, change }]) => (needed && !change ? [jsonName(name)] : [])),
    additionalProperties: false,
  }
}
