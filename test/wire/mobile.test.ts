import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ledger } from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { openReceiver } from '../harness/receiver.ts'
import { connectOwn } from '../harness/own-rows.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { openApp, type Json } from './mobile-app.ts'
import { hmac, type MerchantServer } from './mobile-peer.ts'

/** The mobile API as an app meets it, with merchants' servers that are honest or lie. */

const world = await openWorld()
const database = closing(await connectOwn(world))
const app = await openApp(world)
const merchant = closing(app.merchant)

const callsAbout = (invoiceId: string) => merchant.calls.filter(({ path }) => path.includes(invoiceId))

test('a verification is checked with the merchant, moves no money, and maps the card', async () => {
  const one = app.begin('verification')
  const seen = await app.ended(one)
  assert.equal(seen.state, 'APPROVED')
  assert.ok(seen.bankOrderId)
  const [check] = callsAbout(one.invoiceId)
  assert.equal(check!.path, `/verification/${one.invoiceId}/check`)
  const { session } = one.body as { session: Json }
  assert.deepEqual(check!.body, {
    consumer: { device: { serialNumber: 'device-1' } },
    session: { ...session, token: (seen.session as Json).token },
  })
  const token = String((seen.session as Json).token)
  const { reference, sourceCard } = (await app.notified('verification', token)) as { reference: Json; sourceCard: Json }
  assert.match(String(reference['serverCardId']), /^[0-9]{16}$/)
  assert.ok(Number.isSafeInteger(reference['uniqueReferenceCardId']))
  assert.deepEqual(sourceCard, { bin: 411111 })
})

test('a sale is approved, charged once, reported with its dates, and its card pays again by reference', async () => {
  const one = app.begin('sale')
  const seen = await app.ended(one)
  assert.equal(seen.state, 'APPROVED')
  const { transaction, orderId, bankOrderId } = seen as { transaction: Json; orderId: string; bankOrderId: string }
  assert.match(bankOrderId, /^SIM-/)
  assert.deepEqual([transaction['amountCentis'], transaction['commissionCentis'], transaction['currency']], [1_050, 0, 'USD'])
  for (const date of [transaction['orderCreatedDate'], transaction['transactionCreatedDate']])
    assert.match(String(date), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\+0000$/)
  assert.equal((await ledger(world, orderId)).length, 1)
  const mapped = await app.notified('sale', String((seen.session as Json).token))
  const { reference } = mapped.sourceCard as { reference: Json }
  merchant.cards.set('my card', String(reference['serverCardId']))

  const again = app.begin('sale', { reference: { clientCardId: 'my card' }, amountCentis: 2_000 })
  const repeated = await app.ended(again)
  assert.equal(repeated.state, 'APPROVED', JSON.stringify(repeated))
  assert.equal(callsAbout(again.invoiceId)[0]!.body['sourceOfFunds'] === undefined, false)
  const another = app.begin('sale', { reference: { clientCardId: 'my card' }, email: 'eve@example.com' })
  assert.deepEqual(
    [(await app.ended(another)).state, (await app.ended(another)).errorCode],
    ['DECLINED', 4004],
    'another e-mail address',
  )
  merchant.cards.set('foreign', '1000000000000000004')
  assert.equal((await app.ended(app.begin('sale', { reference: { clientCardId: 'foreign' } }))).errorCode, 4004)
})

test('the same request again has the same answer; with other content invoice and nonce are refused', async () => {
  const one = app.begin('sale')
  const [first, second] = await Promise.all([app.accepted(one), app.accepted(one)])
  assert.equal(first, second)
  const other = { ...one, body: { ...one.body, order: { description: 'something else' } } }
  await app.refused(other, 'INVALID_REQUEST', /invoiceId/)
  const thief = app.begin('sale')
  const { nonce } = one.body.session as { nonce: string }
  const session = thief.body.session as Json
  session['nonce'] = nonce
  const signed = [thief.accessToken, 'device-1', String(thief.endpoint), nonce, thief.invoiceId, '1050', 'USD']
  session['signature'] = hmac(world.merchant.controlKey, ...signed)
  await app.refused(thief, 'INVALID_REQUEST', /nonce/)
  const { orderId } = (await app.ended(one, first)) as { orderId: string }
  assert.equal((await ledger(world, orderId)).length, 1)
})

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

describe('a merchant server that lies, or fails', () => {
  const lies: readonly (readonly [
    string,
    (path: string, answer: Json) => ReturnType<NonNullable<MerchantServer['lie']>>,
    number,
  ])[] = [
    ['refuses with a cause', () => ({ status: 400, body: { error: { cause: 'FILTERED', code: 'x', message: 'no' } } }), 4001],
    ['refuses by a 403 without a body', () => ({ status: 403, body: '' }), 4001],
    ['answers 200 with an error', () => ({ body: { error: { cause: 'INVALID_REQUEST' } } }), 4001],
    [
      'signs wrongly',
      (_p, a) => ({ body: { ...a, session: { ...(a['session'] as Json), checkSignature: 'F'.repeat(40) } } }),
      4003,
    ],
    ['changes the nonce', (_p, a) => ({ body: { ...a, session: { ...(a['session'] as Json), nonce: 'n'.repeat(32) } } }), 4003],
    ['changes the token', (_p, a) => ({ body: { ...a, session: { ...(a['session'] as Json), token: 't'.repeat(36) } } }), 4003],
    ['changes the invoice', (_p, a) => ({ body: { ...a, invoiceId: 'another' } }), 4003],
    ['names another currency', (_p, a) => ({ body: { ...a, transaction: { currency: 'EUR' } } }), 4003],
    ['names a card nobody asked for', (_p, a) => ({ body: { ...a, sourceOfFunds: { reference: { serverCardId: '7' } } } }), 4003],
    ['answers no JSON', () => ({ body: 'hello' }), 4003],
    ['answers a list', () => ({ body: '[]' }), 4003],
    ['answers too much', () => ({ body: `{"x":"${'y'.repeat(100_000)}"}` }), 4003],
    ['redirects', () => ({ status: 302 }), 4001],
    ['fails each time', () => ({ status: 500 }), 4002],
  ]
  for (const [what, lie, errorCode] of lies)
    test(`it ${what}: declined ${errorCode}, and nothing is charged`, async () => {
      const one = app.begin('sale')
      merchant.lie = (path, answer) => (path.endsWith(`${one.invoiceId}/check`) ? lie(path, answer) : {})
      try {
        const seen = await app.ended(one)
        assert.deepEqual([seen.state, seen.errorCode], ['DECLINED', errorCode], JSON.stringify(seen))
        assert.ok(seen.bankOrderId && seen.orderId && seen.transaction)
        assert.deepEqual(await ledger(world, seen.orderId as string), [])
      } finally {
        merchant.lie = undefined
      }
    })
  test('it fails once and then answers: the sale goes on', async () => {
    const one = app.begin('sale')
    let n = 0
    merchant.lie = (path) => (path.endsWith(`${one.invoiceId}/check`) && n++ === 0 ? { status: 503 } : {})
    assert.equal((await app.ended(one)).state, 'APPROVED')
    assert.equal(callsAbout(one.invoiceId).length, 2)
    merchant.lie = undefined
  })
  test('a notification that is not signed rightly is sent again, one that is refused is not', async () => {
    const one = app.begin('verification')
    let tries = 0
    merchant.lie = (path, answer) => {
      if (path !== '/verification/notification') return {}
      tries++
      if (tries === 1) return { body: { ...answer, session: { ...(answer['session'] as Json), checkSignature: 'F'.repeat(40) } } }
      return { status: 400, body: { error: { cause: 'INVALID_REQUEST' } } }
    }
    const seen = await app.ended(one)
    assert.equal(seen.state, 'APPROVED', 'it never holds up the outcome')
    await until(
      () => tries,
      (n) => n === 2,
    )
    const state = () => database.query(`select state from delivery where kind = 'card mapping' and tries = 2`)
    assert.deepEqual((await until(state, ({ rows }) => rows.length === 1)).rows, [{ state: 'given up' }])
    merchant.lie = undefined
  })
})

test('a decline before any charge is an order with a callback; without a known card it is neither', async () => {
  const receiver = await openReceiver(() => 200)
  try {
    const update = 'update endpoint set settings = settings || $1::jsonb where endpoint_id = $2'
    const set = (callbackUrl: string) => database.query(update, [JSON.stringify({ callbackUrl }), world.endpoints.plain])
    await set(`${receiver.origin}/told`)
    await database.query('update config_version set version = version + 1')
    const sold = async () => {
      await app.ended(app.begin('sale'))
      return receiver.calls('/told').length
    }
    await until(sold, (calls) => calls > 0)
    merchant.lie = (path) => (path.endsWith('/check') ? { status: 403, body: '' } : {})
    const one = app.begin('sale')
    const seen = await app.ended(one)
    assert.deepEqual([seen.state, seen.errorCode], ['DECLINED', 4001])
    const told = await until(
      () => receiver.calls('/told').find(({ query }) => query.get('client_orderid') === one.invoiceId),
      Boolean,
    )
    const { query } = told!
    assert.deepEqual(
      ['status', 'type', 'orderid', 'error_code', 'amount'].map((name) => query.get(name)),
      ['declined', 'sale', seen.orderId, '4001', '10.50'],
    )
    const kept = await database.query(`select cvv2_sealed from order_facts where order_id = $1`, [seen.orderId])
    assert.deepEqual(kept.rows, [{ cvv2_sealed: null }])
    const without = await app.ended(app.begin('sale', { reference: { clientCardId: 'nobody' } }))
    assert.equal(without.state, 'DECLINED')
    assert.equal((await database.query(`select from orders where order_id = $1`, [without.orderId])).rowCount, 0)
  } finally {
    merchant.lie = undefined
    await receiver.close()
  }
})

test('no secret is left: no CVV2 of an invoice that is over, no card number or access token in clear', async () => {
  const { rows } = await database.query<{ text: string }>('select row_to_json(i)::text as text from mobile_invoice i')
  assert.ok(rows.length > 20)
  for (const { text } of rows) {
    assert.doesNotMatch(text, /4111111111111111/)
    for (const { body } of merchant.calls) assert.ok(!text.includes(String((body.session as Json)['accessToken'])))
  }
  const open = await database.query(
    `select from mobile_invoice where state in ('releasing', 'ordered', 'declined') and cvv2_sealed is not null`,
  )
  assert.equal(open.rowCount, 0)
})
