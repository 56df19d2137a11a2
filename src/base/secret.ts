import { inspect } from 'node:util'

/**
 * Holds a value that must not be printed. Every usual conversion to text gives `***`; only `reveal`
 * returns the value, so that a search for `.reveal()` lists every place that sees a secret.
 */
export class Secret<T> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  reveal(): T {
    return this.#value
  }

  toString(): string {
    return '***'
  }

  toJSON(): string {
    return '***'
  }

  [inspect.custom](): string {
    return '***'
  }
}

export const secret = <T>(value: T): Secret<T> => new Secret(value)
