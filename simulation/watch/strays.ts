import type { Stray } from '../../src/acquirer/connector.ts'

/** The stray answers of one line, for planted bugs that take a stray for the awaited answer. */
export interface Strays {
  came(stray: Stray): void
  /** Resolves when the next stray comes under this STAN while its request is open. */
  under(stan: string): Promise<void>
}

export function openStrays(): Strays {
  const awaited = new Map<string, () => void>()
  return {
    came({ kind, stan }) {
      if (kind === 'mismatched') awaited.get(stan)?.()
    },
    under: (stan) => new Promise((resolve) => awaited.set(stan.padStart(6, '0'), resolve)),
  }
}
