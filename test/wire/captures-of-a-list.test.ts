import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  accepted,
  encodePairs,
  newOrderId,
  order,
  readReply,
  send,
  settled,
  sha1,
  until,
  type Fields,
  type Order,
} from '../conformance/client.ts'
import { openFaultDesk, type FaultDesk } from '../harness/fault-desk.ts'
import { ended, follow, openWork } from '../harness/follow.ts'
import { startWorld, type World } from '../harness/world.ts'

/** A recurrent payment that was approved at a later amount of its list: captured, returned and released is that amount. */

let world: World
let desk: FaultDesk

before(async () => {
  world = await startWorld()
  desk = await openFaultDesk(world)
})
after(async () => {
  await desk?.close()
  await world?.stop()
})

async function post(operation: string, fields: Fields): Promise<Fields> {
  const url = `${world.baseUrl}/api/v2/${operation}/${world.endpoints.plain}`
  return readReply(await send('POST', url, encodePairs(Object.entries(fields))))
}

/** 10.00 is declined, 5.00 approved. */
async function approvedAtFive(operation: 'make-rebill-sale' | 'make-rebill-preauth'): Promise<Order> {
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
  await desk.script({ amount_minor: '1000', times: 1 }, { decline: '116' })
  const client_orderid = newOrderId()
  const control = sha1(login, client_orderid, cardrefid, '1000', 'USD', controlKey)
  const ask = {
    login,
    client_orderid,
    cardrefid,
    order_desc: 'again',
    amount: '10.00',
    enumerate_amounts: '10.00,5.00',
    currency: 'USD',
    ipaddress: '203.0.113.7',
  }
  const made = accepted(await post(operation, { ...ask, control }))
  const seen = await settled(world, made)
  assert.deepEqual([seen.status, seen.amount, seen['initial-amount']], ['approved', '5.00', '10.00'])
  return made
}

for (const [operation, payment] of [
  ['capture', 'make-rebill-preauth'],
  ['return', 'make-rebill-sale'],
  ['void', 'make-rebill-sale'],
  ['return', 'make-rebill-preauth'],
] as const)
  // oxfmt-ignore
  test(`${operation} after ${payment} is of the amount that was approved`, async () => {
    const made = await approvedAtFive(payment)
    const { status } = await ended(world, made, accepted(await follow(world, operation, made)).serial)
    assert.equal(status, 'approved')
    const [row] = await desk.rows('select amount_minor::text as amount from transaction where order_id = $1 and transaction_no = 2', [made.orderid])
    assert.deepEqual(row, { amount: '500' })
  })

test('the books are equal both ways', async () => {
  assert.deepEqual(await until(() => openWork(desk), (open) => open.length === 0), []) // oxfmt-ignore
  const standing = (await desk.entries()).filter(({ state }) => state === 'approved').map(({ amountMinor }) => amountMinor)
  assert.deepEqual(standing.filter((amount) => amount !== '1050').sort(), ['500', '500', '500', '500'])
})
