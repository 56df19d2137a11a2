import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { openServer, type Server } from '../http/server.ts'

/** Nobody but the operator's probes comes there. */
const limits = { maxBodiesBytes: 0, maxConnections: 100 }

/** Its requests wait for no turn: a probe must not take a busy process for a dead one. */
export const openOperatorPort = (
  at: { host: string; port: number },
  { random, log }: { random: Random; log: Log },
): Promise<Server> => openServer({ ...at, ...limits, turns: { begin: () => undefined }, random, log })
