import { aimsMs, kinds, type Kind } from './plan.ts'

/** A trouble that was made. Times are of performance.now(). */
export interface Made {
  kind: Kind
  /** Whom it met, such as pg2. */
  whom: string
  beganAt: number
  /** When everything was well again; undefined if it never was. */
  wellAt: number | undefined
}

export interface Gap extends Made {
  /** The longest time without an acknowledged payment. */
  gapMs: number
  aimMs: number
  isKept: boolean
}

/**
 * The longest time without an acknowledgement from `from` to `to`. What an acknowledgement before
 * `from` began counts from `from`.
 */
function longestSilence(acknowledgedAt: readonly number[], from: number, to: number): number {
  let [longest, last] = [0, from]
  for (const at of acknowledgedAt) {
    if (at <= from) continue
    longest = Math.max(longest, Math.min(at, to) - last)
    last = Math.min(at, to)
  }
  return Math.max(longest, to - last)
}

/**
 * How long there was no service after each trouble, up to the next one. A trouble of the database
 * counts for each gateway, since none may stay with a primary that is none any more; one of a
 * gateway, or of its proxy, for the best of them, since merchants then go to the other.
 */
export function gapsOf(all: readonly Made[], byGateway: readonly (readonly number[])[], endedAt: number): Gap[] {
  return all.map((made, i) => {
    const to = all[i + 1]?.beganAt ?? endedAt
    const { of, aim } = kinds[made.kind]
    const any = byGateway.flat().sort((a, b) => a - b)
    const silences = (of === 'database' ? byGateway : [any]).map((times) => longestSilence(times, made.beganAt, to))
    const gapMs = Math.round(Math.max(...silences))
    return { ...made, gapMs, aimMs: aimsMs[aim], isKept: gapMs <= aimsMs[aim] && made.wellAt !== undefined }
  })
}
