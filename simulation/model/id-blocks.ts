/** The table of ids of an installation: whoever reserves a block has it alone. */
export class IdBlocks {
  readonly #next = new Map<string, bigint>()

  reserve(name: string, count: number): bigint {
    const first = this.#next.get(name) ?? 1n
    this.#next.set(name, first + BigInt(count))
    return first
  }
}
