import assert from 'node:assert/strict'
import { Chance } from '../../simulation/world/chance.ts'
import { openFixedKeys } from '../harness/world/fixed-keys.ts'
import { openReferenceStore, type ReferenceStore } from '../../src/card/reference-rows.ts'
import { openDeliveryStore, type DeliveryStore } from '../../src/delivery/store.ts'
import { openInvoiceStore, type InvoiceStore } from '../../src/mobile-api/invoice/store.ts'
import { openWrongSums, type WrongSums } from '../../src/mobile-api/sum/store.ts'
import { capturedMinor, returnedMinor } from '../../src/order/decide/amounts.ts'
import { openOrderStore, type OrderStore } from '../../src/order/store/store.ts'
import { statement, type Pool } from '../../src/storage/pool.ts'
import { processes, silentProcess } from './model-events.ts'

export interface Both {
  orders: OrderStore
  deliveries: DeliveryStore
  references: ReferenceStore
  invoices: InvoiceStore
  /** The last beat of the silent process was so long ago. */
  fallSilent(agoMs: number): Promise<void>
  wrongSums: WrongSums
}

/** The real stores, over PostgreSQL. */
export const stored = (pool: Pool, seed: number): Both => ({
  orders: openOrderStore(pool),
  deliveries: openDeliveryStore(pool),
  references: openReferenceStore(pool),
  invoices: openInvoiceStore(pool, openFixedKeys(new Chance(seed).random()), new Chance(seed).random()),
  async fallSilent(agoMs) {
    const beat = `insert into heartbeat values ($1, 'silent', now(), now() - $2::int * interval '1 millisecond')
      on conflict (process_id) do update set beat_at = excluded.beat_at`
    await pool.run(statement<object>(beat), [silentProcess, agoMs])
  },
  wrongSums: openWrongSums(pool, openFixedKeys(new Chance(seed).random())),
})

/**
 * The sums that an order has as columns are those of its transactions. Answers how many orders have
 * any.
 */
export async function checkSums(pool: Pool): Promise<number> {
  const rows = await pool.run(
    statement<{ merchant_id: bigint; order_id: bigint; captured_minor: bigint; returned_minor: bigint }>(
      'select merchant_id, order_id, captured_minor, returned_minor from orders',
    ),
  )
  const orders = await openOrderStore(pool).load(rows.map((r) => ({ merchantId: r.merchant_id, orderId: r.order_id })))
  for (const order of orders) {
    const row = rows.find((r) => r.order_id === order.orderId)!
    assert.deepEqual([row.captured_minor, row.returned_minor], [capturedMinor(order), returnedMinor(order)])
  }
  return orders.filter((o) => o.transactions.some((t) => t.kind === 'capture' || t.kind === 'return')).length
}

/** Empties every table that a history writes, and lets the first two processes live. */
export async function forgetAll(pool: Pool): Promise<void> {
  const tables = [
    'orders',
    'order_facts',
    'order_key',
    'transaction',
    'attempt',
    'order_event',
    'request',
    'locator',
    'delivery',
    'card_reference',
    'card_number_ref',
    'filter_count',
    'mobile_invoice',
    'wrong_sum',
    'idempotency_key',
  ]
  for (const table of [...tables, 'delivery_attempt', 'heartbeat']) await pool.run(statement(`delete from ${table}`))
  for (const id of processes.slice(0, 2))
    await pool.run(
      statement(
        `insert into heartbeat (process_id, instance, started_at, beat_at) values ($1, $2, now(), now() + interval '1 hour')`,
      ),
      [id, `place ${id}`],
    )
}
