import { secret, type Secret } from '../base/secret.ts'
import { ConfigError } from '../settings/serve.ts'
import { descriptorNo, fileText } from '../settings/keys.ts'
import type { Environment } from './terminal.ts'

export const mostProcesses = 64

/** How many processes share the ports. */
export function processesOf({ PROCESSES: text = '' }: Environment): number {
  if (text === '') return 1
  if (/^[0-9]{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= mostProcesses) return Number(text)
  throw new ConfigError([`PROCESSES is ${JSON.stringify(text)}, not a number of processes from 1 to ${mostProcesses}`])
}

/** Throws a ConfigError for what one process may do, and several may not. */
export function mayShare({ PORT: text = '' }: Environment): void {
  if (/^0+$/.test(text)) throw new ConfigError(['PORT is 0, a port that is free: several processes need one that they can share'])
}

/** A key that comes by a descriptor, which can be read once: the parent keeps it for all. */
export function keyByDescriptor({ TOLLGATE_KEY_FD: descriptor }: Environment): Secret<string> | undefined {
  if (!descriptor) return undefined
  try {
    return secret(fileText('TOLLGATE_KEY_FD', descriptorNo(descriptor)))
  } catch (error) {
    throw new ConfigError([(error as Error).message])
  }
}
