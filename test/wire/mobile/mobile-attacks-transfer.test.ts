import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openFilters } from '../../conformance/requests/filters.ts'
import { walk } from '../../conformance/mobile/mobile-consumer.ts'
import { newCard } from '../../conformance/mobile/mobile-books.ts'
import { ledger } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { connectOwn } from '../../harness/postgres/own-rows.ts'
import { openApp, type Begun, type Json } from './mobile-app.ts'
import { testCard } from '../three-d-secure/three-d-secure-browser.ts'

/**
 * Transfers at the edges: sums, cards, filters, and a configuration that changes while the consumer
 * chooses. The consumer pays what the app showed, or nothing.
 */

const world = await openWorld()
const database = closing(await connectOwn(world))
const app = await openApp(world)
closing(app.merchant)

const most = 999_999_999_999
const begin = (wish: object = {}) => app.begin('transfer', wish)
const withFee = (wish: object = {}) => begin({ endpoint: world.endpoints.mobile_fee, amountCentis: 1_000, ...wish })
const books = async (seen: Json) => {
  const entries = await ledger(world, seen.orderId as string)
  return entries.map(({ kind, state, amountMinor, currency }) => [kind, state, amountMinor, currency].join(' ')).toSorted()
}
const outcomeOf = ({ state, errorCode }: Json) => [state, errorCode]

async function listed(one: Begun) {
  const token = await app.accepted(one)
  const seen = await app.ended(one, token)
  return { token, fees: ((seen.transferFeeList ?? []) as Json[]).map(({ assignedId }) => assignedId) }
}
async function completed(one: Begun, assignedId: string): Promise<Json> {
  const { token } = await listed(one)
  assert.equal((await app.complete(one, token, assignedId)).status, 200)
  return app.ended(one, token)
}
/** Changes the configuration, and waits until a new transfer is listed so. */
async function configured(sql: string, values: unknown[], fees: readonly string[]): Promise<void> {
  await database.query(sql, values)
  await database.query('update config_version set version = version + 1')
  const seen = await until(
    async () => (await listed(withFee())).fees,
    (now) => String(now) === String(fees),
  )
  assert.deepEqual(seen, fees)
}

describe('sums', () => {
  test('the least: the commission is above the amount, and both are what they were said to be', async () => {
    const seen = await completed(withFee({ amountCentis: 1 }), 'express')
    assert.deepEqual(outcomeOf(seen), ['APPROVED', undefined])
    assert.deepEqual(await books(seen), ['credit approved 1 840', 'debit approved 201 840'])
  })
  test('the largest moves as it is', async () => {
    const seen = await app.ended(begin({ amountCentis: most }))
    assert.deepEqual(outcomeOf(seen), ['APPROVED', undefined])
    assert.deepEqual(await books(seen), [`credit approved ${most} 840`, `debit approved ${most} 840`])
  })
  test('with a commission it is more than a message to the acquirer holds: declined, and nothing is booked', async () => {
    for (const amountCentis of [most, most - 1_000]) {
      const seen = await completed(withFee({ amountCentis }), 'economy')
      assert.deepEqual([outcomeOf(seen), await books(seen)], [['DECLINED', 909], []])
    }
  })
  for (const amountCentis of [most + 1, 2 ** 53, -0])
    test(`${JSON.stringify(amountCentis)}: refused`, async () => {
      const change = (body: Json) => void ((body['transaction'] as Json)['amountCentis'] = amountCentis)
      await app.refused(begin({ change }), 'INVALID_REQUEST', /amountCentis/)
    })
})

describe('cards', () => {
  test('from a card to itself: both legs, as from any to any other', async () => {
    const number = newCard()
    const seen = await app.ended(begin({ number, to: { card: { number } } }))
    assert.deepEqual(outcomeOf(seen), ['APPROVED', undefined])
    assert.deepEqual(await books(seen), ['credit approved 1050 840', 'debit approved 1050 840'])
  })
  test('a destination with blanks or other digits: refused', async () => {
    for (const number of ['5555 5555 5555 4444', ' 5555555555554444', '５５５５５５５５５５５５４４４４']) {
      const one = begin({ to: { card: { number } } })
      await app.refused(one, 'INVALID_REQUEST', /^destinationOfFunds\.card\.number must/)
    }
  })
  test('a source that a filter refuses debits nothing, by number and by reference, also when it was listed before', async () => {
    const number = newCard('411177')
    const mapped = app.begin('verification', { number })
    const token = await app.accepted(mapped)
    await app.ended(mapped, token)
    const { reference } = await app.notified('verification', token)
    app.merchant.cards.set('refused', String((reference as Json)['serverCardId']))
    const waiting = withFee({ number })
    const { token: itsToken } = await listed(waiting)
    await openFilters(world).add('black', '--of', 'bin', '--value', '411177')
    await app.complete(waiting, itsToken, 'economy')
    const ends = [
      await app.ended(waiting, itsToken),
      await app.ended(begin({ number })),
      await app.ended(begin({ reference: { clientCardId: 'refused' } })),
    ]
    for (const seen of ends) {
      assert.equal(seen.state, 'DECLINED')
      assert.match(String(seen.errorCode), /^3\d{3}$/)
      assert.deepEqual(await books(seen), [])
    }
  })
})

describe('while the consumer chooses', () => {
  const both = ['economy', 'express']
  const gate = (enabled: boolean, fees: readonly string[]) =>
    configured(`update gate set enabled = $1 where name = 'economy'`, [enabled], fees)

  test('the chosen gate is switched off: declined, and no other gate takes it', async () => {
    const [one, other] = [withFee(), withFee()]
    const [{ token }, { token: otherToken }] = [await listed(one), await listed(other)]
    await gate(false, ['express'])
    await app.complete(one, token, 'economy')
    const seen = await app.ended(one, token)
    assert.deepEqual([outcomeOf(seen), await books(seen)], [['DECLINED', 909], []])
    await app.complete(other, otherToken, 'express')
    assert.deepEqual(outcomeOf(await app.ended(other, otherToken)), ['APPROVED', undefined])
    await gate(true, both)
  })
  test('the chosen gate is removed from the endpoint: declined too', async () => {
    const one = withFee()
    const { token } = await listed(one)
    const { rows } = await database.query<{ gate_ids: string[] }>(`select gate_ids from endpoint where name = 'mobile_fee'`)
    const to = (ids: readonly string[], fees: readonly string[]) =>
      configured(`update endpoint set gate_ids = $1 where name = 'mobile_fee'`, [ids], fees)
    await to(rows[0]!.gate_ids.slice(1), ['express'])
    await app.complete(one, token, 'economy')
    const seen = await app.ended(one, token)
    assert.deepEqual([outcomeOf(seen), await books(seen)], [['DECLINED', 909], []])
    await to(rows[0]!.gate_ids, both)
  })
  test('the endpoint gets another currency: the agreed amount is debited, in its own currency', async () => {
    const one = withFee()
    const { token } = await listed(one)
    const currency = async (code: string, http: number) => {
      await database.query(`update endpoint set currency = $1 where name = 'mobile_fee'`, [code])
      await database.query('update config_version set version = version + 1')
      const answer = await until(
        () => app.perform(withFee()),
        ({ status }) => status === http,
      )
      assert.equal(answer.status, http)
    }
    await currency('JPY', 400)
    await app.complete(one, token, 'economy')
    const seen = await app.ended(one, token)
    assert.deepEqual(outcomeOf(seen), ['APPROVED', undefined])
    assert.deepEqual(await books(seen), ['credit approved 1000 840', 'debit approved 1060 840'])
    await currency('USD', 200)
  })
})

describe("the app's data of the consumer", () => {
  const said = async (ipAddresses: unknown) => {
    const change = (body: Json) => void ((body['consumer'] as Json)['ipAddresses'] = ipAddresses)
    const seen = await app.ended(app.begin('sale', { change }))
    const sql = `select request ->> 'ipAddress' as ip from order_facts where order_id = $1`
    const { rows } = await database.query<{ ip: string }>(sql, [seen.orderId])
    return rows[0]!.ip
  }
  test('filters skip texts that are no IP address: the next address counts, else that of the connection', async () => {
    assert.equal(await said(['203.0.113.9']), '203.0.113.9')
    assert.equal(await said(['anything', '999.9.9.9', '1.2.3.4/8', '203.0.113.9']), '203.0.113.9')
    assert.equal(await said(['anything', '<script>']), '127.0.0.1')
    assert.equal(await said([]), '127.0.0.1')
  })
  test('the longest allowed values, and an invalid address, do not prevent 3-D Secure', async () => {
    const long = (letter: string, n: number) => letter.repeat(n)
    const change = (body: Json) => {
      Object.assign(body['consumer'] as Json, { email: `${long('e', 120)}@x.example`.slice(-128), ipAddresses: ['no address'] })
      const address = {
        city: long('ç', 100),
        street: long('😀', 50),
        street2: long('s', 50),
        postcodeZip: long('9', 10),
        state: 'NYC',
        country: 'USA',
      }
      body['billing'] = { phone: long('1', 20), address }
    }
    const one = app.begin('sale', { endpoint: world.endpoints.secure, number: testCard('4', 2, 0), change })
    const token = await app.accepted(one)
    await walk(await app.ended(one, token))
    const { body } = await app.status(one, token)
    assert.deepEqual([body.state, body.secure3DAuthStatus], ['APPROVED', 'AUTHENTICATED'], JSON.stringify(body))
  })
})
