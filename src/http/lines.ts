/** What calls to one origin share: connections, under one policy and trust. */
export interface Line {
  /** Calls not settled. */
  calls: number
  /** Drops every connection, also those in the making. */
  end(): Promise<unknown>
}

/**
 * The lines to all origins, found by key. A line is in one of three modes:
 *   kept    its connections stay open for the next call
 *   ending  others took its place: it lives until its last call settles, or is called again
 *   ended   all is dropped; the next call opens a new line
 */
export interface Lines<L extends Line> {
  /** The line behind the key, kept from now on; opened where there is none. */
  use(key: string, owner: string, open: () => L): L
  /** A call of the line settled. */
  settled(key: string): void
  counts(): { kept: number; ending: number }
  close(): Promise<void>
}

interface Entry<L> {
  owner: string
  line: L
}

/**
 * Keeps so many lines, and so many of each owner: beyond, the owner's line that was used longest
 * ago goes, so that nobody takes the place of others by calling many origins. A line that has to go
 * is ended with its last call. *Rejected:* undici's `pool.close()`, which never resolves when a
 * call runs into its time limit meanwhile (7.30), so that the pool stays for good.
 */
export function keepLines<L extends Line>(limits: { all: number; ofOwner: number }): Lines<L> {
  /** The line used longest ago first. */
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
      // Not at once: the connection may be about to read what follows the answer that it has just
      // handed over.
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
