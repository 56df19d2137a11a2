/**
 * Cells. A cell is one schema with all the orders of a part of the merchants. Cell 0 is in the
 * schema of the installation, which has the configuration. No statement joins the two.
 */

import type { Cancel } from '../base/clock.ts'

/** Cell 0 is there from the beginning. The numbers fit into page tokens (base/cell-mark.ts). */
export const mostCell = 4_095

export interface CellAddress {
  cellNo: number
  /**
   * A `postgres://` URL without user and password; absent if it is in the installation's database.
   */
  address?: string
}

/** The facts that a pool needs to reach a cell. */
export interface CellDatabase {
  url: string
  schema?: string
}

/** A server that has the same database, as the catalogs of Citus name it. */
export interface CellNode {
  host: string
  port: number
}

/** Where a cell is now. It may move to another server while it is used. */
export interface Whereabouts {
  now: () => CellDatabase
  /** Calls after each move; returns how to end that. */
  onMove: (moved: (to: CellDatabase) => void) => Cancel
  /** A connection there failed: perhaps the cell has moved. */
  doubt: () => void
}

/** The whereabouts of a cell that never moves. */
export const staysAt = (database: CellDatabase): Whereabouts => ({
  now: () => database,
  onMove: () => () => {},
  doubt: () => {},
})

/** Undefined: the schema that the database user has by default. */
export const schemaOf = (cellNo: number): string | undefined => (cellNo === 0 ? undefined : `cell_${cellNo}`)

/**
 * Where a cell is, for a pool: whoever reaches the installation reaches its cells as the same user,
 * with the same password. So no password is stored, and each role keeps its rights.
 */
export function databaseOf(databaseUrl: string, { cellNo, address }: CellAddress): CellDatabase {
  const schema = schemaOf(cellNo)
  return { url: address === undefined ? databaseUrl : withUser(address, new URL(databaseUrl)), ...(schema && { schema }) }
}

/** The same database on another server, which is reached in the same way. */
export function atNode(database: CellDatabase, { host, port }: CellNode): CellDatabase {
  const url = new URL(database.url)
  for (const name of ['host', 'port']) url.searchParams.delete(name)
  url.hostname = host.includes(':') ? `[${host}]` : host
  url.port = String(port)
  return { ...database, url: url.href }
}

function withUser(address: string, { username, password, searchParams }: URL): string {
  const url = new URL(address)
  url.username = username
  url.password = password
  for (const name of ['user', 'password']) {
    const value = searchParams.get(name)
    if (value !== null) url.searchParams.set(name, value)
  }
  return url.href
}
