/**
 * Shared memory between the main loop of a process and its heart. Times are monotonic milliseconds,
 * which are the same in all threads of a process; -Infinity means never, Infinity not yet.
 */
export interface Pulse {
  readonly memory: SharedArrayBuffer
  /** Written by the main loop: when it last turned. */
  turnedAt: number
  /** When the last confirmed beat was sent. The heart writes this and all times below. */
  beatenAt: number
  /** When a lapse of the lease last ended. */
  recoveredAt: number
  /** Since when every beat has been confirmed, without a lapse. */
  steadyFrom: number
  /** When the lease was lost for good. */
  lostAt: number
}

/** The position of each time in memory. */
const places = ['turnedAt', 'beatenAt', 'recoveredAt', 'steadyFrom', 'lostAt'] as const

/** A new pulse, or the one in memory that another thread created. */
export function openPulse(memory?: SharedArrayBuffer): Pulse {
  const shared = memory ?? new SharedArrayBuffer(places.length * BigInt64Array.BYTES_PER_ELEMENT)
  const words = new BigInt64Array(shared)
  // Atomics only supports integers, so the bits of a time are copied.
  const time = new Float64Array(1)
  const bits = new BigInt64Array(time.buffer)
  const read = (at: number): number => {
    bits[0] = Atomics.load(words, at)
    return time[0]!
  }
  const write = (at: number, ms: number) => {
    time[0] = ms
    Atomics.store(words, at, bits[0]!)
  }
  const accessors = places.map((name, at) => [
    name,
    { get: () => read(at), set: (ms: number) => write(at, ms), enumerable: true },
  ])
  const pulse = Object.defineProperties({ memory: shared }, Object.fromEntries(accessors)) as Pulse
  if (memory === undefined)
    Object.assign(pulse, {
      turnedAt: -Infinity,
      beatenAt: -Infinity,
      recoveredAt: -Infinity,
      steadyFrom: Infinity,
      lostAt: Infinity,
    })
  return pulse
}
