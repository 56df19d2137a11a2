import { readOriginal, type Message } from '../simulators/acquirer/wire.ts'

/** Watches messages as they leave the gateways, for reversals that may overtake their original. */
export interface Overtaking {
  /**
   * What is wrong with a message that leaves. `patienceMs` is how long the gateway waits for the
   * answer to the original of a reversal.
   */
  sent(message: Message, patienceMs: (stan: string) => number): string | undefined
  /** An answer reached a gateway. */
  answered(message: Message): void
  /** The wall clock of the process in this place is off by that much from now on. */
  jumped(slot: number, offsetMs: number): void
}

/** Wall clocks are read in whole milliseconds: by them something may be due that much early. */
const roundingMs = 2

/**
 * A reversal may leave once the answer to its original came, or when the original left so long ago
 * that the gateway stops waiting for an answer. (The deadline of the attempt counts from its
 * record, but a line that is down may hold the original back beyond it.) Wall clocks say when that
 * is, so the reversal may be early by as much as the clocks disagree.
 */
export function watchOvertaking(now: () => number): Overtaking {
  /** Originals by terminal and STAN: when each left last, and whether its answer came since. */
  const originals = new Map<string, { leftAt: number; rrn: string | undefined; answered: boolean }>()
  const reversed = new Set<string>()
  const wrongClocks: { slot: number; from: number; until: number; offsetMs: number }[] = []

  function disagreementMs(from: number, until: number): number {
    const offsets = wrongClocks.filter((c) => c.from <= until && c.until >= from).map((c) => c.offsetMs)
    return Math.max(0, ...offsets) - Math.min(0, ...offsets)
  }

  return {
    sent({ type, fields }, patienceMs) {
      const terminal = fields[41] ?? ''
      if (!type.startsWith('14')) {
        const names = `${terminal} ${fields[11]}`
        originals.set(names, { leftAt: now(), rrn: fields[37], answered: false })
        return reversed.has(names) ? `${type} ${names} left after its reversal` : undefined
      }
      const named = readOriginal(fields[56] ?? '')
      if (!named) return undefined
      const names = `${terminal} ${named.stan}`
      reversed.add(names)
      const original = originals.get(names)
      if (!original || original.answered) return undefined
      const earlyMs = original.leftAt + patienceMs(named.stan) - now()
      if (earlyMs <= roundingMs || earlyMs <= roundingMs + disagreementMs(original.leftAt, now())) return undefined
      return `${type} left ${now() - original.leftAt} ms after its original ${names}, ${earlyMs} ms too early`
    },
    answered({ type, fields }) {
      const original = originals.get(`${fields[41]} ${fields[11]}`)
      // An answer under wrong names may hit another payment, about which it says nothing.
      if (original && /^1[12][13]/.test(type) && fields[37] === original.rrn) original.answered = true
    },
    jumped(slot, offsetMs) {
      for (const c of wrongClocks) if (c.slot === slot) c.until = Math.min(c.until, now())
      if (offsetMs !== 0) wrongClocks.push({ slot, from: now(), until: Infinity, offsetMs })
    },
  }
}
