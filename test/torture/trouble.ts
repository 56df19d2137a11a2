import { setTimeout as pause } from 'node:timers/promises'
import { describe, type Act, type Track, type Trouble } from './plan.ts'
import type { Receiver } from './receiver.ts'
import type { Sandbox, Say } from './sandbox.ts'

export interface Scene {
  sandbox: Sandbox
  receiver: Receiver
  say: Say
  /** The run is over or was interrupted: what is under way is undone, nothing new begins. */
  ended: AbortSignal
}

/** Carries a plan out. Acts of one track wait for each other. */
export async function makeTrouble(plan: readonly Act[], scene: Scene): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const beganAt = performance.now()
  const tracks = new Set<Track>(plan.map(({ track }) => track))
  const runTrack = async (track: Track) => {
    for (const { atMs, trouble } of plan.filter((act) => act.track === track)) {
      await wait(beganAt + atMs - performance.now(), scene)
      if (scene.ended.aborted) return
      if (await perform(trouble, scene)) counts[trouble.is] = (counts[trouble.is] ?? 0) + 1
    }
  }
  await Promise.all([...tracks].map(runTrack))
  return counts
}

/** Waits; ends early, without an error, when the run does. */
const wait = (ms: number, { ended }: Scene): Promise<void> =>
  pause(Math.max(0, ms), undefined, { signal: ended }).then(
    () => undefined,
    () => undefined,
  )

/** False if there was no process to disturb. */
async function perform(trouble: Trouble, scene: Scene): Promise<boolean> {
  const { sandbox, receiver, say } = scene
  switch (trouble.is) {
    case 'gateway killed':
    case 'gateway restarted':
      say(describe(trouble))
      await (trouble.is === 'gateway killed' ? sandbox.kill() : sandbox.stop())
      await sandbox.start(trouble.handOver)
      return true
    case 'gateway paused':
      say(describe(trouble))
      await sandbox.pause('gateway', trouble.forMs, scene.ended)
      return true
    case 'acquirer paused':
      say(describe(trouble))
      await sandbox.pause('acquirer', trouble.forMs, scene.ended)
      return true
    case 'database killed':
      if (!sandbox.killDatabase()) return false
      say(describe(trouble))
      return true
    case 'merchant refuses':
    case 'merchant hangs':
      say(describe(trouble))
      receiver.mood = trouble.is === 'merchant refuses' ? 'refuses' : 'hangs'
      await wait(trouble.forMs, scene)
      receiver.mood = 'well'
      return true
    case 'fault': {
      const added = await ask<{ id: number }>(scene, '/faults', { match: trouble.match, do: trouble.do })
      if (!added) return false
      say(describe(trouble))
      await wait(trouble.forMs, scene)
      await sandbox.admin('DELETE', `/faults/${added.id}`).catch(() => undefined)
      return true
    }
    case 'line cut':
      if (!(await ask(scene, '/line', { close_now: true }))) return false
      say(describe(trouble))
      return true
    case 'line refused':
      if (!(await ask(scene, '/line', { refuse: true, close_now: true }))) return false
      say(describe(trouble))
      await wait(trouble.forMs, scene)
      await ask(scene, '/line', { refuse: false })
      return true
    case 'line slow':
      if (!(await ask(scene, '/line', { latency_ms: trouble.latencyMs }))) return false
      say(describe(trouble))
      await wait(trouble.forMs, scene)
      await ask(scene, '/line', { latency_ms: 0 })
      return true
  }
}

/**
 * The acquirer ends with the gateway and forgets its faults; what cannot be asked then needs no
 * undoing.
 */
const ask = <T>({ sandbox }: Scene, path: string, body: object): Promise<T | undefined> =>
  sandbox.admin<T>('POST', path, body).catch(() => undefined)

/** Ends every trouble that is still on. */
export async function calm({ sandbox, receiver }: Scene): Promise<void> {
  receiver.mood = 'well'
  receiver.errorChance = 0
  if (!sandbox.isUp) await sandbox.start()
  await sandbox.admin('DELETE', '/faults')
  await sandbox.admin('POST', '/line', { refuse: false, latency_ms: 0 })
}
