import { secret, type Secret } from '../base/secret.ts'
import { ConfigError, serveVariables } from '../settings/serve.ts'
import { descriptorNo, fileText } from '../settings/keys.ts'
import { readVariables, type Environment } from '../settings/variables.ts'

/** How many processes share the ports. */
export function processesOf(env: Environment): number {
  const complaints: string[] = []
  const { PROCESSES } = readVariables({ PROCESSES: serveVariables.PROCESSES }, env, complaints)
  if (complaints.length > 0) throw new ConfigError(complaints)
  return PROCESSES
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
