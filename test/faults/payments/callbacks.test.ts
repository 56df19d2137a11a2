import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { order, refused, sale, untilStatus, type Changes, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { followed } from '../../conformance/operations/operations.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver, type Behaviour, type Call } from '../../harness/world/receiver.ts'
import { startServe, type GatewayProcess } from '../../harness/world/serve.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import type { World } from '../../harness/world/world.ts'

/** Merchants' servers that fail in every way, and targets that no callback may reach. */

function behave(path: string, earlier: number): Behaviour {
  if (path.startsWith('/redirects')) return earlier === 0 ? { redirect: '/elsewhere' } : 200
  if (path.startsWith('/endless')) return 'endless'
  if (path.startsWith('/hangs')) return earlier === 0 ? 'hang' : 200
  return 200
}

const merchant = closing(await openReceiver(behave))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))

async function approved(url: string, changes: Changes = {}, at: World = world): Promise<Order> {
  const sold = await order(at, { server_callback_url: url, ...changes })
  const seen = await untilStatus(at, sold, ({ status }) => status !== 'processing')
  assert.equal(seen.status, 'approved')
  return sold
}

interface Noted {
  try_no: number
  http_status: number | null
  failure: string | null
}
const noted = ({ orderid }: Order): Promise<Noted[]> =>
  desk.rows<Noted>('select try_no, http_status, failure from all_tries where order_id = $1 order by try_no', [orderid])
const notedWithin = (sold: Order, count: number, withinMs = 120_000): Promise<Noted[]> =>
  until(
    () => noted(sold),
    (all) => all.length >= count,
    withinMs,
  )
async function calls(path: string, count: number): Promise<Call[]> {
  const seen = await until(
    () => merchant.calls(path),
    (all) => all.length >= count,
    120_000,
  )
  assert.equal(seen.length, count)
  return seen
}

describe('a call not answered with 200 is tried again after some seconds', { concurrency: 8 }, () => {
  // oxfmt-ignore
  const failures: readonly [string, string, number | null, RegExp | null][] = [
    ['a redirect, which is not followed',      '/redirects',  302,  null],
    ['no answer in 10 s',                      '/hangs',      null, /^timeout: /],
  ]
  for (const [what, path, httpStatus, failure] of failures)
    test(what, async () => {
      const sold = await approved(`${merchant.origin}${path}?own=1`)
      const [first, second] = await calls(path, 2)
      assert.deepEqual([...first!.query], [...second!.query], 'the same message')
      const [tried, again] = await notedWithin(sold, 2)
      assert.deepEqual([tried!.try_no, tried!.http_status, again!.http_status], [1, httpStatus, 200])
      if (failure) assert.match(tried!.failure ?? '', failure)
      const gapMs = second!.at - first!.at
      assert.ok(gapMs > 4_000 && gapMs < 120_000, `${gapMs} ms`)
    })

  test('an answer that never ends is read up to its limit, and is an answer', async () => {
    const sold = await approved(`${merchant.origin}/endless`)
    const [tried] = await notedWithin(sold, 1)
    assert.deepEqual(tried, { try_no: 1, http_status: 200, failure: null })
    assert.equal(merchant.calls('/endless').length, 1)
  })

  test('a TLS handshake that fails is no delivery', async () => {
    const sold = await approved(`${merchant.origin.replace('http:', 'https:')}/tls`)
    const [tried] = await notedWithin(sold, 1)
    assert.match(tried!.failure ?? '', /^tls: /)
    const [row] = await desk.rows<{ state: string }>('select state from delivery where order_id = $1', [sold.orderid])
    assert.equal(row!.state, 'due')
  })
})

test('a newer message of an order waits for the first try of the older one, and for no later one', async () => {
  const path = '/hangs-newer'
  const sold = await approved(`${merchant.origin}/told`, { notify_url: `${merchant.origin}${path}` })
  await followed(world, 'return', sold)
  const [first, second] = await until(
    () => merchant.calls(path),
    ({ length }) => length > 1,
    120_000,
  )
  assert.deepEqual([first?.query.get('type'), second?.query.get('type')], ['sale', 'reversal'])
  const gapMs = second!.at - first!.at
  // Less by what this process took to note the first.
  assert.ok(gapMs > 5_000, `the first hangs for 10 s, the second came after ${gapMs} ms`)
})

test('no redirect was followed', () => assert.deepEqual(merchant.calls('/elsewhere'), []))

describe('in production no callback reaches this machine or its networks', () => {
  let production: GatewayProcess
  before(async () => {
    production = await startServe(world)
  })
  after(() => production?.stop())

  // oxfmt-ignore
  const atTheRequest = [
    'http://127.0.0.1:9/', 'https://127.0.0.1:9/', 'https://user:word@shop.example/',
    'ftp://shop.example/', 'https://shop.example:22/',
  ]
  for (const url of atTheRequest)
    test(`${url} is refused at the request`, async () => refused(await sale(production.world, { server_callback_url: url }), 3))

  // Checked when connecting, however it is spelled and whatever a name resolves to.
  // oxfmt-ignore
  const atConnection = [
    'https://127.0.0.1/', 'https://localhost/', 'https://shop.localhost/', 'https://2130706433/', 'https://0x7f.1/', 'https://0177.0.0.1/', 'https://[::1]/',
    'https://[::ffff:127.0.0.1]/', 'https://[64:ff9b::7f00:1]/', 'https://[2002:7f00:1::]/', 'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/', 'https://192.168.1.1:8443/', 'https://0.0.0.0/', 'https://[fe80::1]/', 'https://[fd00:ec2::254]/', 'http://127.0.0.1:8080/',
  ]
  test('other spellings of it are refused at the latest when they are connected to', async () => {
    for (const url of atConnection) {
      const reply = await sale(production.world, { server_callback_url: url })
      if (reply.type === 'validation-error') {
        refused(reply, 3)
        continue
      }
      const sold = { orderid: reply['gateway-order-id']!, client_orderid: reply['merchant-order-id']!, serial: '' }
      const [tried] = await notedWithin(sold, 1)
      assert.equal(tried?.http_status, null, url)
      assert.match(tried?.failure ?? '', /^refused (address|url): /, url)
    }
  })
})
