import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ledger } from '../../conformance/requests/client.ts'
import { connectOwn } from '../../harness/postgres/own-rows.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openApp, type Json } from './mobile-app.ts'
import type { MerchantServer } from './mobile-peer.ts'

/** What a mobile payment leaves behind, and the codes of its declines. */

const world = await openWorld()
const database = closing(await connectOwn(world))
const app = await openApp(world)
const merchant = closing(app.merchant)

type Lie = ReturnType<NonNullable<MerchantServer['lie']>>

test('what ended has no card number any more, and the same request still has the same answer', async () => {
  for (const one of [app.begin('sale'), app.begin('transfer', { to: { card: { number: '5555555555554444' } } })]) {
    const token = await app.accepted(one)
    const seen = await app.ended(one, token)
    assert.equal(seen.state, 'APPROVED')
    const { rows } = await database.query('select state from mobile_invoice where invoice_id = $1', [one.invoiceId])
    assert.deepEqual(rows, [{ state: 'ordered' }])
    assert.equal(await app.accepted(one), token)
    assert.deepEqual(await app.ended(one, token), seen)
    const other = { ...one, body: { ...one.body, order: { description: 'something else' } } }
    await app.refused(other, 'INVALID_REQUEST', /invoiceId/)
  }
})

describe('a merchant server that does not confirm', () => {
  // oxfmt-ignore
  const lies: readonly (readonly [string, (answer: Json) => Lie, number])[] = [
    ['refuses with a cause', () => ({ status: 400, body: { error: { cause: 'FILTERED', code: 'x', message: 'no' } } }),                4001],
    ['fails each time',      () => ({ status: 500 }),                                                                                4002],
    ['changes the token',    (answer) => ({ body: { ...answer, session: { ...(answer['session'] as Json), token: 't'.repeat(36) } } }), 4003],
  ]
  for (const [what, lie, errorCode] of lies)
    test(`it ${what}: declined ${errorCode}, and nothing is charged`, async () => {
      const one = app.begin('sale')
      merchant.lie = (path, answer) => (path.endsWith(`${one.invoiceId}/check`) ? lie(answer) : {})
      const seen = await app.ended(one)
      merchant.lie = undefined
      assert.deepEqual([seen.state, seen.errorCode], ['DECLINED', errorCode], JSON.stringify(seen))
      assert.deepEqual(await ledger(world, seen.orderId as string), [])
    })
})

test('a decline before any charge keeps no CVV2; without a known card it is no order at all', async () => {
  merchant.lie = (path) => (path.endsWith('/check') ? { status: 403, body: '' } : {})
  const seen = await app.ended(app.begin('sale'))
  assert.deepEqual([seen.state, seen.errorCode], ['DECLINED', 4001])
  const kept = await database.query(`select cvv2_sealed from order_facts where order_id = $1`, [seen.orderId])
  assert.deepEqual(kept.rows, [{ cvv2_sealed: null }])
  const without = await app.ended(app.begin('sale', { reference: { clientCardId: 'nobody' } }))
  merchant.lie = undefined
  assert.equal(without.state, 'DECLINED')
  assert.equal((await database.query(`select from orders where order_id = $1`, [without.orderId])).rowCount, 0)
})

test('no secret is left: no CVV2 of an invoice that is over, no card number or access token in clear', async () => {
  const { rows } = await database.query<{ text: string }>('select row_to_json(i)::text as text from mobile_invoice i')
  assert.ok(rows.length > 5)
  for (const { text } of rows) {
    assert.doesNotMatch(text, /4111111111111111/)
    for (const { body } of merchant.calls) assert.ok(!text.includes(String((body.session as Json)['accessToken'])))
  }
  const open = await database.query(
    `select from mobile_invoice where state in ('releasing', 'ordered', 'declined') and cvv2_sealed is not null`,
  )
  assert.equal(open.rowCount, 0)
})
