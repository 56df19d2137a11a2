import { below, type Random } from '../base/random.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/**
 * docs/choices.md, "Callbacks". Pauses after the first, second … try. With the fourteen long ones
 * at the end, thirty tries spread over fourteen days.
 */
// oxfmt-ignore
const firstPausesMs = [
  5 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 20 * minute, 30 * minute,
  hour, 2 * hour, 3 * hour, 4 * hour, 6 * hour, 8 * hour,
]
const longPauseMs = 22 * hour + 12 * minute
export const maxTries = 30
/**
 * Each pause is shortened or lengthened by up to a tenth, so that a merchant whose server was down
 * does not receive everything together.
 */
const jitter = 0.1

/** When to try again after `tries` failures, the last at `at`; undefined: give up. */
export function nextTryAt(tries: number, at: number, random: Random, most = maxTries): number | undefined {
  if (tries >= most) return undefined
  const pause = firstPausesMs[tries - 1] ?? longPauseMs
  const spread = below(random, 2_001) / 1_000 - 1
  return at + Math.round(pause * (1 + jitter * spread))
}
