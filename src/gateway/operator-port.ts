import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { openServer, type Server } from '../http/server.ts'

/** Only the operator's probes come there, and a reading of the metrics takes milliseconds. */
const limits = { maxBodiesBytes: 0, maxConnections: 400, maxPerAddress: 200, readsInTurn: 8 }

/** Its requests wait for no turn: a probe must not take a busy process for a dead one. */
export const openOperatorPort = (
  at: { host: string; port: number },
  { random, log }: { random: Random; log: Log },
): Promise<Server> => openServer({ ...at, ...limits, turns: { begin: () => undefined }, random, log })
