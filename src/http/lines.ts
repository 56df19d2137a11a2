/** The shared connections of calls to one origin, under one policy and trust. */
export interface Line {
  /** Calls that are not settled. */
  calls: number
  /** Drops every connection, including those being opened. */
  end(): Promise<unknown>
}

/**
 * The lines to all origins, found by key. A line is in one of three modes:
 *   kept    its connections stay open for the next call
 *   ending  others took its place: it lives until its last call settles, or is called again
 *   ended   all is dropped; the next call opens a new line
 */
export interface Lines<L extends Line> {
  /** The line of this key, kept from now on; opened if there is none. */
  use(key: string, owner: string, open: () => L): L
  /** A call on the line settled. */
  settled(key: string): void
  counts(): { kept: number; ending: number }
  close(): Promise<void>
}

interface Entry<L> {
  owner: string
  line: L
}

/**
 * Keeps a limited number of lines, in total and for each owner. Beyond it, the owner's least
 * recently used line is removed, so that no merchant displaces others by calling many origins. A
 * line that is removed ends with its last call. *Rejected:* undici's `pool.close()`, which never
 * resolves if a call reaches its time limit meanwhile (7.30), so that the pool stays forever.
 */
export function keepLines<L extends Line>(limits: { all: number; ofOwner: number }): Lines<L> {
  /** The least recently used line first. */
  const kept = new Map<string, Entry<L>>()
  const ending = new Map<string, Entry<L>>()
  const ofOwner = new Map<string, number>()

  function count(owner: string, by: 1 | -1): number {
    const now = (ofOwner.get(owner) ?? 0) + by
    if (now === 0) ofOwner.delete(owner)
    else ofOwner.set(owner, now)
    return now
  }

  function letGoOldest(owner?: string): void {
    for (const [key, entry] of kept) {
      if (owner !== undefined && entry.owner !== owner) continue
      kept.delete(key)
      count(entry.owner, -1)
      if (entry.line.calls === 0) void entry.line.end()
      else ending.set(key, entry)
      return
    }
  }

  return {
    use(key, owner, open) {
      const known = kept.get(key)
      const entry = known ?? ending.get(key) ?? { owner, line: open() }
      kept.delete(key)
      ending.delete(key)
      kept.set(key, entry)
      if (known) return known.line
      if (count(owner, 1) > limits.ofOwner) letGoOldest(owner)
      else if (kept.size > limits.all) letGoOldest()
      return entry.line
    },
    settled(key) {
      // Not immediately: the connection may be about to read what follows the answer that it has
      // just delivered.
      queueMicrotask(() => {
        const entry = ending.get(key)
        if (!entry || entry.line.calls > 0) return
        ending.delete(key)
        void entry.line.end()
      })
    },
    counts: () => ({ kept: kept.size, ending: ending.size }),
    async close() {
      await Promise.all([...kept.values(), ...ending.values()].map(({ line }) => line.end()))
    },
  }
}
