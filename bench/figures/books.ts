import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { statement } from '../../src/storage/pool.ts'
import { onDatabase, type Sandbox } from '../sandbox.ts'

/**
 * The same payments as three parties count them, and the callbacks about them. Orders at rest as
 * `unknown` are left out: what the acquirer approved of them is still to be reversed.
 */
export interface Books {
  merchant: number
  acquirer: number
  database: number
  unknown: number
  callbacks: { delivered: number; owed: number }
}

/** In cell 0, and in the further schemas. */
const everywhere = ({ schemas = [] }: Sandbox, select: (schema: string) => string): string =>
  ['', ...schemas.map((schema) => `${schema}.`)].map(select).join(' union all ')
const orders = (sandbox: Sandbox) =>
  statement<{ approved: bigint }>(
    everywhere(sandbox, (at) => `select count(*) as approved from ${at}orders where status = 'approved'`),
  )
const unknowns = (sandbox: Sandbox) =>
  statement<{ order_id: bigint }>(everywhere(sandbox, (at) => `select order_id from ${at}orders where status = 'unknown'`))
const deliveries = (sandbox: Sandbox) =>
  statement<{ state: string; count: bigint }>(
    everywhere(sandbox, (at) => `select state, count(*) from ${at}delivery group by state`),
  )

/** The difference between two states of the books. */
export const since = (now: Books, earlier?: Books): Books =>
  earlier === undefined
    ? now
    : {
        merchant: now.merchant - earlier.merchant,
        acquirer: now.acquirer - earlier.acquirer,
        database: now.database - earlier.database,
        unknown: now.unknown - earlier.unknown,
        callbacks: {
          delivered: now.callbacks.delivered - earlier.callbacks.delivered,
          owed: now.callbacks.owed - earlier.callbacks.owed,
        },
      }

/** How long the last callbacks may take. */
const callbacksWithinMs = 10_000

export const booksAgree = ({ merchant, acquirer, database }: Books): boolean => merchant === acquirer && merchant === database

/**
 * Reads the books once no callback is owed any more, or after a while. `approved` is what the load
 * process saw.
 */
export const readBooks = (sandbox: Sandbox, approved: number): Promise<Books> =>
  onDatabase(sandbox, async (pool) => {
    const end = performance.now() + callbacksWithinMs
    for (;;) {
      const rows = await pool.run(deliveries(sandbox))
      const count = (state: string) => rows.reduce((sum, row) => sum + (row.state === state ? Number(row.count) : 0), 0)
      const callbacks = { delivered: count('delivered'), owed: count('due') }
      if (callbacks.owed === 0 || performance.now() > end) {
        const approvedHere = (await pool.run(orders(sandbox))).reduce((sum, row) => sum + Number(row.approved), 0)
        const unknown = await pool.run(unknowns(sandbox))
        const acquirer = (await approvedByAcquirer(sandbox)) - (await approvedOf(sandbox, unknown))
        return { merchant: approved, acquirer, database: approvedHere, unknown: unknown.length, callbacks }
      }
      await pause(50)
    }
  })

interface LedgerSummary {
  sums: { state: string; count: number }[]
}

async function approvedByAcquirer({ acquirerAdminUrl }: Sandbox): Promise<number> {
  const { body } = await request(`${acquirerAdminUrl}/ledger/summary`)
  const { sums }: LedgerSummary = JSON.parse(await body.text())
  return sums.filter(({ state }) => state === 'approved').reduce((all, { count }) => all + count, 0)
}

async function approvedOf({ acquirerAdminUrl }: Sandbox, orderRows: readonly { order_id: bigint }[]): Promise<number> {
  let approved = 0
  for (const { order_id: orderId } of orderRows) {
    const { body } = await request(`${acquirerAdminUrl}/ledger?order_id=${orderId}&state=approved`)
    const { entries }: { entries: unknown[] } = JSON.parse(await body.text())
    approved += entries.length
  }
  return approved
}
