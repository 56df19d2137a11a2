import { secret, type Secret } from '../base/secret.ts'
import { configured, serveVariables } from '../settings/serve.ts'
import { descriptorNo, fileText } from '../settings/keys.ts'
import { complaining, readVariables, type Environment } from '../settings/variables.ts'

/** How many processes share the ports. */
export const processesOf = (env: Environment): number =>
  configured((complaints) => readVariables({ PROCESSES: serveVariables.PROCESSES }, env, complaints)).PROCESSES

/** A key that comes by a descriptor, which can be read once: the parent keeps it for all. */
export const keyByDescriptor = ({ TOLLGATE_KEY_FD: descriptor }: Environment): Secret<string> | undefined =>
  configured((complaints) =>
    descriptor ? complaining(complaints, () => secret(fileText('TOLLGATE_KEY_FD', descriptorNo(descriptor)))) : undefined,
  )
