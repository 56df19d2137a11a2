import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  accepted,
  encodePairs,
  newOrderId,
  order,
  readReply,
  send,
  settled,
  sha1,
  type Fields,
  type Order,
} from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { booksAgree, ended, follow } from '../../harness/world/follow.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** A recurrent payment approved at a later amount of its list moves that amount ever after. */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))

async function post(operation: string, fields: Fields): Promise<Fields> {
  const url = `${world.baseUrl}/api/v2/${operation}/${world.endpoints.plain}`
  return readReply(await send('POST', url, encodePairs(Object.entries(fields))))
}

type Payment = 'make-rebill-sale' | 'make-rebill-preauth'

/** A payment of 10.00 with a list, of which the acquirer declines 10.00. */
async function paid(operation: Payment, enumerate_amounts: string, code = '116'): Promise<{ made: Order; seen: Fields }> {
  const made = accepted(await asked(operation, enumerate_amounts, code))
  return { made, seen: await settled(world, made) }
}

async function asked(operation: Payment, enumerate_amounts: string, code = '116'): Promise<Fields> {
  const { login, controlKey } = world.merchant
  const first = await order(world)
  await settled(world, first)
  const { client_orderid: of, orderid } = first
  const reference = await post('create-card-ref', {
    login,
    client_orderid: of,
    orderid,
    control: sha1(login, of, orderid, controlKey),
  })
  const cardrefid = reference['card-ref-id']!
  await desk.script({ amount_minor: '1000', times: 1 }, { decline: code })
  const client_orderid = newOrderId()
  const control = sha1(login, client_orderid, cardrefid, '1000', 'USD', controlKey)
  const ask = {
    login,
    client_orderid,
    cardrefid,
    order_desc: 'again',
    amount: '10.00',
    enumerate_amounts,
    currency: 'USD',
    ipaddress: '203.0.113.7',
  }
  return post(operation, { ...ask, control })
}

async function approvedAtFive(operation: Payment): Promise<Order> {
  const { made, seen } = await paid(operation, '10.00,5.00')
  assert.deepEqual([seen.status, seen.amount, seen['initial-amount']], ['approved', '5.00', '10.00'])
  return made
}

for (const [operation, payment] of [
  ['capture', 'make-rebill-preauth'],
  ['return', 'make-rebill-sale'],
  ['void', 'make-rebill-sale'],
  ['return', 'make-rebill-preauth'],
] as const)
  test(`${operation} after ${payment} is of the amount that was approved`, async () => {
    const made = await approvedAtFive(payment)
    const { status } = await ended(world, made, accepted(await follow(world, operation, made)).serial)
    assert.equal(status, 'approved')
    const second = 'select amount_minor::text as amount from all_transactions where order_id = $1 and transaction_no = 2'
    assert.deepEqual(await desk.rows(second, [made.orderid]), [{ amount: '500' }])
  })

test('signed with an amount that is not sent, the amount is the requested or the approved one', async () => {
  const { login, controlKey } = world.merchant
  for (const minor of ['1000', '500']) {
    const { client_orderid, orderid } = await approvedAtFive('make-rebill-sale')
    const signedOver = (sum: string) =>
      post('return', { login, client_orderid, orderid, control: sha1(login, client_orderid, orderid, sum, 'USD', controlKey) })
    assert.equal((await signedOver('499'))['error-code'], '2')
    accepted(await signedOver(minor))
  }
})

for (const [code, ends] of [
  ['101', false],
  ['200', false],
  ['208', true],
  ['209', true],
] as const)
  test(`the decline ${code} ${ends ? 'ends the list' : 'goes on with the next amount'}`, async () => {
    const { seen } = await paid('make-rebill-sale', '10.00,5.00', code)
    assert.deepEqual([seen.status, seen.amount], ends ? ['declined', '10.00'] : ['approved', '5.00'])
  })

test('an amount above the signed one is refused until the endpoint allows it, then captured and returned', async () => {
  const above = () => asked('make-rebill-preauth', '10.00,20.00')
  assert.equal((await above())['error-code'], '3')
  await desk.rows(`update endpoint set settings = settings || '{"amountsAboveSigned": true}' where endpoint_id = $1`, [
    String(world.endpoints.plain),
  ])
  await desk.rows('update config_version set version = version + 1')
  const made = accepted(await until(above, ({ type }) => type === 'async-response'))
  const seen = await settled(world, made)
  assert.deepEqual([seen.status, seen.amount, seen['initial-amount']], ['approved', '20.00', '10.00'])
  for (const operation of ['capture', 'return'] as const) {
    const { status } = await ended(world, made, accepted(await follow(world, operation, made, { amount: '20.00' })).serial)
    assert.equal(status, 'approved')
  }
  const [row] = await desk.rows('select captured_minor::text, returned_minor::text from orders where order_id = $1', [
    made.orderid,
  ])
  assert.deepEqual(row, { captured_minor: '2000', returned_minor: '2000' })
})

test('the books are equal both ways', async () => {
  await booksAgree(desk)
  const standing = (await desk.entries()).filter(({ state }) => state === 'approved').map(({ amountMinor }) => amountMinor)
  const ofLists = standing.filter((amount) => amount !== '1050').sort()
  assert.deepEqual(ofLists, [...Array<string>(3).fill('2000'), ...Array<string>(10).fill('500')])
})
