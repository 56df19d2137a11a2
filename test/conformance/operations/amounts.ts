import type { FaultDesk } from '../../harness/world/fault-desk.ts'

/** Long enough for a few requests in the meantime, on a slow machine too. */
export const thinksForMs = 4_000

/**
 * Amounts between 61.01 and 99.99 that no other case uses, by which the acquirer knows what to do.
 */
export interface Amounts {
  /** It thinks it over. */
  slow(): Promise<string>
  /** It declines it, once. */
  declined(): Promise<string>
}

export function openAmounts(desk: FaultDesk): Amounts {
  let count = 0
  async function scripted(effect: Parameters<FaultDesk['script']>[1]): Promise<string> {
    const minor = String(6_100 + (count += 1))
    await desk.script({ amount_minor: minor, times: 1 }, effect)
    return `${minor.slice(0, 2)}.${minor.slice(2)}`
  }
  return { slow: () => scripted({ delay_ms: thinksForMs }), declined: () => scripted({ decline: '116' }) }
}
