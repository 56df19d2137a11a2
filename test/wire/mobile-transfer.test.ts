import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ledger, send } from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { connectOwn } from '../harness/own-rows.ts'
import { openApp, type Begun, type Json } from './mobile-app.ts'
import { openSumPage } from './mobile-sum-page.ts'

/** Money from card to card, as an app meets it. */

const world = await openWorld()
const database = closing(await connectOwn(world))
const app = await openApp(world)
const merchant = closing(app.merchant)

const begin = (wish: object = {}) => app.begin('transfer', wish)
const withFee = (wish: object = {}) => begin({ endpoint: world.endpoints.mobile_fee, amountCentis: 1_000, ...wish })
const books = async (seen: Json) =>
  (await ledger(world, seen.orderId as string)).map(({ kind, state, amountMinor }) => `${kind} ${state} ${amountMinor}`).sort()
const sums = (seen: Json) => {
  const { amountCentis, commissionCentis, currency } = seen.transaction as Json
  return [seen.state, seen.errorCode, amountCentis, commissionCentis, currency]
}
const notified = (token: string) => app.notified('transfer', token)
const cardId = (body: Json, of: string) => ((body[of] as Json)['reference'] as Json)['serverCardId'] as string

describe('without a choice', () => {
  test('the source is debited, the destination credited, both cards are notified, and pay again by reference', async () => {
    const one = begin()
    const token = await app.accepted(one)
    const seen = await app.ended(one, token)
    assert.deepEqual(sums(seen), ['APPROVED', undefined, 1_050, 0, 'USD'], JSON.stringify(seen))
    assert.deepEqual(await books(seen), ['credit approved 1050', 'debit approved 1050'])
    assert.match(String(seen.bankOrderId), /^SIM-/)
    const body = await notified(token)
    assert.deepEqual([(body['sourceCard'] as Json)['bin'], (body['destinationCard'] as Json)['bin']], [411111, 555555])
    const [source, destination] = [cardId(body, 'sourceCard'), cardId(body, 'destinationCard')]
    assert.notEqual(source, destination)
    merchant.cards.set('mine', source)
    merchant.cards.set('theirs', destination)

    const again = begin({
      reference: { clientCardId: 'mine' },
      to: { reference: { clientCardId: 'theirs' } },
      amountCentis: 2_000,
    })
    const itsToken = await app.accepted(again)
    const repeated = await app.ended(again, itsToken)
    assert.deepEqual(sums(repeated), ['APPROVED', undefined, 2_000, 0, 'USD'], JSON.stringify(repeated))
    const check = merchant.calls.find(({ path }) => path === `/transfer/${again.invoiceId}/check`)
    assert.deepEqual(
      [check!.body['sourceOfFunds'], check!.body['destinationOfFunds']],
      [{ reference: { clientCardId: 'mine' } }, { reference: { clientCardId: 'theirs' } }],
    )
    const told = await database.query(`select from delivery where order_id = $1 and kind = 'card mapping'`, [repeated.orderId])
    assert.equal(told.rowCount, 0, 'no card was used, so none is told')
  })
  test('only a card that the merchant does not have yet is notified', async () => {
    const one = begin({ reference: { clientCardId: 'mine' } })
    const token = await app.accepted(one)
    assert.equal((await app.ended(one, token)).state, 'APPROVED')
    assert.deepEqual(Object.keys(await notified(token)).sort(), ['consumer', 'destinationCard', 'session'])
    const other = begin({ to: { reference: { clientCardId: 'mine' } } })
    const itsToken = await app.accepted(other)
    assert.equal((await app.ended(other, itsToken)).state, 'APPROVED', 'a card that pays may be credited')
    assert.deepEqual(Object.keys(await notified(itsToken)).sort(), ['consumer', 'session', 'sourceCard'])
  })
  test('a card that was only credited never pays, nor does an unknown id', async () => {
    for (const [wish, cards] of [
      [{ reference: { clientCardId: 'theirs' } }, {}],
      [{ to: { reference: { clientCardId: 'nobody' } } }, { nobody: '1000000000000000002' }],
      [{ to: { reference: { clientCardId: 'nobody' } } }, { nobody: 'x' }],
    ] as const) {
      for (const [name, id] of Object.entries(cards)) merchant.cards.set(name, id)
      const seen = await app.ended(begin(wish))
      assert.deepEqual(sums(seen).slice(0, 2), ['DECLINED', 4004])
    }
    const sale = await app.ended(app.begin('sale', { reference: { clientCardId: 'theirs' } }))
    assert.deepEqual([sale.state, sale.errorCode], ['DECLINED', 4004])
  })
  test('a credit that is declined gives the debit back', async () => {
    const fault = { match: { card: '4444', times: 1 }, do: { decline: '119' } }
    await send('POST', `${world.acquirerAdminUrl}/faults`, JSON.stringify(fault), { 'content-type': 'application/json' })
    const seen = await app.ended(begin())
    assert.deepEqual(sums(seen).slice(0, 2), ['DECLINED', 119])
    assert.ok((await books(seen)).includes('debit reversed 1050'), String(await books(seen)))
  })
  test('a merchant server that does not name the destination, or signs without it, declines it', async () => {
    const lies: readonly ((answer: Json) => Json)[] = [
      ({ destinationOfFunds: _left, ...rest }) => rest,
      (answer) => ({ ...answer, destinationOfFunds: { reference: { serverCardId: merchant.cards.get('mine') } } }),
      (answer) => ({ ...answer, destinationOfFunds: { reference: { serverCardId: {} } } }),
    ]
    for (const lie of lies) {
      const one = begin({ to: { reference: { clientCardId: 'theirs' } } })
      merchant.lie = (path, answer) => (path.endsWith(`${one.invoiceId}/check`) ? { body: lie(answer) } : {})
      assert.deepEqual(sums(await app.ended(one)).slice(0, 2), ['DECLINED', 4003])
    }
    merchant.lie = undefined
  })
})

describe('what perform refuses', () => {
  const destination = (value: unknown) => (body: Json) => void (body['destinationOfFunds'] = value)
  // oxfmt-ignore
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [undefined,                                              /^destinationOfFunds\.card may not be empty$/],
    [{ card: {} },                                           /^destinationOfFunds\.card\.number may not be empty$/],
    [{ card: { number: '5555555555554445' } },               /^destinationOfFunds\.card\.number must/],
    [{ reference: {} },                                      /^destinationOfFunds\.reference\.clientCardId may not be empty$/],
    [{ reference: { clientCardId: 'x'.repeat(129) } },       /^destinationOfFunds\.reference\.clientCardId must/],
    [{ card: { number: '5555555555554444' }, reference: { clientCardId: 'x' } }, /^destinationOfFunds\.reference must be left out/],
  ]
  for (const [value, message] of cases)
    test(`destinationOfFunds ${JSON.stringify(value)?.slice(0, 60)}`, () =>
      app.refused(begin({ change: destination(value) }), 'INVALID_REQUEST', message))
  test('a transfer without a source or an amount', async () => {
    await app.refused(
      begin({ change: (body: Json) => void delete body['sourceOfFunds'] }),
      'INVALID_REQUEST',
      /sourceOfFunds\.card/,
    )
    const noAmount = (body: Json) => void delete (body['transaction'] as Json)['amountCentis']
    await app.refused(begin({ change: noAmount }), 'INVALID_REQUEST', /amountCentis may not be empty/)
  })
})

describe('with a fee that the consumer chooses', () => {
  async function listed(one: Begun): Promise<{ token: string; seen: Json }> {
    const token = await app.accepted(one)
    return { token, seen: await app.ended(one, token) }
  }

  test('it waits with the list, nothing is debited, and goes on at the chosen gate', async () => {
    const one = withFee()
    const { token, seen } = await listed(one)
    assert.equal(seen.state, 'TRANSFER_FEE_REQUEST')
    assert.deepEqual(seen.transferFeeList, [
      { assignedId: 'economy', commissionCentis: 60, currency: 'USD' },
      { assignedId: 'express', commissionCentis: 215, currency: 'USD' },
    ])
    const made = await database.query<{ order_id: string }>('select order_id from mobile_invoice where invoice_id = $1', [
      one.invoiceId,
    ])
    assert.deepEqual(await ledger(world, made.rows[0]!.order_id), [])
    const chosen = await app.complete(one, token, 'express')
    assert.deepEqual([chosen.status, chosen.body], [200, { invoiceId: one.invoiceId, session: { token } }])
    const end = await app.ended(one, token)
    assert.deepEqual(sums(end), ['APPROVED', undefined, 1_000, 215, 'USD'], JSON.stringify(end))
    assert.deepEqual(await books(end), ['credit approved 1000', 'debit approved 1215'])
    const gates = await database.query<{ name: string }>(
      'select distinct g.name from all_attempts a join gate g using (gate_id) where a.order_id = $1',
      [end.orderId],
    )
    assert.deepEqual(gates.rows, [{ name: 'express' }])
    assert.equal((await app.complete(one, token, 'express')).status, 200, 'the same again is answered alike')
    await refusedComplete(one, token, 'economy', /another fee was chosen/)
  })
  async function refusedComplete(one: Begun, token: string, assignedId: string, says: RegExp) {
    const { status, body } = await app.complete(one, token, assignedId)
    const error = body.error as Json
    assert.deepEqual([status, error['cause'], body.invoiceId], [400, 'INVALID_REQUEST', one.invoiceId], JSON.stringify(body))
    assert.match(String(error['message']), says)
  }
  test('Complete is refused for unlisted fees, for strangers, and where no fee is awaited', async () => {
    const one = withFee()
    const { token } = await listed(one)
    await refusedComplete(one, token, 'sandbox-acquirer', /not in the list/)
    await refusedComplete({ ...one, invoiceId: 'another' }, token, 'economy', /not known/)
    await refusedComplete({ ...one, accessToken: 'x'.repeat(64) }, token, 'economy', /not known/)
    await refusedComplete(one, 'x'.repeat(36), 'economy', /not known/)
    await refusedComplete({ ...one, endpoint: world.endpoints.plain }, token, 'economy', /not known/)
    await refusedComplete({ ...one, endpoint: 999_999 }, token, 'economy', /not known/)
    assert.match(
      JSON.stringify((await app.post(`transfer/${one.endpoint}/${one.invoiceId}/economy`, {})).body),
      /accessToken may not be empty/,
    )
    const plain = begin()
    const itsToken = await app.accepted(plain)
    await app.ended(plain, itsToken)
    await refusedComplete(plain, itsToken, 'sandbox-acquirer', /no fee is waited for/)
    const sale = app.begin('sale')
    await refusedComplete(sale, await app.accepted(sale), 'economy', /not known/)
    assert.equal((await app.ended(one, token)).state, 'TRANSFER_FEE_REQUEST', 'it still waits')
  })
  test('chosen twice at once, differently: one wins', async () => {
    for (let round = 0; round < 3; round++) {
      const one = withFee()
      const { token } = await listed(one)
      const ids = ['economy', 'express', 'economy', 'express', 'express', 'economy']
      const answers = await Promise.all(ids.map((id) => app.complete(one, token, id)))
      const won = ids.filter((_, i) => answers[i]!.status === 200)
      assert.equal(won.length, 3)
      assert.equal(new Set(won).size, 1)
      const end = await app.ended(one, token)
      assert.deepEqual(sums(end), ['APPROVED', undefined, 1_000, won[0] === 'economy' ? 60 : 215, 'USD'])
      assert.equal((await books(end)).length, 2)
    }
  })
  test('nobody chooses: after fifteen minutes it is declined, and nothing was debited', async () => {
    const one = withFee()
    const { token } = await listed(one)
    const { rows } = await database.query<Json>('select rests_until, created_at from mobile_invoice where invoice_id = $1', [
      one.invoiceId,
    ])
    const minutes = (Number(rows[0]!['rests_until']) - Number(rows[0]!['created_at'])) / 60_000
    assert.ok(minutes >= 15 && minutes < 17, `${minutes} minutes`)
    await database.query(`update mobile_invoice set rests_until = now() - interval '1 second' where invoice_id = $1`, [
      one.invoiceId,
    ])
    await refusedComplete(one, token, 'economy', /no fee is waited for/)
    await database.query(`update mobile_invoice set due_at = now() - interval '1 second' where invoice_id = $1`, [one.invoiceId])
    const its = () => app.status(one, token)
    const end = await until(its, ({ body }) => body.state === 'DECLINED')
    assert.deepEqual(sums(end.body), ['DECLINED', 4006, 1_000, 0, 'USD'])
    assert.deepEqual(await books(end.body), [])
    await refusedComplete(one, token, 'economy', /no fee is waited for/)
  })
  test('killed while the consumer chooses: the list is still there, and the choice counts', async () => {
    const one = withFee()
    const { token, seen } = await listed(one)
    await world.crash()
    assert.deepEqual((await app.ended(one, token)).transferFeeList, seen.transferFeeList)
    await app.complete(one, token, 'economy')
    assert.deepEqual(sums(await app.ended(one, token)), ['APPROVED', undefined, 1_000, 60, 'USD'])
  })
})

test('a random sum is asked for after the choice, and the page shows the debit', async () => {
  await database.query(
    `update endpoint set settings = settings || '{"randomSum": true, "merchantServerUrl": "${merchant.url}"}'
     where name = 'mobile_fee'`,
  )
  await database.query('update config_version set version = version + 1')
  const page = openSumPage(world, app, database)
  const chosen = async () => {
    const one = withFee()
    const token = await app.accepted(one)
    await app.ended(one, token)
    await app.complete(one, token, 'express')
    return { one, token, seen: await app.ended(one, token) }
  }
  const { one, token, seen } = await until(chosen, ({ seen: its }) => its.state === 'REDIRECT_REQUEST')
  const { sum_minor: minor } = await page.rowOf(one)
  const url = seen.redirectUrl as string
  assert.match(await page.page(url), /Transfer with Sandbox Shop[^]*12\.15/)
  await page.answer(url, (Number(minor) / 100).toFixed(2), 1)
  const its = () => app.status(one, token)
  const end = await until(its, ({ body }) => body.state === 'APPROVED')
  assert.deepEqual([...sums(end.body), end.body.randomSumAuthStatus], ['APPROVED', undefined, 1_000, 215, 'USD', 'AUTHENTICATED'])
  assert.deepEqual(await books(end.body), ['credit approved 1000', 'debit approved 1215'])
})
