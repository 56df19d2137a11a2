import { setTimeout as pause } from 'node:timers/promises'
import type { Say } from '../torture/sandbox.ts'
import type { Engine, Trouble } from './engine.ts'
import type { Made } from './gaps.ts'
import type { Installation } from './installation.ts'
import type { Part } from './part.ts'
import { describe, type Act } from './plan.ts'

export interface Scene {
  engine: Engine
  installation: Installation
  say: Say
  /** Nothing new begins. */
  ended: AbortSignal
}

/** Patroni rewinds or copies an old primary; on a busy machine that takes its time. */
const wellWithinMs = 120_000
const lookEveryMs = 250
/** Proxies notice a standby by two checks in a second, and gateways a move in another. */
const strayMs = 5_000

/**
 * Makes one trouble after the other, each once everything is well again, until `lengthMs` are over.
 * `strayed`: where a gateway stayed with a server that it should have left.
 */
export async function makeTroubles(plan: readonly Act[], lengthMs: number, scene: Scene) {
  const { engine, installation, say, ended } = scene
  const made: Made[] = []
  const strayed: string[] = []
  const end = performance.now() + lengthMs
  for (const act of plan) {
    await wait(act.restMs, ended)
    if (ended.aborted || performance.now() >= end) break
    const one: Made = { kind: act.kind, whom: '', beganAt: performance.now(), wellAt: undefined }
    const trouble = await engine.troubleOf(act, installation.gateways)
    if (!trouble) continue
    made.push(one)
    one.whom = trouble.whom
    say(`${trouble.whom}: ${describe(act)}`)
    one.beganAt = performance.now()
    await trouble.make()
    await wait(act.forMs, ended)
    await trouble.undo?.()
    if (trouble.down) one.down = { cells: trouble.down, ms: performance.now() - one.beganAt }
    one.wellAt = await untilWell(scene)
    if (one.wellAt === undefined) break
    say(`  all is well ${((one.wellAt - one.beganAt) / 1_000).toFixed(1)} s after it began`)
    await trouble.finish?.()
    strayed.push(...(await strayedIn(scene)))
  }
  return { made, strayed }
}

/** Those that are still there after a while. */
async function strayedIn({ engine, ended }: Scene): Promise<readonly string[]> {
  const end = performance.now() + strayMs
  for (;;) {
    const found = await engine.strayed()
    if (found.length === 0 || performance.now() >= end || ended.aborted) return found
    await wait(lookEveryMs, ended)
  }
}

/** Waits; ends early, without an error, when the run does. */
const wait = (ms: number, ended: AbortSignal): Promise<void> =>
  pause(Math.max(0, ms), undefined, { signal: ended }).catch(() => undefined)

async function untilWell({ engine, installation, ended }: Scene): Promise<number | undefined> {
  const end = performance.now() + wellWithinMs
  while (performance.now() < end && !ended.aborted) {
    const [ready, well] = await Promise.all([installation.ready(), engine.isWell()])
    if (well && !ready.includes(false)) return performance.now()
    await wait(lookEveryMs, ended)
  }
  return undefined
}

export const troubleOfPart = (part: Part, how: string | undefined): Trouble => ({
  whom: part.name,
  make: () => (how === 'frozen' ? part.signal('SIGSTOP') : part.end('SIGKILL', 0)),
  undo: () => (how === 'frozen' ? part.signal('SIGCONT') : part.start()),
})
