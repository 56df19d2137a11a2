/** A queue in turns: the first of each owner, then the second of each. */
export class FairQueue<One> {
  /** Whose turn is next, in this order. */
  readonly #owners = new Map<string, One[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How many have something in it. */
  get owners(): number {
    return this.#owners.size
  }

  of(owner: string): number {
    return this.#owners.get(owner)?.length ?? 0
  }

  add(owner: string, one: One): void {
    const own = this.#owners.get(owner)
    if (own) own.push(one)
    else this.#owners.set(owner, [one])
    this.#size++
  }

  next(): One | undefined {
    for (const [owner, own] of this.#owners) {
      const one = own.shift()
      const isLast = own.length === 0
      if (isLast || this.#owners.size > 1) this.#owners.delete(owner)
      if (!isLast) this.#owners.set(owner, own)
      this.#size--
      return one
    }
    return undefined
  }
}
