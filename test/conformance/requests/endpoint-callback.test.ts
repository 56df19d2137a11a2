import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { configurationRead } from '../../harness/world/configuration.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { callbackControl, order, settled, type Changes, type Fields, type Order, type Way } from './client.ts'
import { until } from '../../harness/clock/until.ts'
import { approved, followed, part } from '../operations/operations.ts'

/** The endpoint's own URL receives every outcome, without any URL in the request: choices.md 6. */

const shop = closing(await openReceiver(() => 200))
const world = await openWorld()
const url = `${shop.origin}/own?shop=7`
await cliOf(() => world).tell(['endpoint', 'set', String(world.endpoints.plain), '--callback-url', url])
await configurationRead(world)

const of = (path: string, { orderid }: Order): Fields[] =>
  shop
    .calls(path)
    .filter(({ query }) => query.get('orderid') === orderid)
    .map(({ query }) => Object.fromEntries(query))

/** The callbacks about an order at a path, once there are so many. */
async function told(path: string, made: Order, count: number): Promise<Fields[]> {
  const seen = await until(
    () => of(path, made),
    ({ length }) => length >= count,
  )
  assert.equal(seen.length, count, `${count} calls of ${path}`)
  for (const { status = '', control } of seen)
    assert.equal(control, callbackControl(status, made.orderid, made.client_orderid, world.merchant.controlKey))
  return seen
}
const outline = ({ type, status, amount, shop: own }: Fields): string => [type, status, amount, own].join(' ')

describe('the endpoint’s own URL', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const outcomes: [string, Changes, string][] = [
    ['approved', {},                                     'sale approved 10.50 7'],
    ['declined', { cvv2: '116' },                        'sale declined 10.50 7'],
    ['expired',  { expire_month: '1', expire_year: '2020' }, 'sale declined 10.50 7'],
  ]
  for (const [what, changes, line] of outcomes) {
    it(`${what}: called, and its own query is kept`, async () => {
      const made = await order(world, changes)
      await settled(world, made)
      assert.deepEqual((await told('/own', made, 1)).map(outline), [line])
    })
  }
  it('besides server_callback_url and notify_url, the same pairs', async () => {
    const made = await order(world, { server_callback_url: `${shop.origin}/server`, notify_url: `${shop.origin}/notify` })
    await settled(world, made)
    const { shop: _own, ...fields } = (await told('/own', made, 1))[0] ?? {}
    for (const path of ['/server', '/notify']) assert.deepEqual(await told(path, made, 1), [fields])
  })
  it('captures and returns too', async () => {
    // Each before the next is asked for: callbacks of one order do not wait for each other.
    const made = await approved(world, 'preauth')
    await told('/own', made, 1)
    await followed(world, 'capture', made, part('3.00'))
    await told('/own', made, 2)
    await followed(world, 'return', made, part('1.00'))
    const lines = (await told('/own', made, 3)).map(outline)
    assert.deepEqual(lines, ['preauth approved 10.50 7', 'capture approved 3.00 7', 'reversal approved 1.00 7'])
  })
  it('a sale of a group, which leads to the endpoint', async () => {
    const made = await order(world, {}, { path: `group/${world.groups.multi}` })
    await settled(world, made)
    assert.deepEqual((await told('/own', made, 1)).map(outline), ['sale approved 10.50 7'])
  })
  it('it is not called for orders of other endpoints and merchants', async () => {
    const theirs: Way = { as: world.other, path: world.other.endpoint }
    const euro: Way = { path: world.endpoints.euro }
    const foreign = await order(world, { server_callback_url: `${shop.origin}/foreign` }, theirs)
    const mine = await order(world, { currency: 'EUR', server_callback_url: `${shop.origin}/euro` }, euro)
    await until(
      () => [...of('/foreign', foreign), ...of('/euro', mine)],
      ({ length }) => length >= 2,
    )
    assert.deepEqual([of('/foreign', foreign).length, of('/euro', mine).length], [1, 1])
    // Later callbacks there come when theirs would have come.
    await told('/own', await order(world), 1)
    assert.deepEqual([of('/own', foreign), of('/own', mine)], [[], []])
  })
})
