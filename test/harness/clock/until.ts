import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'

/**
 * Looks again and again until `good` holds, and returns what it saw. Fails with the last look when
 * the time is over.
 */
export async function until<T>(
  look: () => T | Promise<T>,
  good: (seen: T) => boolean,
  withinMs = 60_000,
  everyMs = 100,
): Promise<T> {
  for (const end = performance.now() + withinMs; ; await pause(everyMs)) {
    const seen = await look()
    if (good(seen)) return seen
    if (performance.now() > end) assert.fail(`not within ${withinMs / 1_000} s; the last look: ${inspect(seen, { depth: 4 })}`)
  }
}

/** The same for a condition that has a name, or a report; fails with it. */
export async function holds(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string),
  withinMs = 60_000,
  everyMs = 5,
): Promise<void> {
  for (const end = performance.now() + withinMs; !(await condition()); await pause(everyMs))
    if (performance.now() > end) assert.fail(`not within ${withinMs / 1_000} s: ${typeof what === 'string' ? what : what()}`)
}
