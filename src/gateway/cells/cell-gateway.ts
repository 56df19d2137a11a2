/** A gateway over one cell in PostgreSQL, with the duties of that cell. */
import { sleep } from '../../base/clock.ts'
import { seatName } from '../../storage/cell-seat.ts'
import type { CellDatabase, CellAddress } from '../../storage/cells.ts'
import { openMovingPool } from '../../storage/moving-pool.ts'
import { openPool, type Pool } from '../../storage/pool.ts'
import { openCell } from './cell.ts'
import { closingOnFailure } from '../closing.ts'
import { refuseCell, watchPartitions } from '../database.ts'
import { startForgetting, type KeptFor } from '../../card/forgetting.ts'
import type { CellNodes } from './nodes.ts'
import { openGateway, type Gateway, type GatewayParts } from '../open.ts'
import type { Stores } from '../parts.ts'
import { startResealing } from '../../keys/resealing.ts'
import { sealedWithOrders } from '../sealed-tables.ts'
import type { Watched } from '../watch.ts'

export interface CellGatewayParts extends Omit<GatewayParts, 'stores'> {
  registry: Stores['registry']
  /** A pool at the database of the installation, which has cell 0. */
  pool: Pool
  nodes: CellNodes
  ownerAllowed: boolean
  cardsKeptFor?: KeptFor | undefined
}

export interface OpenCell extends Watched {
  gateway: Gateway
  stop(): Promise<void>
}

/**
 * Requests wait for a database that is away for a moment, as at a failover. Of one that stays away
 * they would each wait until their statement is given up.
 */
const refusesAfterMs = 10_000

export const takesRequests = ({ lease }: Gateway): boolean => lease.heartbeat.silentMs() < refusesAfterMs

/** How long a stop waits for the connections of a pool. */
export const poolsEndMs = 1_000

/**
 * Opens the gateway over a cell. Throws if its database does not answer, or is not at this version.
 */
export const openCellGateway = (parts: CellGatewayParts, own: CellAddress): Promise<OpenCell> =>
  closingOnFailure(async (closing) => {
    const { registry, ground } = parts
    const { clock, random, log } = ground
    const { cellNo } = own
    const where = await parts.nodes.locate(own)
    const open = (at: CellDatabase) => openPool({ ...at, connections: 10, use: 'oltp', log })
    const pool = cellNo === 0 ? parts.pool : openMovingPool(where, open)
    if (cellNo > 0) {
      closing.add(() => Promise.race([pool.close(), sleep(clock, poolsEndMs)]))
      await refuseCell(pool, cellNo, parts.ownerAllowed)
    }
    const partitions = await watchPartitions(pool, parts.pool, clock, log)
    closing.add(partitions.stop)
    const { keys } = registry
    const cell = openCell({ cellNo, pool, where, keys }, ground)
    const gateway = await openGateway({ ...parts, stores: { registry, cell } })
    closing.add(() => gateway.stop())
    const duty = { pool, ...gateway.lease, clock, log }
    const resealing = startResealing({ ...duty, keys, random, tables: sealedWithOrders })
    closing.add(() => resealing.stop())
    const forgetting = startForgetting(duty, parts.cardsKeptFor)
    closing.add(() => forgetting.stop())
    return {
      cellNo,
      gateway,
      gauges: gateway.gauges,
      unready: gateway.unready,
      node: () => seatName(where.seat()),
      takesRequests: () => takesRequests(gateway),
      duties: { resealed: resealing.rows, cardsForgotten: forgetting.cards, partitionDays: partitions.days },
      stop: closing.close,
    }
  })
