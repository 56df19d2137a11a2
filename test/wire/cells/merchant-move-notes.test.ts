// Citus may look at the fence twice for one statement, and the fence may close in between: a writer
// that was still let in then writes its note beyond the fence. A save at once looks once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notesOf } from '../../../src/operator/cells/merchant-fence.ts'
import { versionMoved } from '../../../src/order/store/statements.ts'
import { statement } from '../../../src/storage/pool.ts'
import { admits, noteOrders } from '../../../src/storage/store-fence.ts'
import { atOnce } from '../../../src/storage/transaction.ts'
import { closing } from '../../harness/world/opening.ts'
import { merchantId, openTwoCells } from '../../harness/postgres/two-cells.ts'

const { pools } = closing(await openTwoCells())
const [old] = pools

const fence = statement<object>(`
  insert into merchant_move (merchant_id, state, other_cell, mover) values ($1, $2, 1, gen_random_uuid())
  on conflict (merchant_id) do update set state = excluded.state`)
const note = statement<object>(`
  with c as (select $1::bigint as merchant_id, $2::bigint as order_id), noted as (${noteOrders('c')}) select from c`)

async function notedIn(state: string): Promise<number[]> {
  await old.run(fence, [merchantId, state])
  await old.run(note, [merchantId, 5n])
  return (await notesOf(old, merchantId)).orders.map(Number)
}

test('a change is noted while its merchant leaves, and still when it has just left', async () => {
  assert.deepEqual(await notedIn('leaving'), [5])
  assert.deepEqual(await notedIn('left'), [5])
})

test('the copy in the new cell is not noted', async () => {
  assert.deepEqual(await notedIn('arriving'), [])
})

const admitted = (orderId: bigint) => atOnce(old, admits([{ merchantId, orderId }]))

test('a save at once is noted while its merchant leaves, and fails when it has left or is arriving', async () => {
  await old.run(fence, [merchantId, 'leaving'])
  await admitted(6n)
  for (const state of ['left', 'arriving']) {
    await old.run(fence, [merchantId, state])
    await assert.rejects(admitted(7n), { code: versionMoved })
  }
  assert.deepEqual((await notesOf(old, merchantId)).orders.map(Number), [6])
})

test('a save at once of a merchant that does not move leaves no note', async () => {
  await atOnce(old, admits([{ merchantId: merchantId + 1n, orderId: 8n }]))
  assert.deepEqual((await notesOf(old, merchantId + 1n)).orders, [])
})
