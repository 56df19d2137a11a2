import type { ChildProcess } from 'node:child_process'
import cluster from 'node:cluster'
import type { Writable } from 'node:stream'
import type { Secret } from '../base/secret.ts'
import { joinsVariable, slotVariable } from './slot.ts'

/** After the three standard ones and the channel to the parent. */
const keyDescriptor = 4

/**
 * Starts processes of this program with its arguments and settings, and with a copy of the key. One
 * that `joins` begins to listen when it can serve.
 *
 * The kernel gives a connection to whichever of them accepts first (SCHED_NONE). Each has the
 * listening socket, so no other gateway can take the port, and the slots, while one of them lives.
 *
 * *Rejected:* by turns (SCHED_RR). The parent accepts all connections and passes one on for each
 * turn of a busy process. A process that stands still keeps those that it was given. Processes of a
 * parent that was killed would not hold the port, and their work would be taken over while they do
 * it.
 */
export function openStarter(key: Secret<string> | undefined): (slot: number, joins: boolean) => ChildProcess {
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...(key ? (['pipe'] as const) : [])] })
  return (slot, joins) => {
    const worker = cluster.fork({
      [slotVariable]: slot,
      ...(joins && { [joinsVariable]: 'on' }),
      ...(key && { TOLLGATE_KEY_FD: keyDescriptor }),
    })
    // The supervisor hears of it from the process.
    worker.on('error', () => {})
    // If it ends before it reads the key, that is reported as its end.
    if (key) (worker.process.stdio[keyDescriptor] as Writable).on('error', () => {}).end(key.reveal())
    return worker.process
  }
}
