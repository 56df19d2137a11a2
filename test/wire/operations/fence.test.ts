import { madeStatements } from '../../harness/postgres/sql-made.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqlSources } from '../../harness/postgres/sql-sources.ts'

// Every statement of a gateway that writes rows of a merchant asks the fence of merchants that move
// (storage/store-fence.ts), or runs in a transaction that has asked it.

const ofGateways = /^(?:order|delivery|mobile-api|card|merchant|risk)\//

/** In the save of orders, which asks first (order/store/store.ts). */
const inSaves = {
  'insert into orders': 1,
  'update orders': 2,
  'insert into order_facts': 1,
  'update order_facts': 1,
  'insert into transaction': 1,
  'update transaction': 1,
  'insert into attempt': 1,
  'update attempt': 1,
  'insert into order_event': 1,
  'insert into request': 1,
  'insert into delivery': 1,
  'insert into order_key': 2,
  'update order_key': 1,
  'insert into idempotency_key': 2,
  'insert into filter_count': 1,
  'update filter_count': 1,
}
/** What has expired may be removed in both cells; the other one is of a save too. */
const expired = { 'delete from nonce': 1, 'delete from filter_count': 1, 'delete from idempotency_key': 2 }

test('every statement that writes rows of merchants asks the fence, or its transaction has asked it', async () => {
  const sources = sqlSources(join(import.meta.dirname, '../../../../src'))
  const makers = sources.filter(({ path, makesStatements }) => makesStatements && ofGateways.test(path))
  for (const { path } of makers) await import(`../../../src/${path.replace(/ts$/, 'js')}`)
  const texts = [...madeStatements]
  // These make statements too, which are the mover's.
  const { movedTables } = await import('../../../src/operator/cells/merchant-rows.ts')
  const writes = new RegExp(`\\b(?:insert into|update|delete from) (?:${movedTables.join('|')})\\b`, 'g')
  const counts: Record<string, number> = {}
  for (const text of texts.filter((one) => !one.includes('merchant_move')))
    for (const [write] of text.matchAll(writes)) counts[write] = (counts[write] ?? 0) + 1
  assert.deepEqual(counts, { ...inSaves, ...expired })
})
