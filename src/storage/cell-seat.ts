/**
 * Which server serves a cell where Citus keeps its schema on one of several nodes. Pure: the rows
 * are those of its catalogs (nodes.ts).
 *
 * A statement about a table of Citus may run on any node that follows the metadata. It takes the
 * lock of its shard there, for which the end of a move waits, and then goes to where the shard is:
 * so a move loses nothing, wherever the statement came in. A node that does not follow the metadata
 * takes no such lock, and a write there is lost when the cell moves.
 */
import type { CellNode } from './cells.ts'

/** Where the catalogs have the schema of a cell. */
export interface PlacementRow {
  schema: string
  /** Citus numbers groups of a server and its standbys. */
  group_id: number
  host: string
  port: number
  /** The node whose catalogs were asked. */
  is_here: boolean
  /** Each change of the metadata is committed there together with its cause. */
  follows: boolean
}

/**
 * `home`: in the database of the installation, whose address serves it. `node`: at that node, to
 * which processes connect. `through`: at that node, and served through the installation's database.
 */
export type CellSeat =
  | { is: 'home' }
  | { is: 'node'; node: CellNode; group: number }
  | { is: 'through'; node: CellNode; why: WhyThrough }

/** `metadata`: the node does not follow it. `line`: the URL may not lead to another machine. */
export type WhyThrough = 'metadata' | 'line' | 'other server'

export const home: CellSeat = { is: 'home' }

/** `row` is undefined for a schema that Citus does not distribute. */
export function seatOf(row: PlacementRow | undefined, isSafe: (node: CellNode) => boolean): CellSeat {
  if (!row || row.is_here) return home
  const node = { host: row.host, port: row.port }
  if (!row.follows) return { is: 'through', node, why: 'metadata' }
  return isSafe(node) ? { is: 'node', node, group: row.group_id } : { is: 'through', node, why: 'line' }
}

export const nodeName = ({ host, port }: CellNode): string => `${host}:${port}`

/** In words; undefined at home. */
export function seatName(seat: CellSeat): string | undefined {
  if (seat.is === 'home') return undefined
  return seat.is === 'node' ? nodeName(seat.node) : `${nodeName(seat.node)}, through the coordinator`
}

export const isSameSeat = (a: CellSeat, b: CellSeat): boolean => JSON.stringify(a) === JSON.stringify(b)
