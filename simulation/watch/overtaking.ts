import { readOriginal, type Message } from '../../simulators/acquirer/wire.ts'

/** Watches that no reversal leaves a gateway so early that it may overtake its original. */
export interface Overtaking {
  /**
   * A message leaves; returns what is wrong with it. `patienceMs` is how long the gateway waits for
   * the answer to the original of a reversal.
   */
  sent(message: Message, patienceMs: (stan: string) => number): string | undefined
  /** An answer reached a gateway. */
  answered(message: Message): void
  /** From now on the wall clock of the process in this slot is off by `offsetMs`. */
  jumped(slot: number, offsetMs: number): void
}

/** Processes read wall clocks in whole milliseconds, so a step may be due this much early. */
const roundingMs = 2

/**
 * A reversal may leave once the answer to its original has arrived, or once the gateway has waited
 * long enough since the original left. (The deadline of the attempt counts from its record, but a
 * line that is down may delay the original beyond it.) Processes measure that wait by wall clocks,
 * so the reversal may be early by as much as the clocks disagree.
 */
export function watchOvertaking(now: () => number): Overtaking {
  /** Originals by terminal and STAN: when each last left, and whether its answer came since. */
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
      // An answer with wrong identifiers may match another payment, but is no answer to it.
      if (original && /^1[12][13]/.test(type) && fields[37] === original.rrn) original.answered = true
    },
    jumped(slot, offsetMs) {
      for (const c of wrongClocks) if (c.slot === slot) c.until = Math.min(c.until, now())
      if (offsetMs !== 0) wrongClocks.push({ slot, from: now(), until: Infinity, offsetMs })
    },
  }
}
