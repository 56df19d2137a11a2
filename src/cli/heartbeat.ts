import { hostname } from 'node:os'
import type { Pool } from '../storage/pool.ts'
import { heartOnThread } from '../storage/store-heart.ts'
import { heartbeatStore, startHeartbeat, type Heartbeat } from '../storage/store-heartbeat.ts'
import type { GatewayOptions } from './gateway-options.ts'

/** The heartbeat of a gateway process, whose place is its host and port. */
export const openHeartbeat = (
  { databaseUrl, clock, log }: GatewayOptions,
  pool: Pool,
  process: { id: bigint; port: number; inHand: () => number },
): Promise<Heartbeat> =>
  startHeartbeat({
    store: heartbeatStore(pool),
    processId: process.id,
    instance: `${hostname()}:${process.port}`,
    clock,
    log,
    heart: heartOnThread(databaseUrl, clock, log),
    inHand: process.inHand,
  })
