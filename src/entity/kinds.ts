/** The kinds of values of settings, and how people and programs write them. */
import { textOf } from '../base/csv.ts'
import { currentCurrencyOf } from '../base/money.ts'
import { cardDigits, checkDigitHolds } from '../base/luhn.ts'
import { exactSpan, readMoment, readSpan } from '../base/moments.ts'
import { secret, type Secret } from '../base/secret.ts'

/** A text or a JSON that is no value; `must` continues "it must be". */
export class Unreadable {
  readonly must: string
  /** The part of the text that is wrong, if not all of it; and other wrong parts. */
  readonly part: string | undefined
  readonly others: readonly Unreadable[]
  constructor(must: string, part?: string, others: readonly Unreadable[] = []) {
    this.must = must
    this.part = part
    this.others = others
  }
}

export interface ValueKind<Value, Wish = Value> {
  /** As help names a value: `<span>`, `<on|off>`. */
  readonly hint: string
  /** From what a person writes, in an option or in the field of a form. */
  read(text: string): Wish | Unreadable
  /** The value as a person reads it. */
  shown(value: Value): string
  /** The value as `read` reads it. */
  written(value: Value): string
  /** The value for a machine, and back. */
  json(value: Value): unknown
  fromJson(json: unknown): Wish | Unreadable
  /** JSON Schema of what `fromJson` takes. */
  readonly schema: object
  /** The value after a wish; most wishes are the value. */
  merge(before: Value | undefined, wish: Wish): Value
  /** Several values, which may also be given one by one. */
  readonly isList?: true
  /** From the content of a file, whose name a command has; a form sends it. */
  fromBytes?(bytes: Buffer): Wish | Unreadable
  readonly mostBytes?: number
  /** A command may write `-`, and give the text by standard input. */
  readonly orInput?: true
  /** Any text, which may tell of a person. */
  readonly mayTell?: true
}

type Made<Value, Wish> = Pick<ValueKind<Value, Wish>, 'hint' | 'read'> & Partial<ValueKind<Value, Wish>>

/** Unless it says otherwise, JSON has the text that a person would write. */
export const kind = <Value, Wish = Value>(made: Made<Value, Wish>): ValueKind<Value, Wish> => ({
  shown: String,
  written: made.shown ?? String,
  json: (value) => value,
  fromJson: (json) => (typeof json === 'string' ? made.read(json) : new Unreadable('a text')),
  schema: { type: 'string' },
  merge: (_before, wish) => wish as unknown as Value,
  ...made,
})

/** The value of a text; undefined if the text is not of the kind. */
export const parsed = <Value>(hint: string, must: string, parse: (text: string) => Value | undefined): ValueKind<Value> =>
  kind<Value>({ hint, read: (text) => parse(text) ?? new Unreadable(must) })

export const onOff: ValueKind<boolean> = kind<boolean>({
  hint: 'on|off',
  read: (text) => (text === 'on' ? true : text === 'off' ? false : new Unreadable('on or off')),
  shown: (value) => (value ? 'on' : 'off'),
  fromJson: (json) => (typeof json === 'boolean' ? json : new Unreadable('true or false')),
  schema: { type: 'boolean' },
})

/** Said or not: an option without a value. */
export const flag: ValueKind<boolean> = { ...onOff, hint: '' }

/** A secret text, which a command may take by standard input: other users can read commands. */
export const typed = (hint: string): ValueKind<Secret<string>> => kind<Secret<string>>({ hint, read: secret, orInput: true })

/** The value read from the text of a file. */
export const fileOf = <Value>(mostBytes: number, read: (content: string) => Value | Unreadable): ValueKind<Value> =>
  kind<Value>({
    hint: 'file',
    read,
    fromBytes: (bytes) => read(textOf(bytes)),
    fromJson: (json) =>
      typeof json === 'string' && Buffer.byteLength(json) <= mostBytes
        ? read(json)
        : new Unreadable(`the content of a file, a text of at most ${mostBytes} bytes`),
    mostBytes,
  })

/** The text itself. */
export const fileText = (mostBytes: number): ValueKind<string> => fileOf(mostBytes, (content) => content)

/** The same, which is never shown again. */
export const secretFile = (mostBytes: number): ValueKind<Secret<string>> => fileOf(mostBytes, secret<string>)

/** A whole number within bounds. */
export function whole(least: number, most: number, must = `a whole number from ${least} to ${most}`): ValueKind<number> {
  const judged = (value: number) => (Number.isInteger(value) && value >= least && value <= most ? value : new Unreadable(must))
  return kind<number>({
    hint: 'number',
    read: (text) => (/^-?[0-9]{1,12}$/.test(text) ? judged(Number(text)) : new Unreadable(must)),
    fromJson: (json) => (typeof json === 'number' ? judged(json) : new Unreadable(must)),
    schema: { type: 'integer', minimum: least, maximum: most },
  })
}

/** A span of time in milliseconds, written as `30s`; the bounds are written so too. */
export function span(least: string, most: string): ValueKind<number> {
  const [from, to] = [readSpan(least)!, readSpan(most)!]
  const must = `a span such as 500ms, 30s, 10min, 24h or 7d, from ${least} to ${most}`
  const judged = (ms: number | undefined) =>
    ms !== undefined && Number.isInteger(ms) && ms >= from && ms <= to ? ms : new Unreadable(must)
  return kind<number>({
    hint: 'span',
    read: (text) => judged(readSpan(text)),
    shown: (ms) => (ms === 0 ? 'none' : exactSpan(ms)),
    written: (ms) => (ms === 0 ? '0' : exactSpan(ms).replace(' ', '')),
    fromJson: (json) => judged(typeof json === 'number' ? json : undefined),
    schema: { type: 'integer', minimum: from, maximum: to, description: 'milliseconds' },
  })
}

/** A text of a form. */
export const text = (hint: string, form: RegExp, must: string): ValueKind<string> =>
  kind<string>({
    hint,
    read: (value) => (form.test(value) ? value : new Unreadable(must)),
    schema: { type: 'string', description: must },
  })

/** Any text: whoever uses it says what fits. */
export const anyText = (hint: string): ValueKind<string> => ({ ...text(hint, /^/u, 'a text'), mayTell: true })

/** One of some words. */
export const choice = <Word extends string>(words: readonly Word[], hint = words.join('|')): ValueKind<Word> =>
  kind<Word>({
    hint,
    read: (value) => words.find((word) => word === value) ?? new Unreadable(words.join(', ').replace(/, (?=[^,]*$)/, ' or ')),
    schema: { enum: words },
  })

/** Values of a kind in their order, each once: by comma, or given several times. */
export function list<Value>(of: ValueKind<Value>, hint = `${of.hint}s`): ValueKind<Value[]> {
  const all = <From>(parts: readonly From[], read: (part: From) => Value | Unreadable) => {
    const values = new Set<Value>()
    for (const part of parts) {
      const value = read(part)
      if (value instanceof Unreadable) return value
      values.add(value)
    }
    return [...values]
  }
  return kind<Value[]>({
    hint,
    read: (written) => all(written.split(','), (part) => of.read(part.trim())),
    shown: (values) => values.map(of.shown).join(', '),
    written: (values) => values.map(of.written).join(','),
    json: (values) => values.map(of.json),
    fromJson: (json) => (Array.isArray(json) && json.length > 0 ? all(json, of.fromJson) : new Unreadable('a list')),
    schema: { type: 'array', items: of.schema, minItems: 1 },
    isList: true,
    ...(of.mayTell && { mayTell: true }),
  })
}

/** The same, or `none`. */
export function listOrNone<Value>(of: ValueKind<Value>): ValueKind<Value[]> {
  const some = list(of)
  return {
    ...some,
    read: (written) => (written === 'none' ? [] : some.read(written)),
    shown: (values) => some.shown(values) || 'none',
    written: (values) => some.written(values) || 'none',
    fromJson: (json) => (Array.isArray(json) && json.length === 0 ? [] : some.fromJson(json)),
    schema: { type: 'array', items: of.schema },
  }
}

/** A time, which may be said as so long ago: what it is depends on now. */
export type GivenTime = (now: number) => number

export const moment: ValueKind<GivenTime> = kind<GivenTime>({
  hint: 'time',
  read(written) {
    const at = readMoment(written, firstDay)
    return at === undefined || at < 0 || at > lastDay
      ? new Unreadable('a date (2030-01-31), a time in UTC (2030-01-31T12:00) or how long ago (2h, 7d), from 1970 to 2199')
      : (now) => readMoment(written, now)!
  },
})
/** No span leads from now to before 1970 that does not from this day. */
const firstDay = Date.UTC(2025, 0, 1)
const lastDay = Date.UTC(2200, 0, 1)

/** A card number that passes its check digit, which is best given by standard input. */
export const cardNumber: ValueKind<Secret<string>> = {
  ...parsed('number', 'the number of a card', (written) => {
    const digits = written.replace(/[ -]/g, '')
    return cardDigits.test(digits) && checkDigitHolds(digits) ? secret(digits) : undefined
  }),
  orInput: true,
}

/** Values by comma or blank. All that are wrong are named. */
export function several<Value>(hint: string, read: (part: string) => Value | Unreadable): ValueKind<Value[]> {
  return kind<Value[]>({
    hint,
    mayTell: true,
    read(written) {
      const parts = written.split(/[\s,]+/).filter((part) => part !== '')
      const values = parts.map((part) => [part, read(part)] as const)
      const [first, ...others] = values.flatMap(([part, value]) =>
        value instanceof Unreadable ? [new Unreadable(value.must, part)] : [],
      )
      if (first) return new Unreadable(first.must, first.part, others)
      return values.map(([, value]) => value as Value)
    },
  })
}

/** The number of an order, an endpoint or a group, which JSON may not hold exactly. */
export const id: ValueKind<bigint> = kind<bigint>({
  hint: 'id',
  read: (written) =>
    /^[1-9][0-9]{0,17}$/.test(written)
      ? BigInt(written)
      : new Unreadable('an id: a whole number of at most 18 digits, without leading zeros'),
  // A larger number was rounded on its way, and may be another's id.
  fromJson: (json) => id.read(typeof json === 'string' || Number.isSafeInteger(json) ? String(json) : ''),
  schema: { type: ['string', 'integer'], pattern: '^[1-9][0-9]{0,17}$', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
})

/** A currency of ISO 4217 that is in use, in upper case. */
export const currency: ValueKind<string> = parsed(
  'code',
  'a currency of ISO 4217, such as USD, EUR or JPY',
  (written) => currentCurrencyOf(written.toUpperCase())?.code,
)

/**
 * Names are for people: any text of some length on one line, without marks that turn the direction
 * of what stands beside it.
 */
export const name: ValueKind<string> = text(
  'name',
  /^(?! )[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]{1,64}(?<! )$/u,
  'one to 64 characters on one line, without spaces around it or direction marks',
)
