/**
 * How often and how long the client asks. Browsers can run this file, so the app of the mobile API
 * can too.
 */

/**
 * Counted from the first question: quick while a plain payment ends, slower while a cardholder
 * types, slower still while a lost answer is looked for.
 */
const intervals = [
  { withinMs: 2_000, everyMs: 250 },
  { withinMs: 15_000, everyMs: 1_000 },
  { withinMs: 120_000, everyMs: 2_000 },
]
const laterEveryMs = 10_000
export const usualLimitMs = 120_000

export const pauseMs = (elapsedMs: number): number =>
  intervals.find(({ withinMs }) => elapsedMs < withinMs)?.everyMs ?? laterEveryMs

/** The clock of the wait. A pause ends early when it is aborted. */
export interface Time {
  now(): number
  pause(ms: number, signal?: AbortSignal): Promise<void>
}

export const realTime: Time = {
  now: () => performance.now(),
  pause: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal?.addEventListener('abort', end)
    }),
}
