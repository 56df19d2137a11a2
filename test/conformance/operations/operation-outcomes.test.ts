import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { accepted, order, refused, serialShape, settled, status, statusOf, type Changes } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { approved, begin, booked, bySerial, follow, followed, line, moved, notAllowed, part } from './operations.ts'
import type { FollowUp, Initial } from './operations.ts'

/** The outcomes of preauth, verification, capture, return and void, and where they are refused. */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))

/** An amount that no other case uses, by which the acquirer's scripts find it. */
let amounts = 0
const ownAmount = (): string => `77.${String(10 + (amounts += 1))}`
const minor = (amount: string): string => amount.replace('.', '')

describe('each operation has its transaction-type, its stage and its place in the books', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, Initial, [FollowUp, Changes][], string, string][] = [
    // what                                 begins                  follows                                     status, stage, type                       the acquirer's books
    ['a preauth',                           'preauth',              [],                                         'approved auth_approved preauth',         'preauth 1050 approved'],
    ['an account verification',             'account-verification', [],                                         'approved av_approved account-verification', 'account-verification 0 approved'],
    ['a capture of all',                    'preauth',              [['capture', {}]],                          'approved capture_approved capture',      'preauth 1050 approved, capture 1050 approved'],
    ['a capture of the whole amount',       'preauth',              [['capture', part('10.50')]],               'approved capture_approved capture',      'preauth 1050 approved, capture 1050 approved'],
    ['a capture of a part',                 'preauth',              [['capture', part('3.00')]],                'approved capture_approved capture',      'preauth 1050 approved, capture 300 approved'],
    ['a capture of the rest',               'preauth',              [['capture', part('3.00')], ['capture', {}]], 'approved capture_approved capture',    'preauth 1050 approved, capture 300 approved, capture 750 approved'],
    ['a return of all of a sale',           'sale',                 [['return', {}]],                           'approved reversal_approved reversal',    'sale 1050 approved, return 1050 approved'],
    ['a return of the whole amount',        'sale',                 [['return', part('10.5')]],                 'approved reversal_approved reversal',    'sale 1050 approved, return 1050 approved'],
    ['a return of a part',                  'sale',                 [['return', part('0.01')]],                 'approved reversal_approved reversal',    'sale 1050 approved, return 1 approved'],
    ['a return of the rest',                'sale',                 [['return', part('3')], ['return', {}]],     'approved reversal_approved reversal',    'sale 1050 approved, return 300 approved, return 750 approved'],
    ['a return of what was captured',       'preauth',              [['capture', part('3.00')], ['return', {}]], 'approved reversal_approved reversal',   'preauth 1050 approved, capture 300 approved, return 300 approved'],
    ['a return of a preauth not captured',  'preauth',              [['return', {}]],                           'approved cancel_approved reversal',      'preauth 1050 reversed'],
    ['the same, the whole amount named',    'preauth',              [['return', part('10.50')]],                'approved cancel_approved reversal',      'preauth 1050 reversed'],
    ['a void of a preauth',                 'preauth',              [['void', {}]],                             'approved void_approved reversal',        'preauth 1050 reversed'],
    ['a void of a sale not yet cleared',    'sale',                 [['void', {}]],                             'approved void_approved reversal',        'sale 1050 reversed'],
  ]
  for (const [what, begins, follows, came, books] of cases) {
    it(`${what}: ${came}`, async () => {
      const made = await approved(world, begins)
      for (const [operation, changes] of follows) await followed(world, operation, made, changes)
      assert.equal(line(await statusOf(world, made)), came)
      assert.equal((await booked(world, made)).join(', '), books)
    })
  }
})

describe('declines by the acquirer', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const initials: [Initial, string, string | undefined][] = [
    ['preauth',              'declined auth_declined preauth',              '116'],
    ['account-verification', 'declined av_declined account-verification',   '119'],
  ]
  for (const [operation, came, code] of initials) {
    it(`${operation} with the CVV2 ${code}: ${came}, error-code ${code}`, async () => {
      const made = accepted(await begin(world, operation, { cvv2: code }))
      const seen = await settled(world, made)
      assert.deepEqual([line(seen), seen['error-code']], [came, code])
      assert.ok(seen['error-message'])
    })
  }
  // oxfmt-ignore
  const followUps: [FollowUp, Initial, string, string][] = [
    ['capture', 'preauth', 'declined capture_declined capture',   'approved capture_approved capture'],
    ['return',  'sale',    'declined reversal_declined reversal', 'approved reversal_approved reversal'],
  ]
  for (const [operation, begins, came, then] of followUps) {
    it(`${operation}: ${came}, the money does not move, and another ${operation} may follow`, async () => {
      const amount = ownAmount()
      const made = await approved(world, begins, { amount })
      await desk.script({ amount_minor: minor(amount), times: 1 }, { decline: '121' })
      const { serial, seen } = await followed(world, operation, made)
      assert.deepEqual([line(seen), seen['error-code'], seen.amount], [came, '121', amount])
      assert.match((await bySerial(world, made, made.serial))['order-stage'] ?? '', /^(auth|sale)_approved$/)
      assert.equal(line((await followed(world, operation, made)).seen), then)
      assert.equal(line(await bySerial(world, made, serial)), came)
    })
  }
  it('an expiry in the past declines a preauth and an account verification with 101', async () => {
    for (const operation of ['preauth', 'account-verification'] as const) {
      const made = accepted(await begin(world, operation, { expire_month: '1', expire_year: '2020' }))
      const seen = await settled(world, made)
      assert.deepEqual([seen.status, seen['error-code']], ['declined', '101'], operation)
    }
  })
})

describe('status of an order with several transactions', { concurrency: 4 }, () => {
  it('each serial describes its own transaction, and the amount is always the initial one', async () => {
    const made = await approved(world, 'preauth', { amount: '10.5' })
    const capture = await followed(world, 'capture', made, part('4.00'))
    const second = await followed(world, 'capture', made, part('2.50'))
    const giveBack = await followed(world, 'return', made, part('1.25'))
    // oxfmt-ignore
    const cases: [string, string][] = [
      [made.serial,     'approved auth_approved preauth'],
      [capture.serial,  'approved capture_approved capture'],
      [second.serial,   'approved capture_approved capture'],
      [giveBack.serial, 'approved reversal_approved reversal'],
    ]
    for (const [serial, came] of cases) {
      assert.match(serial, serialShape)
      const seen = await bySerial(world, made, serial)
      assert.deepEqual([line(seen), seen['by-request-sn'], seen['gateway-order-id']], [came, serial, made.orderid])
      assert.deepEqual([seen.amount, seen['initial-amount'], seen.currency], ['10.5', '10.5', 'USD'])
    }
    assert.equal(new Set(cases.map(([serial]) => serial)).size, 4)
    assert.notEqual(
      (await bySerial(world, made, capture.serial))['processor-rrn'],
      (await bySerial(world, made, second.serial))['processor-rrn'],
      'each has the acquirer’s own reference',
    )
  })
  it('without by-request-sn the newest transaction is described, with or without orderid', async () => {
    const made = await approved(world, 'preauth')
    await followed(world, 'capture', made, part('5'))
    const { client_orderid } = made
    assert.equal((await status(world, { client_orderid }))['order-stage'], 'capture_approved')
    await followed(world, 'return', made, part('1'))
    assert.equal((await status(world, { client_orderid }))['order-stage'], 'reversal_approved')
    assert.equal((await statusOf(world, made, { path: `group/${world.groups.multi}` }))['order-stage'], 'reversal_approved')
  })
  it('the serial number of a refused follow-up is unknown: 6', async () => {
    const made = await approved(world, 'preauth')
    const refusal = await follow(world, 'capture', made, part('10.51'))
    refused(refusal, 10)
    refused(await bySerial(world, made, refusal['serial-number'] ?? ''), 6, 'Order not found')
    assert.equal((await statusOf(world, made))['order-stage'], 'auth_approved')
  })
})

describe('parts never exceed the rest', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, Initial, [FollowUp, string][], FollowUp, string, RegExp, string][] = [
    // what                          begins     before                                  asks       too much  says                           the most
    ['more than was authorised',     'preauth', [],                                     'capture', '10.51',  /^Amount exceeds 10\.50?$/,    '10.50'],
    ['more than is left to capture', 'preauth', [['capture', '3.00']],                  'capture', '7.51',   /^Amount exceeds 7\.50?$/,     '7.50'],
    ['more than was paid',           'sale',    [],                                     'return',  '10.51',  /^Amount exceeds 10\.50?$/,    '10.50'],
    ['more than is left to return',  'sale',    [['return', '3.00'], ['return', '0.49']], 'return', '7.02',  /^Amount exceeds 7\.01$/,      '7.01'],
    ['more than was captured',       'preauth', [['capture', '3.00']],                  'return',  '3.01',   /^Amount exceeds 3(\.00?)?$/,  '3.00'],
    ['more than two captures',       'preauth', [['capture', '3.00'], ['capture', '2']], 'return', '5.01',   /^Amount exceeds 5(\.00?)?$/,  '5.00'],
  ]
  for (const [what, begins, first, asks, tooMuch, says, most] of cases) {
    it(`${asks} of ${what}: 10, and of exactly that: accepted`, async () => {
      const made = await approved(world, begins, { amount: '10.5' })
      for (const [operation, amount] of first) await followed(world, operation, made, part(amount))
      const books = await booked(world, made)
      refused(await follow(world, asks, made, part(tooMuch)), 10, says)
      refused(await follow(world, asks, made, part('9999999999')), 10, says)
      assert.deepEqual(await booked(world, made), books)
      assert.equal((await followed(world, asks, made, part(most))).seen.status, 'approved')
      const { charged, returned, held } = await moved(world, made)
      assert.ok(returned <= charged && charged <= (held || charged), JSON.stringify({ charged, returned, held }))
      notAllowed(await follow(world, asks, made), asks, made)
    })
  }
  it('a part still processing counts as used', async () => {
    const amount = '53.11'
    const made = await approved(world, 'sale', { amount: '60.00' })
    await desk.script({ amount_minor: '5311', times: 1 }, { delay_ms: 2_000 })
    accepted(await follow(world, 'return', made, part(amount)))
    refused(await follow(world, 'return', made, part('6.90')), 10, /^Amount exceeds 6\.89$/)
    accepted(await follow(world, 'return', made, part('6.89')))
    await settled(world, made)
    await until(
      () => moved(world, made),
      ({ returned }) => returned === 6000,
    )
    assert.deepEqual(await moved(world, made), { charged: 6000, returned: 6000, held: 0 })
  })
  it('a declined part does not count as used', async () => {
    const made = await approved(world, 'preauth', { amount: '60.00' })
    await desk.script({ amount_minor: '5312', times: 1 }, { decline: '116' })
    assert.equal((await followed(world, 'capture', made, part('53.12'))).seen.status, 'declined')
    assert.equal((await followed(world, 'capture', made, part('60'))).seen.status, 'approved')
    assert.equal((await moved(world, made)).charged, 6000)
  })
  it('an amount of 3 may be written in many ways', async () => {
    const made = await approved(world, 'sale')
    // Otherwise they are equal, and one return.
    for (const amount of ['3', '3.0', '0003.00']) await followed(world, 'return', made, part(amount, { comment: amount }))
    await followed(world, 'return', made, part('3.000', { comment: '3' }))
    assert.equal((await moved(world, made)).returned, 900)
    assert.equal((await followed(world, 'return', made, { amount: '', currency: '' })).seen.status, 'approved')
    assert.equal((await moved(world, made)).returned, 1050)
  })
})

describe('an order in the wrong state: 9, and nothing moves', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, Initial, [FollowUp, Changes][], FollowUp[]][] = [
    ['a sale',                           'sale',                 [],                                                 ['capture']],
    ['an account verification',          'account-verification', [],                                                 ['capture', 'return', 'void']],
    ['a sale returned',                  'sale',                 [['return', {}]],                                   ['capture', 'return', 'void']],
    ['a sale returned in part',          'sale',                 [['return', part('1')]],                            ['capture', 'void']],
    ['a sale voided',                    'sale',                 [['void', {}]],                                     ['capture', 'return', 'void']],
    ['a preauth voided',                 'preauth',              [['void', {}]],                                     ['capture', 'return', 'void']],
    ['a preauth cancelled by a return',  'preauth',              [['return', {}]],                                   ['capture', 'return', 'void']],
    ['a preauth captured',               'preauth',              [['capture', {}]],                                  ['capture']],
    ['a preauth captured and returned',  'preauth',              [['capture', {}], ['return', {}]],                  ['capture', 'return', 'void']],
    ['a preauth captured, part returned', 'preauth',             [['capture', {}], ['return', part('1.00')]],        ['capture', 'void']],
  ]
  for (const [what, begins, follows, notAfter] of cases) {
    it(`${what} does not allow ${notAfter.join(', ')}`, async () => {
      const made = await approved(world, begins)
      for (const [operation, changes] of follows) await followed(world, operation, made, changes)
      const [books, seen] = [await booked(world, made), line(await statusOf(world, made))]
      // Without a comment some are equal to what was just approved, and answered with it.
      for (const operation of notAfter) notAllowed(await follow(world, operation, made, { comment: 'another' }), operation, made)
      assert.deepEqual([await booked(world, made), line(await statusOf(world, made))], [books, seen])
    })
  }
  for (const cvv2 of ['116', '217']) {
    it(`a sale and a preauth with the CVV2 ${cvv2}, not approved, allow nothing`, async () => {
      for (const begins of ['sale', 'preauth'] as const) {
        const made = accepted(await begin(world, begins, { cvv2 }))
        if (cvv2 === '116') await settled(world, made)
        for (const operation of ['capture', 'return', 'void'] as const)
          notAllowed(await follow(world, operation, made), operation, made)
      }
    })
  }
  it('a part of a preauth that was not captured never cancels all of it', async () => {
    const made = await approved(world, 'preauth')
    await follow(world, 'return', made, part('3.00'))
    await settled(world, made)
    assert.equal((await followed(world, 'capture', made, part('7.50'))).seen['order-stage'], 'capture_approved')
  })
  it('a client_orderid of an order that was returned or voided is still in use', async () => {
    for (const operation of ['return', 'void'] as const) {
      const made = await order(world)
      await settled(world, made)
      await followed(world, operation, made)
      refused(await begin(world, 'sale', { client_orderid: made.client_orderid, amount: '7.00' }), 11)
    }
  })
})
