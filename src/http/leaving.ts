import type { RequestListener } from 'node:http'

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

  readonly opened = (connection: object): void => {
    this.#decided.set(connection, this.#round)
  }

  /** `part` of the connections that are open now, from 0 to 1. */
  begin(part: number): void {
    this.#round++
    this.#part = part
    this.#owed = 0
  }

  /**
   * Passes requests on. Those behind one whose reply is the last of its connection are not read:
   * they must not be carried out, as nobody gets their replies.
   */
  before(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (this.#isLast(request.socket)) response.shouldKeepAlive = false
      listener(request, response)
    }
  }

  #isLast(connection: object): boolean {
    if (this.#decided.get(connection) === this.#round) return false
    this.#decided.set(connection, this.#round)
    this.#owed += this.#part
    if (this.#owed < 1) return false
    this.#owed--
    return true
  }
}
