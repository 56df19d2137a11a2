import { setTimeout as pause } from 'node:timers/promises'
import { signal } from '../../src/storage/embedded-process.ts'
import type { Say } from '../torture/sandbox.ts'
import type { Cluster } from './cluster.ts'
import type { Made } from './gaps.ts'
import type { Installation } from './installation.ts'
import { members, type No } from './layout.ts'
import type { Part } from './part.ts'
import { describe, type Act } from './plan.ts'

export interface Scene {
  cluster: Cluster
  installation: Installation
  say: Say
  /** Nothing new begins. */
  ended: AbortSignal
}

/** Patroni rewinds or copies an old primary; on a busy machine that takes its time. */
const wellWithinMs = 120_000
const lookEveryMs = 250
/** Proxies notice a standby by two checks in half a second each; connections go then. */
const strayMs = 3_000
const stopWithinMs = 30_000

/**
 * Makes one trouble after the other, each once everything is well again, until `lengthMs` are over.
 * `strayed`: where a gateway stayed with a server that is no primary.
 */
export async function makeTroubles(plan: readonly Act[], lengthMs: number, scene: Scene) {
  const { cluster, say, ended } = scene
  const made: Made[] = []
  const strayed: string[] = []
  const end = performance.now() + lengthMs
  for (const act of plan) {
    await wait(act.restMs, ended)
    if (ended.aborted || performance.now() >= end) break
    const one: Made = { kind: act.kind, whom: '', beganAt: performance.now(), wellAt: undefined }
    const trouble = await troubleOf(act, scene)
    if (!trouble) continue
    made.push(one)
    one.whom = trouble.whom
    say(`${trouble.whom}: ${describe(act)}`)
    one.beganAt = performance.now()
    await trouble.make()
    await wait(act.forMs, ended)
    await trouble.undo?.()
    one.wellAt = await untilWell(scene)
    if (one.wellAt === undefined) break
    say(`  all is well ${((one.wellAt - one.beganAt) / 1_000).toFixed(1)} s after it began`)
    const there = await cluster.strayed()
    if (there.length > 0) await wait(strayMs, ended)
    strayed.push(...(there.length > 0 ? await cluster.strayed() : []))
  }
  return { made, strayed }
}

/** Waits; ends early, without an error, when the run does. */
const wait = (ms: number, ended: AbortSignal): Promise<void> =>
  pause(Math.max(0, ms), undefined, { signal: ended }).catch(() => undefined)

async function untilWell({ cluster, installation, ended }: Scene): Promise<number | undefined> {
  const end = performance.now() + wellWithinMs
  while (performance.now() < end && !ended.aborted) {
    const [ready, well] = await Promise.all([installation.ready(), cluster.isWell()])
    if (well && !ready.includes(false)) return performance.now()
    await wait(lookEveryMs, ended)
  }
  return undefined
}

interface Trouble {
  whom: string
  make: () => Promise<void> | void
  undo?: () => Promise<void> | void
}

/** Undefined if nobody has the role now. */
async function troubleOf({ kind, which }: Act, { cluster, installation }: Scene): Promise<Trouble | undefined> {
  const [who, ...words] = kind.split(' ')
  const how = words.at(-1)
  if (who === 'gateway' || who === 'proxy')
    return troubleOfPart((who === 'gateway' ? installation.gateways : cluster.proxies)[which % 2]!, how)
  if (who === 'etcd') {
    // Every other time its leader, who has to be elected anew.
    const no = (which % 2 === 0 ? await cluster.etcdLeader() : undefined) ?? members[which % 3]!
    return troubleOfPart(cluster.etcds[no], how)
  }
  const no = await cluster.having(who === 'standby' ? 'sync_standby' : 'leader')
  if (no === undefined) return undefined
  if (kind === 'switchover') return { whom: `pg${no}`, make: () => cluster.switchOver(no) }
  return words[0] === 'node' ? troubleOfNode(cluster, no, how) : troubleOfServer(cluster, no, how)
}

const troubleOfPart = (part: Part, how: string | undefined): Trouble => ({
  whom: part.name,
  make: () => (how === 'frozen' ? part.signal('SIGSTOP') : part.end('SIGKILL', 0)),
  undo: () => (how === 'frozen' ? part.signal('SIGCONT') : part.start()),
})

function troubleOfServer({ servers }: Cluster, no: No, how: string | undefined): Trouble {
  const send = (name: NodeJS.Signals) => () => servers(no).forEach((pid) => signal(pid, name))
  const whom = `pg${no}`
  return how === 'frozen' ? { whom, make: send('SIGSTOP'), undo: send('SIGCONT') } : { whom, make: send('SIGKILL') }
}

function troubleOfNode({ servers, patronis }: Cluster, no: No, how: string | undefined): Trouble {
  const [patroni, whom] = [patronis[no], `node ${no}`]
  const both = (name: NodeJS.Signals) => {
    patroni.signal(name)
    for (const pid of servers(no)) signal(pid, name)
  }
  if (how === 'frozen') return { whom, make: () => both('SIGSTOP'), undo: () => both('SIGCONT') }
  const kill = async () => {
    const pids = servers(no)
    const ended = patroni.end('SIGKILL', 0)
    for (const pid of pids) signal(pid, 'SIGKILL')
    await ended
  }
  const stop = () => void patroni.end('SIGTERM', stopWithinMs)
  const start = async () => {
    await patroni.end('SIGTERM', stopWithinMs)
    patroni.start()
  }
  return { whom, make: how === 'stopped' ? stop : kill, undo: start }
}
