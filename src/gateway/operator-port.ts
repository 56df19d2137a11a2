import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { reachOf } from '../http/client-address.ts'
import { openServer, type Answer, type Route, type Server } from '../http/server.ts'

export interface OperatorAddress {
  host: string
  port: number
  /** Further names, in lower case, under which monitoring reaches it. */
  names?: readonly string[]
}

/** Only the operator's probes come there, and a reading of the metrics takes milliseconds. */
const limits = { maxBodiesBytes: 0, maxConnections: 400, maxPerAddress: 200, readsInTurn: 8 }

/**
 * Its requests wait for no turn: a probe must not take a busy process for a dead one. Its routes
 * answer under its own names alone, else 421.
 */
export async function openOperatorPort(at: OperatorAddress, { random, log }: { random: Random; log: Log }): Promise<Server> {
  const { host, port, names = [] } = at
  const own = new Set(['localhost', host.toLowerCase(), ...names])
  const guarded = (route: Route): Route => ({
    ...route,
    handle: (request) => (isOwn(request.headers.host, own) ? route.handle(request) : foreign),
  })
  const server = await openServer({ host, port, ...limits, turns: { begin: () => undefined }, random, log })
  return { ...server, serve: (routes) => server.serve(routes.map(guarded)) }
}

/**
 * A page elsewhere may have a name that leads here, but no address of ours. Probes come by address,
 * or without a Host (HTTP/1.0).
 */
function isOwn(hostHeader: string | string[] | undefined, own: ReadonlySet<string>): boolean {
  const name = String(hostHeader ?? 'localhost').replace(/:[0-9]*$/, '')
  return own.has(name.toLowerCase()) || reachOf(name.replace(/^\[(.*)\]$/, '$1')) !== undefined
}

const foreign: Answer = {
  status: 421,
  type: 'text/plain;charset=utf-8',
  body: 'This port answers addresses and its own names alone: OPERATOR_NAMES adds names\n',
}
