/**
 * Ends a part of the open connections, each with the reply to its next request, so that their
 * clients connect anew and other processes get some of them.
 */
export class Leaving {
  /** The round in which a connection was opened, or it was last decided whether it ends. */
  readonly #decided = new WeakMap<object, number>()
  #round = 0
  #part = 0
  #owed = 0

  opened(connection: object): void {
    this.#decided.set(connection, this.#round)
  }

  /** `part` of the connections that are open now, from 0 to 1. */
  begin(part: number): void {
    this.#round++
    this.#part = part
    this.#owed = 0
  }

  /** Whether the reply to a request that came now ends the connection. */
  isLast(connection: object): boolean {
    if (this.#decided.get(connection) === this.#round) return false
    this.#decided.set(connection, this.#round)
    this.#owed += this.#part
    if (this.#owed < 1) return false
    this.#owed--
    return true
  }
}
