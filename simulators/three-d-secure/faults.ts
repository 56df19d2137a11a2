import { mask } from '../../src/base/log.ts'
import { isRecord } from './json.ts'

/**
 * Scripted misbehaviour. A script has one effect and criteria for messages: `card` (last digits or
 * the whole number), `message` if the program has several, and at most how many `times`. The first
 * script that fits and has the effect is used.
 */

export interface EffectRule {
  fits: (value: unknown) => boolean
  must: string
  /** For the overview. */
  means: string
  /** Whether the card is unknown when the effect applies. */
  cardless?: true
  /** The only message that it can apply to, if there is no choice. */
  of?: string
}

export type Value = string | number | true

export interface Fault {
  id: number
  card?: string
  message?: string
  times?: number
  effect: string
  value: Value
  hits: number
}

/** The facts of a moment that scripts can match. */
interface Met {
  card?: string
  message?: string
}

export const isTrue = { fits: (value: unknown) => value === true, must: 'true' }
export const milliseconds = {
  fits: (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 3_600_000,
  must: 'a whole number of milliseconds up to 3600000',
}
export const words = (most: number) => ({
  fits: (value: unknown) => typeof value === 'string' && value.length <= most,
  must: `text of at most ${most} characters`,
})
export const code = {
  fits: (value: unknown) => typeof value === 'string' && /^[1-4][0-9]{2}$/.test(value),
  must: 'a code of three digits, in quotes',
}
export const oneOf = (...values: string[]) => ({
  fits: (value: unknown) => values.some((one) => one === value),
  must: values.map((one) => `"${one}"`).join(' or '),
})

export class FaultScripts<Effect extends string> {
  readonly #rules: Readonly<Record<Effect, EffectRule>>
  readonly #messages: readonly string[]
  #next = 1
  #faults: Fault[] = []

  /** `messages`: those that a script may name; the first is the default. */
  constructor(rules: Readonly<Record<Effect, EffectRule>>, messages: readonly string[] = []) {
    this.#rules = rules
    this.#messages = messages
  }

  /** Adds a script from outside; a text is the refusal. */
  add(body: unknown): Fault | string {
    if (!isRecord(body)) return 'A fault is an object with one effect.'
    const { card, message, times, ...effects } = body
    const [[effect, value] = ['', undefined], ...more] = Object.entries(effects)
    if (more.length > 0 || effect === '') return `A fault has exactly one effect: ${Object.keys(this.#rules).join(', ')}.`
    const rule = Object.hasOwn(this.#rules, effect) ? this.#rules[effect as Effect] : undefined
    if (rule === undefined) return `The effects are ${Object.keys(this.#rules).join(', ')}, but not ${JSON.stringify(effect)}.`
    if (!rule.fits(value)) return `"${effect}" must be ${rule.must}.`
    if (card !== undefined && (typeof card !== 'string' || !/^[0-9]{1,19}$/.test(card)))
      return '"card" must be the last digits of a card number, or all of them, in quotes.'
    if (card !== undefined && rule.cardless) return `"${effect}" cannot be tied to a card: it is not known by then.`
    if (times !== undefined && (typeof times !== 'number' || !Number.isInteger(times) || times < 1))
      return '"times" must be a whole number from 1 up.'
    if (message !== undefined && !this.#messages.some((one) => one === message))
      return this.#messages.length === 0
        ? '"message" is not known here.'
        : `"message" must be one of ${this.#messages.join(', ')}.`
    const meets =
      this.#messages.length === 0 || rule.cardless ? undefined : ((message as string | undefined) ?? rule.of ?? this.#messages[0])
    const fault: Fault = {
      id: this.#next++,
      ...(card === undefined ? {} : { card }),
      ...(meets === undefined ? {} : { message: meets }),
      ...(times === undefined ? {} : { times }),
      effect,
      value: value as Value,
      hits: 0,
    }
    this.#faults.push(fault)
    return shown(fault)
  }

  list(): Fault[] {
    return this.#faults.map(shown)
  }

  /** Returns how many were removed. */
  remove(id?: number): number {
    const before = this.#faults.length
    this.#faults = id === undefined ? [] : this.#faults.filter((fault) => fault.id !== id)
    return before - this.#faults.length
  }

  /** Whether a script has this effect, without counting a hit. */
  has = (effect: Effect): boolean => this.#faults.some((fault) => fault.effect === effect)

  /** The value of the effect at this moment, counted as a hit. */
  take(effect: Effect, met: Met = {}): Value | undefined {
    const fault = this.#faults.find(
      (one) =>
        one.effect === effect &&
        (one.times === undefined || one.hits < one.times) &&
        (one.card === undefined || met.card?.endsWith(one.card) === true) &&
        (one.message === undefined || one.message === 'any' || one.message === met.message),
    )
    if (fault === undefined) return undefined
    fault.hits++
    return fault.value
  }

  takeMs(effect: Effect, met: Met = {}): number | undefined {
    const value = this.take(effect, met)
    return typeof value === 'number' ? value : undefined
  }

  takeText(effect: Effect, met: Met = {}): string | undefined {
    const value = this.take(effect, met)
    return typeof value === 'string' ? value : undefined
  }

  /** Each effect, for the overview. */
  notes(): [name: string, means: string][] {
    return Object.entries<EffectRule>(this.#rules).map(([effect, { means, must }]) => [effect, `${means} (${must})`])
  }
}

const shown = (fault: Fault): Fault =>
  fault.card && fault.card.length > 12 ? { ...fault, card: mask(fault.card) } : { ...fault }
