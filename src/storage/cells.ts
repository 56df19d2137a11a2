/**
 * Cells. A cell is one schema with all the orders of a part of the merchants. Cell 0 is in the
 * schema of the installation, which has the configuration. No statement joins the two.
 */

/** Cell 0 is there from the beginning. The numbers fit into page tokens (base/cell-mark.ts). */
export const mostCell = 4_095

export interface CellPlace {
  cellNo: number
  /**
   * A `postgres://` URL without user and password; absent if it is in the installation's database.
   */
  address?: string
}

/** What a pool needs to reach a cell. */
export interface CellDatabase {
  url: string
  schema?: string
}

/** Undefined: the schema that the database user has by default. */
export const schemaOf = (cellNo: number): string | undefined => (cellNo === 0 ? undefined : `cell_${cellNo}`)

/**
 * Where a cell is, for a pool: whoever reaches the installation reaches its cells as the same user,
 * with the same password. So no password is stored, and each role keeps its rights.
 */
export function databaseOf(databaseUrl: string, { cellNo, address }: CellPlace): CellDatabase {
  const schema = schemaOf(cellNo)
  return { url: address === undefined ? databaseUrl : withUser(address, new URL(databaseUrl)), ...(schema && { schema }) }
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
