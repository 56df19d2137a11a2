import type { GatewayProcess } from './serve.ts'
import { until } from '../clock/until.ts'

/** What a parent of several processes logs about them. */
interface Line {
  msg: string
  slot?: number
  pid?: number
  port?: number
}

const linesOf = (gateway: GatewayProcess): Line[] =>
  gateway
    .output()
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []))

/** The processes that began to serve in a slot, the newest last. */
export const pidsOf = (gateway: GatewayProcess, slot: number): number[] =>
  linesOf(gateway).flatMap((line) => (line.msg === 'a process of this gateway serves' && line.slot === slot ? [line.pid!] : []))

/** Waits for so many in one slot. */
export const startedIn = (gateway: GatewayProcess, slot: number, count: number): Promise<number[]> =>
  until(
    () => pidsOf(gateway, slot),
    (pids) => pids.length >= count,
    120_000,
  )

/** Waits until a process that is no child of this one has ended. */
export const gone = (pid: number): Promise<boolean> =>
  until(
    () => !isThere(pid),
    (isGone) => isGone,
  )

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
