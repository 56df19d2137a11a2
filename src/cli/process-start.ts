import { execFile } from 'node:child_process'
import type { Log } from '../base/log.ts'
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

/**
 * Reports to systemd that the program serves, and later that it stops. Node has no datagram sockets
 * of Unix, so systemd-notify sends it; its unit needs NotifyAccess=all.
 */
export function reportStart(env: Environment, log: Log, stops: Promise<unknown>): void {
  const { NOTIFY_SOCKET, PATH } = env
  const report = (state: string) =>
    execFile('systemd-notify', [state], { env: { NOTIFY_SOCKET, PATH }, timeout: 5_000 }, (error) => {
      if (error) log.warn({ reason: error.message }, 'systemd-notify could not report to systemd')
    })
  if (!NOTIFY_SOCKET) return
  report('READY=1')
  void stops.then(() => report('STOPPING=1'))
}
