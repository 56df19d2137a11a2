/** Merchants for rows of a cell. The registry and a cell are never joined in SQL. */
import { statement, type Runner } from '../storage/pool.ts'

export interface Logins {
  of(merchantId: bigint): string
  merchantIds: readonly bigint[]
}

const logins = statement<{ merchant_id: bigint; login: string }>(`select merchant_id, login from merchant order by merchant_id`)

export async function loginsIn(registry: Runner): Promise<Logins> {
  const rows = await registry.run(logins)
  const byId = new Map(rows.map((row) => [row.merchant_id, row.login]))
  return {
    of(merchantId) {
      const login = byId.get(merchantId)
      if (login === undefined) throw new Error(`merchant ${merchantId} is not in the registry`)
      return login
    },
    merchantIds: [...byId.keys()],
  }
}

/**
 * Finds an order by its id alone. The primary key begins with the merchant, so the order is looked
 * up for each merchant.
 */
const order = statement<{ merchant_id: bigint; created_at: number }>(`
  select o.merchant_id, o.created_at
  from unnest($2::bigint[]) m (merchant_id) join orders o on o.merchant_id = m.merchant_id and o.order_id = $1`)

export interface DatedOrder {
  merchantId: bigint
  createdAt: number
}

export async function orderById(cell: Runner, { merchantIds }: Logins, orderId: bigint): Promise<DatedOrder | undefined> {
  const [row] = await cell.run(order, [orderId, merchantIds])
  return row && { merchantId: row.merchant_id, createdAt: row.created_at }
}
