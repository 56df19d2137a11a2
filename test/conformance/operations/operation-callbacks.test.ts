import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { accepted, callbackControl, settled, statusOf, type Changes, type Fields, type Order } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { approved, begin, follow, followed, part, type FollowUp, type Initial } from './operations.ts'

/** notify_url receives all callbacks; server_callback_url only the order's own outcome. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
// So that an answer may be late, and is no lost one.
await desk.gate({ answerTimeoutMs: 60_000 })

let paths = 0
interface Told extends Order {
  notify: string
  server: string
}

/** An approved order, whose merchant was notified at two paths of its own. */
async function told(operation: Initial, changes: Changes = {}): Promise<Told> {
  const [notify, server] = [`/notify/${(paths += 1)}`, `/server/${paths}`]
  const urls = { notify_url: `${merchant.origin}${notify}?shop=7`, server_callback_url: `${merchant.origin}${server}` }
  const made = { ...(await approved(world, operation, { ...urls, ...changes })), notify, server }
  await calls(made, notify, 1)
  return made
}

/** Follows up and waits for this many calls. Calls of one order do not wait for each other. */
async function thenTold(operation: FollowUp, made: Told, changes: Changes, count: number) {
  const followedUp = await followed(world, operation, made, changes)
  await calls(made, made.notify, count)
  return followedUp
}

/** The calls of a path, so many of them; each with its control checked. */
async function calls(made: Told, path: string, count: number): Promise<Fields[]> {
  const seen = await until(
    () => merchant.calls(path),
    (all) => all.length >= count,
  )
  assert.equal(seen.length, count, `${count} calls of ${path}`)
  return seen.map(({ method, query }) => {
    assert.equal(method, 'GET')
    const fields = Object.fromEntries(query)
    const { status = '' } = fields
    assert.equal(fields.control, callbackControl(status, made.orderid, made.client_orderid, world.merchant.controlKey))
    assert.deepEqual(
      [fields.orderid, fields.client_orderid, fields.merchant_order],
      [made.orderid, made.client_orderid, made.client_orderid],
    )
    return fields
  })
}

const outline = (fields: Fields): string =>
  [fields.type, fields.status, Number(fields.amount).toFixed(2), fields.currency].join(' ')

describe('notify_url gets each transaction with type and amount, server_callback_url only the first', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, Initial, [FollowUp, Changes][], string[]][] = [
    // what                                    begins                  follows                                                       types and amounts
    ['a preauth',                              'preauth',              [],                                                           ['preauth approved 10.50 USD']],
    ['an account verification',                'account-verification', [],                                                           ['account-verification approved 0.00 USD']],
    ['captures of a part and of the rest',     'preauth',              [['capture', part('3.00')], ['capture', {}]],                 ['preauth approved 10.50 USD', 'capture approved 3.00 USD', 'capture approved 7.50 USD']],
    ['returns of a part and of the rest',      'sale',                 [['return', part('3.00')], ['return', {}]],                   ['sale approved 10.50 USD', 'reversal approved 3.00 USD', 'reversal approved 7.50 USD']],
    ['a return of a preauth not captured',     'preauth',              [['return', {}]],                                             ['preauth approved 10.50 USD', 'cancel approved 10.50 USD']],
    ['a void of a preauth',                    'preauth',              [['void', {}]],                                               ['preauth approved 10.50 USD', 'void approved 10.50 USD']],
    ['a void of a sale',                       'sale',                 [['void', {}]],                                               ['sale approved 10.50 USD', 'void approved 10.50 USD']],
    ['a return of what was captured',          'preauth',              [['capture', part('4')], ['return', part('1.5')]],            ['preauth approved 10.50 USD', 'capture approved 4.00 USD', 'reversal approved 1.50 USD']],
  ]
  for (const [what, begins, follows, outlines] of cases) {
    it(`${what}: ${outlines.at(-1)}`, async () => {
      const made = await told(begins)
      for (const [at, [operation, changes]] of follows.entries()) await thenTold(operation, made, changes, at + 2)
      const notified = await calls(made, made.notify, outlines.length)
      assert.deepEqual(notified.map(outline), outlines)
      for (const fields of notified) assert.equal(fields.shop, '7', 'the query of the URL is kept')
      assert.deepEqual((await calls(made, made.server, 1)).map(outline), outlines.slice(0, 1))
    })
  }
})

describe('the fields of a callback of a later transaction', { concurrency: 4 }, () => {
  it("the amount as sent, the request's own comment, the data of the order", async () => {
    const made = await told('preauth', { comment: 'the first', merchant_data: ' my = data ', phone: '+4912345678' })
    await thenTold('capture', made, part('3.5', { comment: 'the capture é&=' }), 2)
    await thenTold('return', made, part('0001.250', { comment: 'the return é&=' }), 3)
    const [first = {}, capture = {}, giveBack = {}] = await calls(made, made.notify, 3)
    assert.equal(first.comment, 'the first')
    assert.deepEqual([capture.amount, capture.comment], ['3.5', 'the capture é&='])
    assert.deepEqual([giveBack.amount, giveBack.comment], ['0001.250', 'the return é&='])
    for (const fields of [first, capture, giveBack]) {
      assert.deepEqual([fields.merchantdata, fields.phone, fields.email], [' my = data ', '+4912345678', 'ada@example.com'])
      assert.deepEqual([fields.bin, fields['last-four-digits'], fields.error_code], ['411111', '1111', undefined])
      assert.ok(fields['processor-rrn'])
      for (const value of Object.values(fields)) assert.ok(!value.includes('4111111111111111'))
    }
    assert.notEqual(capture['processor-rrn'], giveBack['processor-rrn'])
    assert.equal((await statusOf(world, made))['processor-rrn'], giveBack['processor-rrn'])
  })
  it('the comment of a void', async () => {
    const made = await told('sale')
    await followed(world, 'void', made, { comment: 'wrong size' })
    const [, second] = await calls(made, made.notify, 2)
    assert.equal(second?.comment, 'wrong size')
  })
  for (const [begins, operation, type, minor] of [
    ['preauth', 'capture', 'capture', '4401'],
    ['sale', 'return', 'reversal', '4402'],
  ] as const) {
    it(`a ${operation} that the acquirer declines: type ${type}, its code and its text`, async () => {
      const made = await told(begins, { amount: '90.00' })
      await desk.script({ amount_minor: minor, times: 1 }, { decline: '121' })
      const amount = `44.${minor.slice(2)}`
      const { seen } = await followed(world, operation, made, part(amount))
      const [, fields = {}] = await calls(made, made.notify, 2)
      assert.equal(outline(fields), `${type} declined ${amount} USD`)
      assert.deepEqual([fields.error_code, fields.error_message], ['121', seen['error-message']])
      assert.equal((await calls(made, made.server, 1))[0]?.status, 'approved')
    })
  }
  it('a preauth and an account verification that are declined', async () => {
    for (const [operation, code] of [
      ['preauth', '116'],
      ['account-verification', '119'],
    ] as const) {
      const notify = `/notify/${(paths += 1)}`
      const made = accepted(await begin(world, operation, { cvv2: code, notify_url: `${merchant.origin}${notify}` }))
      await settled(world, made)
      const [fields = {}] = await calls({ ...made, notify, server: '' }, notify, 1)
      assert.deepEqual([fields.type, fields.status, fields.error_code], [operation, 'declined', code])
    }
  })
  it('a follow-up repeated while open has one callback, a refused one has none', async () => {
    const made = await told('sale', { amount: '90.00' })
    await desk.script({ amount_minor: '4403', times: 1 }, { delay_ms: 5_000 })
    const asked = await Promise.all([1, 2, 3].map(() => follow(world, 'return', made, part('44.03'))))
    for (const reply of asked) accepted(reply)
    await settled(world, made)
    await calls(made, made.notify, 2)
    await follow(world, 'return', made, part('50.00'))
    await follow(world, 'capture', made)
    await followed(world, 'return', made, part('1.00'))
    const notified = await calls(made, made.notify, 3)
    assert.deepEqual(notified.map(outline).slice(1), ['reversal approved 44.03 USD', 'reversal approved 1.00 USD'])
  })
})
