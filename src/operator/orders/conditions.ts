/**
 * The conditions of a query whose text depends on what is asked, so that the planner can use an
 * index for them. Values are always parameters.
 */
export class Conditions {
  readonly values: unknown[] = []
  readonly #texts: string[] = []

  /** Each `?` of the text is one of the values. A condition on an absent value is left out. */
  add(text: string, ...values: readonly unknown[]): void {
    if (values.some((value) => value === undefined || value === null)) return
    const places = values.map((value) => this.put(value)).values()
    this.#texts.push(text.replaceAll('?', () => places.next().value!))
  }

  /** How the query names a value. */
  put(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  /** Empty without conditions. */
  get where(): string {
    return this.#texts.length === 0 ? '' : `where ${this.#texts.join(' and ')}`
  }
}
