const finals = new Set(['approved', 'declined', 'error', 'filtered'])
const known = new Set(['processing', 'unknown', ...finals])

export const isFinal = (status: string): boolean => finals.has(status)

/** What a merchant saw of one order. Times are of performance.now(). */
export interface SeenOrder {
  orderid: string
  clientOrderid: string
  /** Answered to a sale: the gateway has promised this order. */
  acknowledged: boolean
  /** The first final status seen, and when its answer had arrived. */
  final?: { status: string; at: number; by: 'status' | 'callback' }
  /** Callbacks that arrived with a valid control and those of them that were answered 200. */
  callbacks: number
  taken: number
}

export interface Broken {
  promise: string
  says: string
  orderid?: string
}

/** Everything the merchant's side saw, and the promises that were broken before its eyes. */
export class Book {
  readonly orders = new Map<string, SeenOrder>()
  readonly broken: Broken[] = []
  statuses = 0

  acknowledged(orderid: string, clientOrderid: string): SeenOrder {
    const seen = this.#order(orderid, clientOrderid)
    seen.acknowledged = true
    return seen
  }

  /** A reply to a status request that was sent at `sentAt`. */
  status(orderid: string, clientOrderid: string, status: string, sentAt: number): SeenOrder {
    this.statuses++
    const seen = this.#order(orderid, clientOrderid)
    const { final } = seen
    if (!known.has(status)) this.#break('one final status', seen, `status said ${JSON.stringify(status)}`)
    // A request sent before the final status was known may have been answered before it was
    // reached.
    else if (final && status !== final.status && (isFinal(status) || sentAt > final.at))
      this.#break('one final status', seen, `${final.by} said ${final.status}, a status request after it ${status}`)
    else if (!final && isFinal(status)) seen.final = { status, at: performance.now(), by: 'status' }
    return seen
  }

  callback(orderid: string, status: string, clientOrderid: string, valid: boolean, taken: boolean): void {
    const seen = this.#order(orderid, clientOrderid)
    if (!valid) return this.#break('callbacks', seen, 'a callback came with a wrong control')
    if (!isFinal(status)) return this.#break('callbacks', seen, `a callback came with status ${JSON.stringify(status)}`)
    seen.callbacks++
    if (taken) seen.taken++
    if (seen.final && seen.final.status !== status)
      this.#break('one final status', seen, `${seen.final.by} said ${seen.final.status}, a callback ${status}`)
    seen.final ??= { status, at: performance.now(), by: 'callback' }
  }

  break(promise: string, says: string): void {
    this.broken.push({ promise, says })
  }

  #break(promise: string, { orderid }: SeenOrder, says: string): void {
    this.broken.push({ promise, says, orderid })
  }

  #order(orderid: string, clientOrderid: string): SeenOrder {
    const seen = this.orders.get(orderid) ?? { orderid, clientOrderid, acknowledged: false, callbacks: 0, taken: 0 }
    if (seen.clientOrderid !== clientOrderid)
      this.#break('repeated requests', seen, `order of ${seen.clientOrderid} answered for ${clientOrderid}`)
    this.orders.set(orderid, seen)
    return seen
  }
}
