import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { callbackControl, order, notEmpty, type Fields } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { newEmail, openFilters } from '../requests/filters.ts'
import { ok, textAt, type Json, type Kind } from './mobile-merchant.ts'
import { begin, cardAt, ends, openMobile, orderOf, rested } from './mobile.ts'

/** What mobile orders share with others: callback, filters, surviving a kill. Choices.md 8. */

const shop = closing(await openReceiver(() => 200))
const world = await openWorld()
const { tell } = cliOf(() => world)
await tell(['endpoint', 'set', String(world.endpoints.plain), '--callback-url', `${shop.origin}/own?x=1`])
const mobile = await openMobile(world)
closing(mobile.shop)
await until(
  () => ends(mobile, 'APPROVED', 'sale'),
  () => shop.calls('/own').length > 0,
)

const kinds: Kind[] = ['verification', 'sale', 'transfer']

async function callback(told: Json): Promise<Fields> {
  const orderid = orderOf(told)
  const calls = () => shop.calls('/own').filter(({ query }) => query.get('orderid') === orderid)
  const seen = await until(calls, ({ length }) => length > 0)
  assert.equal(seen.length, 1, `a callback of order ${orderid}`)
  const fields = Object.fromEntries(seen[0]!.query)
  const { status = '', client_orderid = '', control } = fields
  assert.equal(control, callbackControl(status, orderid, client_orderid, world.merchant.controlKey))
  return fields
}

describe('the endpoint’s ordinary callback is sent too', { concurrency: 4 }, () => {
  it('an approved sale', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'sale')
    const { status, type, amount, currency, email, bin } = await callback(told)
    assert.deepEqual(
      [status, type, amount, currency, email, bin],
      ['approved', 'sale', '10.50', 'USD', 'ada@example.com', '411111'],
    )
  })
  it('an approved verification', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'verification')
    const { status, type } = await callback(told)
    assert.deepEqual([status, type], ['approved', 'account-verification'])
  })
  for (const kind of kinds) {
    it(`${kind}: a decline`, async () => {
      const { told } = await ends(mobile, 'DECLINED', kind, { [`${cardAt(kind)}.securityCode`]: '116' })
      const { status, error_code } = await callback(told)
      assert.deepEqual([status, error_code], ['declined', '116'])
    })
  }
})

describe('filters hold here too', () => {
  for (const kind of kinds) {
    it(`${kind}: a filtered order reads DECLINED with errorCode`, async () => {
      const email = newEmail()
      await openFilters(world).add('black', '--of', 'email', '--value', email)
      const { told } = await ends(mobile, 'DECLINED', kind, { 'consumer.email': email })
      assert.ok(Number(told.errorCode) >= 3000 && Number(told.errorCode) < 4000, JSON.stringify(told))
      assert.ok(textAt(told, 'bankOrderId'))
    })
  }
})

describe('the service killed', () => {
  it('while the merchant’s server is asked: it is asked again, and the transaction goes on, once', async () => {
    let dead = false
    const made = await begin(mobile, 'sale', {}, { check: (honest) => (dead ? ok(honest) : 'hang') })
    await until(() => mobile.shop.checks(made.invoiceId), notEmpty)
    await world.crash(() => {
      dead = true
      return Promise.resolve()
    })
    const told = await rested(mobile, made, [], 90_000)
    assert.equal(told.state, 'APPROVED', JSON.stringify(told))
    await order(world)
  })
})

it('a limit by e-mail address counts those who give one', async () => {
  const email = newEmail()
  await openFilters(world).add('velocity', '--per', 'email', '--limit', '1', '--within', '1h')
  const sale = (state: string, by: string | undefined) => ends(mobile, state, 'sale', { 'consumer.email': by })
  await sale('APPROVED', email)
  await sale('DECLINED', email)
  for (let times = 0; times < 3; times += 1) await sale('APPROVED', undefined)
})
