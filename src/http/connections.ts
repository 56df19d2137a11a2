import { connectionOwner, type Network } from './client-address.ts'

/** A connection as it is counted. */
export interface ClientConnection {
  remoteAddress?: string | undefined
  once(event: 'close', listener: () => void): unknown
}

export interface ConnectionLimits {
  /** In all. */
  maxConnections: number
  /**
   * From one address, or from one IPv6 network of 64 bits, so that no client alone shuts the others
   * out; no bound by default.
   */
  maxPerAddress?: number
  /** Proxies in front, whose connections are those of many senders. */
  trustedProxies?: readonly Network[]
}

export interface ConnectionCounts {
  open: number
  /** Refused since the start, because there were too many in all or of the sender. */
  refused: { all: number; address: number }
}

/**
 * The open connections of a server. Rejected: `maxConnections` of Node.js, which counts by
 * listening handle.
 */
export class Connections<One extends ClientConnection> {
  readonly open = new Set<One>()
  readonly #perAddress = new Map<string, number>()
  readonly #limits: ConnectionLimits
  readonly #refused = { all: 0, address: 0 }

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /** Counts the connection until it ends; false if there is no room for it. */
  admit(socket: One): boolean {
    const { maxConnections, maxPerAddress = Infinity, trustedProxies = [] } = this.#limits
    if (this.open.size >= maxConnections) return this.#refuse('all')
    const owner = maxPerAddress === Infinity ? undefined : connectionOwner(socket.remoteAddress ?? '', trustedProxies)
    const ofOwner = owner === undefined ? 0 : (this.#perAddress.get(owner) ?? 0)
    if (ofOwner >= maxPerAddress) return this.#refuse('address')
    if (owner !== undefined) this.#perAddress.set(owner, ofOwner + 1)
    this.open.add(socket)
    socket.once('close', () => {
      this.open.delete(socket)
      if (owner !== undefined) this.#release(owner)
    })
    return true
  }

  counts(): ConnectionCounts {
    return { open: this.open.size, refused: { ...this.#refused } }
  }

  #refuse(why: 'all' | 'address'): false {
    this.#refused[why]++
    return false
  }

  #release(owner: string): void {
    const left = this.#perAddress.get(owner)! - 1
    if (left > 0) this.#perAddress.set(owner, left)
    else this.#perAddress.delete(owner)
  }
}

/**
 * Cuts the connections that are still open after `withinMs`; returns a function that cancels this.
 */
export function cutAfter(open: ReadonlySet<{ destroy(): void }>, withinMs: number): () => void {
  const signal = AbortSignal.timeout(withinMs)
  const cut = () => open.forEach((socket) => socket.destroy())
  signal.addEventListener('abort', cut)
  return () => signal.removeEventListener('abort', cut)
}
