import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { rebill, rebillOrder, registered, type RebillWay } from './card.ts'
import {
  accepted,
  invalid,
  ledger,
  refused,
  reversalsAfter,
  settled,
  notEmpty,
  untilStatus,
  type Changes,
  type Fields,
  type Order,
} from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'

/** enumerate_amounts, tried in order. Without a CVV2 the sandbox approves up to 1,000.00. */

const shop = closing(await openReceiver(() => 200))
const world = await openWorld()
const ref = (await registered(world)).ref

/** What the acquirer saw of an order, in the order in which it came. */
async function tries({ orderid }: Order): Promise<string[]> {
  const entries = await ledger(world, orderid)
  const inOrder = entries.toSorted((one, other) => Number(one.stan) - Number(other.stan))
  return inOrder.map((entry) => `${entry.kind} ${entry.amountMinor} ${entry.state}`)
}

async function ended(amount: string, enumerate_amounts: string, changes: Changes = {}, way: RebillWay = {}) {
  const made = await rebillOrder(world, ref, { amount, enumerate_amounts, ...changes }, way)
  return { made, seen: await settled(world, made, way), tried: await tries(made) }
}

const brief = (seen: Fields) => [seen.status, seen.amount, seen['initial-amount'], seen['error-code']]

describe('each entry is tried in turn until one is approved', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, string, string, string[]][] = [
    // amount  enumerate_amounts       approved   at the acquirer
    ['5000',   '3000,2000.5,900',      '900',     ['sale 300000 declined', 'sale 200050 declined', 'sale 90000 approved']],
    ['5000',   '900,800',              '900',     ['sale 90000 approved']],
    ['5000',   '2000,900.50,800,700',  '900.50',  ['sale 200000 declined', 'sale 90050 approved']],
    ['10',     '1,5,10',               '1',       ['sale 100 approved']],
    ['10',     '10',                   '10',      ['sale 1000 approved']],
    ['10.00',  '10',                   '10',      ['sale 1000 approved']],
    ['1001',   '1001.00,1000.00',      '1000.00', ['sale 100100 declined', 'sale 100000 approved']],
    ['10.50',  '3.3',                  '3.3',     ['sale 330 approved']],
    ['1000',   '0.57,0.94',            '0.57',    ['sale 57 approved']],
  ]
  for (const [amount, list, approved, expected] of cases) {
    it(`${list} of ${amount}: approved ${approved}, initial-amount stays`, async () => {
      const { seen, tried } = await ended(amount, list)
      assert.deepEqual(tried, expected)
      assert.deepEqual(brief(seen), ['approved', approved, amount, undefined])
    })
  }
  it('the amount itself is not tried, though it would be approved', async () => {
    const { tried } = await ended('50', '20,10', { cvv2: '116' })
    assert.deepEqual(tried, ['sale 2000 declined', 'sale 1000 declined'])
  })
  it('no entry approved: declined with the reason of the last, initial-amount stays', async () => {
    const { seen, tried } = await ended('5000', '4000,3000,2000')
    assert.deepEqual(tried, ['sale 400000 declined', 'sale 300000 declined', 'sale 200000 declined'])
    assert.deepEqual([seen.status, seen['initial-amount'], seen['error-code']], ['declined', '5000', '116'])
    assert.ok(seen['error-message'])
  })
  it('a preauth, the alias, a group, and a currency without hundredths', async () => {
    const preauth = await ended('5000', '3000,900', {}, { operation: 'make-rebill-preauth' })
    assert.deepEqual(preauth.tried, ['preauth 300000 declined', 'preauth 90000 approved'])
    assert.deepEqual(brief(preauth.seen), ['approved', '900', '5000', undefined])
    const path = `group/${world.groups.multi}`
    const alias = await ended('5000', '3000,900', { currency: 'EUR' }, { operation: 'make-rebill', path })
    assert.deepEqual(brief(alias.seen), ['approved', '900', '5000', undefined])
    const yen = await ended('500', '300,200', { currency: 'JPY', cvv2: '123' }, { path: world.endpoints.yen })
    assert.deepEqual(yen.tried, ['sale 300 approved'])
  })
  it('the callback names the approved entry, once, and nothing before the end', async () => {
    const server_callback_url = `${shop.origin}/approved`
    const { made } = await ended('5000', '3000,2000,900', { server_callback_url })
    const [call, ...more] = await until(() => shop.calls('/approved'), notEmpty)
    assert.deepEqual(more, [])
    assert.deepEqual(
      ['status', 'amount', 'orderid', 'type'].map((name) => call?.query.get(name)),
      ['approved', '900', made.orderid, 'sale'],
    )
  })
  it('the callback of a list that was declined comes once', async () => {
    const server_callback_url = `${shop.origin}/declined`
    await ended('5000', '3000,2000', { server_callback_url })
    const [call] = await until(() => shop.calls('/declined'), notEmpty)
    assert.deepEqual([call?.query.get('status'), call?.query.get('error_code')], ['declined', '116'])
    assert.equal(shop.calls('/declined').length, 1)
  })
  it('20 simultaneous repeats try each entry once', async () => {
    const client_orderid = `many-${ref}`
    const changes = { client_orderid, amount: '5000', enumerate_amounts: '3000,900' }
    const replies = await Promise.all(Array.from({ length: 20 }, () => rebill(world, ref, changes)))
    const made = replies.map(accepted)
    assert.equal(new Set(made.map(({ orderid }) => orderid)).size, 1)
    const [one] = made
    assert.ok(one)
    await settled(world, one)
    assert.deepEqual(await tries(one), ['sale 300000 declined', 'sale 90000 approved'])
  })
})

describe('some answers end the list', { concurrency: 4 }, () => {
  it('a stolen card: no further entry is tried', async () => {
    const { seen, tried } = await ended('50', '40,30,20', { cvv2: '209' })
    assert.deepEqual(tried, ['sale 4000 declined'])
    assert.deepEqual([seen.status, seen['error-code'], seen['initial-amount']], ['declined', '209', '50'])
  })
  for (const cvv2 of ['116', '119', '555']) {
    it(`CVV2 ${cvv2}, an ordinary decline: every entry is tried`, async () => {
      assert.equal((await ended('50', '40,30,20', { cvv2 })).tried.length, 3)
    })
  }
  it(
    'no answer: the order is unknown and no further entry is tried, not even when it has ended',
    { timeout: 300_000 },
    async () => {
      await reversalsAfter(world, 2_000)
      const made = await rebillOrder(world, ref, { amount: '50', enumerate_amounts: '40,30,20', cvv2: '217' })
      const seen = await untilStatus(world, made, ({ status }) => status === 'unknown')
      assert.equal(seen.status, 'unknown')
      const final = await untilStatus(world, made, ({ status }) => status !== 'unknown', 180_000)
      assert.deepEqual([final.status, final['error-code'], final['initial-amount']], ['error', '911', '50'])
      const amounts = (await ledger(world, made.orderid)).map((entry) => entry.amountMinor)
      assert.deepEqual([...new Set(amounts)], ['4000'])
    },
  )
})

describe('the form of a list', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const refusedLists: [string, string][] = [
    ['an entry twice', '5,5'], ['an amount twice in two spellings', '5,4,5.00'], ['an entry above amount', '5,10.51'], ['the first above amount', '11,5'],
    ['no amount', 'five'], ['an empty entry', '5,,4'], ['a comma at the end', '5,'], ['a comma in front', ',5'], ['a comma alone', ','], ['another separator', '5;4'],
    ['zero', '5,0'], ['zero in cents', '0.00'], ['a negative entry', '-5'], ['a sign', '+5'], ['too many decimals', '5.001'], ['an exponent', '1e1'],
    ['no digit before the point', '.5'], ['no digit after it', '5.'], ['an entry of eleven characters', '5.000000000'],
  ]
  for (const [what, enumerate_amounts] of refusedLists) {
    it(`${what}, ${enumerate_amounts}: enumerate_amounts is invalid`, async () => {
      for (const operation of ['make-rebill-sale', 'make-rebill-preauth', 'make-rebill'] as const)
        refused(await rebill(world, ref, { enumerate_amounts }, { operation }), 3, invalid('enumerate_amounts'))
    })
  }
  it('hundredths of a yen: invalid', async () => {
    const changes = { amount: '100', currency: 'JPY', enumerate_amounts: '50.5' }
    refused(await rebill(world, ref, changes, { path: world.endpoints.yen }), 3, invalid('enumerate_amounts'))
  })
  it('128 characters are taken, 129 are not', async () => {
    const many = Array.from({ length: 25 }, (_, at) => (1 + (at + 1) / 100).toFixed(2)).join(',')
    assert.equal(`${many},100`.length, 128)
    accepted(await rebill(world, ref, { amount: '2000', enumerate_amounts: `${many},100` }))
    refused(await rebill(world, ref, { amount: '2000', enumerate_amounts: `${many},1000` }), 3, invalid('enumerate_amounts'))
  })
  it('an empty list counts as absent: the amount is charged', async () => {
    const { seen, tried } = await ended('10.50', ' ')
    assert.deepEqual(tried, ['sale 1050 approved'])
    assert.deepEqual(brief(seen), ['approved', '10.50', '10.50', undefined])
  })
  it('with an unreadable currency the refusal names the currency', async () => {
    const changes = { currency: 'usd', enumerate_amounts: '10,5' }
    refused(await rebill(world, ref, { ...changes, control: 'x' }), 3, invalid('currency'))
  })
  it('a bad list is refused before a wrong control', async () => {
    refused(await rebill(world, ref, { enumerate_amounts: '5,5', control: 'x' }), 3, invalid('enumerate_amounts'))
  })
})
