import { fork, type ChildProcess } from 'node:child_process'
import { cpus } from 'node:os'
import type { Writable } from 'node:stream'
import { secret } from '../base/secret.ts'
import { slotVariable } from '../gateway/slot.ts'
import { ConfigError } from './config.ts'
import { descriptorNo, fileText } from './key-config.ts'
import { spreads, type SpreadBy } from './spread.ts'
import type { Environment } from './terminal.ts'

export const mostProcesses = 64
/** After the three standard ones and the channel to the parent. */
const keyDescriptor = 4

/** How many processes share the ports. */
export function processesOf({ PROCESSES: text = '' }: Environment): number {
  if (text === '') return 1
  if (/^[0-9]{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= mostProcesses) return Number(text)
  throw new ConfigError([`PROCESSES is ${JSON.stringify(text)}, not a number of processes from 1 to ${mostProcesses}`])
}

/** How they share connections. */
export function spreadOf({ SPREAD: text = '' }: Environment): SpreadBy {
  const by = text === '' ? 'full' : spreads.find((one) => one === text)
  if (by) return by
  throw new ConfigError([`SPREAD is ${JSON.stringify(text)}, neither ${spreads.join(' nor ')}`])
}

/** How many milliseconds the processors of this machine have had nothing to do, all together. */
export const idleMs = (): number => cpus().reduce((sum, { times }) => sum + times.idle, 0)

/**
 * Starts processes of a program with the settings of this one. A key that comes by a descriptor can
 * be read once, so it stays here, for the process that takes the place of a dead one.
 */
export function starterOf(program: string, args: readonly string[], env: Environment): (slot: number) => ChildProcess {
  const { TOLLGATE_KEY_FD: descriptor, PROCESSES: _, ...settings } = env
  const key = descriptor ? secret(textIn(descriptor)) : undefined
  return (slot) => {
    const own = { [slotVariable]: String(slot), ...(key && { TOLLGATE_KEY_FD: String(keyDescriptor) }) }
    const child = fork(program, args, {
      env: { ...settings, ...own },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...(key ? (['pipe'] as const) : [])],
    })
    // If it ends before it reads the key, that is reported as its end.
    if (key) (child.stdio[keyDescriptor] as Writable).on('error', () => {}).end(key.reveal())
    return child
  }
}

function textIn(descriptor: string): string {
  try {
    return fileText('TOLLGATE_KEY_FD', descriptorNo(descriptor))
  } catch (error) {
    throw new ConfigError([(error as Error).message])
  }
}
