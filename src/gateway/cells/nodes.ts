/** Follows cells from node to node, where Citus moves them. */
import { sleep, type Cancel, type Clock } from '../../base/clock.ts'
import { reasonOf, type Log } from '../../base/log.ts'
import { isSafeLine, lineDemandOf } from '../../storage/database-line.ts'
import { home, isSameSeat, nodeName, seatOf, type CellSeat, type PlacementRow } from '../../storage/cell-seat.ts'
import { atNode, databaseOf, staysAt, type CellDatabase, type CellAddress, type Whereabouts } from '../../storage/cells.ts'
import { openPool, type Pool } from '../../storage/pool.ts'
import { connectToItself, hasCitus, isNodeOf, readPlacements } from '../../storage/nodes.ts'
import type { Closing } from '../closing.ts'
import { startPeriodic } from '../periodic.ts'

export interface Followed extends Whereabouts {
  seat: () => CellSeat
}

export interface CellNodes {
  /** Rejects if the node that has the cell does not answer. */
  locate(own: CellAddress): Promise<Followed>
}

export interface NodesParts {
  /** The database of the installation, and a pool there. */
  databaseUrl: string
  pool: Pool
  clock: Clock
  log: Log
}

const lookEveryMs = 1_000
/** A burst of failed statements asks for one look. */
const soonestMs = 100
const closeWithinMs = 1_000

const atHome = (database: CellDatabase): Followed => ({ ...staysAt(database), seat: () => home })

/** Without Citus, and for a cell that has an address of its own, nothing is looked at. */
export async function openNodes(parts: NodesParts, closing: Closing): Promise<CellNodes> {
  const { databaseUrl, pool, clock, log } = parts
  if (!(await hasCitus(pool))) return { locate: async (own) => atHome(databaseOf(databaseUrl, own)) }
  const cells = new Map<string, Tracked>()
  const watch = openWatch(() => readPlacements(pool), cells, { clock, log })
  closing.add(startPeriodic(clock, log, [{ name: 'nodes of cells', everyMs: lookEveryMs, run: watch.look }]))
  return {
    async locate(own) {
      const database = databaseOf(databaseUrl, own)
      const { schema } = database
      if (schema === undefined || own.address !== undefined) return atHome(database)
      const cell = new Tracked(own.cellNo, database, parts, watch.doubt)
      await cell.settle((await readPlacements(pool)).get(schema))
      cells.set(schema, cell)
      return cell
    },
  }
}

/** A cell, and at which server this process uses it. */
class Tracked implements Followed {
  readonly doubt: () => void
  readonly #cellNo: number
  readonly #home: CellDatabase
  readonly #parts: NodesParts
  readonly #listeners = new Set<(to: CellDatabase) => void>()
  #seat: CellSeat = home
  /** The last answer of the catalogs; the seat follows once the node has proven itself. */
  #wanted: CellSeat = home

  constructor(cellNo: number, database: CellDatabase, parts: NodesParts, doubt: () => void) {
    this.#cellNo = cellNo
    this.#home = database
    this.#parts = parts
    this.doubt = doubt
  }

  seat = (): CellSeat => this.#seat
  now = (): CellDatabase => this.#databaseAt(this.#seat)
  onMove = (moved: (to: CellDatabase) => void): Cancel => {
    this.#listeners.add(moved)
    return () => void this.#listeners.delete(moved)
  }

  #databaseAt(seat: CellSeat): CellDatabase {
    return seat.is === 'node' ? atNode(this.#home, seat.node) : this.#home
  }

  /** Rejects if the node does not answer; the cell then stays where it was used. */
  async settle(row: PlacementRow | undefined): Promise<void> {
    const wanted = seatOf(row, (node) => isSafeLine(lineDemandOf(atNode(this.#home, node).url)))
    if (isSameSeat(wanted, this.#wanted)) return
    const seat = await this.#shown(wanted)
    this.#wanted = wanted
    if (isSameSeat(seat, this.#seat)) return
    this.#seat = seat
    const shown = { cell: this.#cellNo, ...(seat.is === 'home' ? {} : { node: nodeName(seat.node) }) }
    if (seat.is === 'through') this.#parts.log.warn({ ...shown, why: seat.why }, 'a cell is used through the coordinator')
    else this.#parts.log.info(shown, 'a cell is used at the node that has it')
    for (const moved of this.#listeners) moved(this.now())
  }

  async #shown(wanted: CellSeat): Promise<CellSeat> {
    if (wanted.is !== 'node') return wanted
    const { clock, log } = this.#parts
    const pool = openPool({ ...this.#databaseAt(wanted), connections: 1, use: 'oltp', log })
    try {
      if (!(await isNodeOf(pool, wanted.group))) return { is: 'through', node: wanted.node, why: 'other server' }
      await connectToItself(pool)
      return wanted
    } finally {
      await Promise.race([pool.close(), sleep(clock, closeWithinMs)])
    }
  }
}

/** Looks at the catalogs, one look at a time. */
function openWatch(
  read: () => Promise<ReadonlyMap<string, PlacementRow>>,
  cells: ReadonlyMap<string, Tracked>,
  { clock, log }: Pick<NodesParts, 'clock' | 'log'>,
) {
  let looking: Promise<void> | undefined
  let lookedAt = -Infinity
  let isWarned = false

  async function once(): Promise<void> {
    lookedAt = clock.monotonic()
    try {
      const rows = await read()
      const settled = await Promise.allSettled([...cells].map(([schema, cell]) => cell.settle(rows.get(schema))))
      const failed = settled.find((one) => one.status === 'rejected')
      if (failed) throw failed.reason
      isWarned = false
    } catch (error) {
      if (!isWarned) log.warn({ reason: reasonOf(error) }, 'could not check whether cells have moved; the check is repeated')
      isWarned = true
    }
  }

  const look = (): Promise<void> => (looking ??= once().finally(() => (looking = undefined)))
  return {
    look,
    doubt() {
      if (!looking && clock.monotonic() - lookedAt >= soonestMs) void look()
    },
  }
}
