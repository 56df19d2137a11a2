import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide, type Decided } from '../../../src/order/decide/decide.ts'
import { machine } from '../../../src/order/decide/machine.ts'
import { overdueEvent } from '../../../src/order/authentication/plan.ts'
import { authenticated, methodBegunEvent } from '../../../src/order/authentication/browser.ts'
import { head, type Order, type State } from '../../../src/order/decide/order.ts'
import type { BrowserFacts } from '../../../src/spec/gateway/sale.ts'
import type { Authentication, BrowserData } from '../../../src/three-d-secure/authentication.ts'
import { decided, eventOf, named, now, ofAuthentications, orderIn } from './decide-orders.ts'

test('an event of another authentication, or an earlier one, changes nothing', () => {
  const other = { of: '00000000-0000-4000-8000-00000000000f' }
  for (const transition of machine)
    if (ofAuthentications.has(transition.on) || (transition.on === 'not authenticated' && transition.from !== 'filtering'))
      assert.equal(decide(orderIn(transition.from), eventOf(transition.on, other), now).is, 'stale', named(transition))
})

const waiting: Order = orderIn('awaiting method', {
  request: { orderDesc: 'x', ipAddress: '203.0.113.7', email: 'a@b', browser: {} },
})
const described = {
  acceptHeader: '*/*',
  userAgent: 'Browser/1',
  language: 'en',
  javascriptEnabled: true,
  javaEnabled: false,
  colorDepth: '24',
  screenHeight: '900',
  screenWidth: '1400',
  timeZone: '0',
}
/** The page begins the method, and this is known of its browser. */
const begin = (order: Order, seen: Partial<BrowserData>, at = now) => methodBegunEvent(order, authenticated(order)!, seen, at)
const orderWith = (order: Order, facts: Partial<Authentication>): Order => ({
  ...order,
  transactions: order.transactions.map((t) => ({ ...t, authentication: { ...t.authentication!, ...facts } })),
})
const lease = { lease: 9n, leaseDueAt: now + 4_000 }

test('a method begun by its page has ten seconds; otherwise the gateway waits 30 minutes, and then declines', () => {
  const begun = decided(waiting, begin(waiting, described)!).order
  const transaction = head(begun)
  assert.deepEqual(
    [transaction.state, transaction.step, transaction.dueAt, transaction.lease],
    ['awaiting method', 'await method', now + 10_000, undefined],
  )
  assert.deepEqual(transaction.authentication?.browser, described)
  const methodUrl = 'https://acs.example.com/method'
  const withUrl = { ...transaction, authentication: { ...transaction.authentication, methodUrl } }
  const over = overdueEvent(begun, withUrl, undefined, lease)
  assert.deepEqual(over, {
    is: 'method uploaded',
    transactionNo: 1,
    of: transaction.authentication?.threeDSServerTransId,
    learned: { compInd: 'N' },
    ...lease,
  })
  const asked = head(decided(begun, over).order)
  assert.deepEqual([asked.state, asked.authentication?.browser], ['authenticating', described])
  assert.equal(overdueEvent(waiting, { ...head(waiting), step: 'await method' }, undefined, lease).is, 'not authenticated')
})

test('a reload does not extend the ten seconds', () => {
  const begun = decided(waiting, begin(waiting, described)!).order
  assert.equal(begin(begun, described, now + 5_000), undefined)
  // Nor does one that was decided upon before the first was committed.
  const late = begin(waiting, { ...described, screenWidth: '1' }, now + 5_000)!
  assert.deepEqual(decide(begun, late, now + 5_000), { is: 'stale', why: 'the method was begun before' })
})

test('the ten seconds begin once the issuer could be asked: with what the browser says of itself, and the sale', () => {
  const headers = { acceptHeader: '*/*', userAgent: 'Browser/1', language: 'en' }
  const { acceptHeader: accept, colorDepth, screenHeight, timeZone } = described
  const sale = { accept, javascriptEnabled: true, javaEnabled: false, colorDepth, screenHeight, screenWidth: '1366', timeZone }
  const sold = (browser: BrowserFacts) => ({ ...waiting, request: { ...waiting.request, browser } })
  const olderly = (order: Order) => orderWith(order, { version: '2.1.0' as const })
  // sale                                       the page says
  // begins
  // oxfmt-ignore
  const rows = [
    [waiting,                                    described,                                          true],
    [waiting,                                    headers,                                            false],
    [waiting,                                    { ...headers, javascriptEnabled: false },           true],
    [olderly(waiting),                           { ...headers, javascriptEnabled: false },           false],
    [waiting,                                    { ...described, timeZone: undefined },              false],
    [sold(sale),                                 headers,                                            true],
    [sold({ ...sale, javascriptEnabled: false }), headers,                                           true],
    [sold({ accept: 'text/html' }),              headers,                                            false],
    [orderIn('authenticating'),                  described,                                          false],
    [orderIn('awaiting challenge'),              described,                                          false],
  ] as const
  for (const [i, [order, seen, begins]] of rows.entries())
    assert.equal(begin(order, seen as Partial<BrowserData>) !== undefined, begins, `row ${i}`)
  const event = begin(sold(sale), { ...described, screenWidth: '1400' })
  assert.equal(event?.is === 'method begun' && event.learned.browser?.screenWidth, '1400', 'the browser knows best')
})

test('nothing is authorised before the authentication that was begun has its result', () => {
  const begun = new Set<State>(['awaiting method', 'authenticating', 'awaiting challenge'])
  for (const { from, on, to } of machine)
    if (begun.has(from) && !begun.has(to) && to === 'ready') assert.equal(on, 'authenticated')
  for (const { from, asks } of machine) if (asks === 'authorise') assert.ok(from === 'ready' || from === 'authorising', from)
})

test('the proof of an authentication is kept until its authorisation has an outcome', () => {
  const proof = ({ order }: Decided) => head(order).authentication?.authenticationValue
  assert.equal(proof(decided(orderIn('ready'), eventOf('attempt recorded'))), 'sealed')
  assert.equal(proof(decided(orderIn('authorising'), eventOf('answer awaited'))), 'sealed')
  for (const on of ['approved', 'declined', 'not sent', 'answer lost', 'lease lost'] as const)
    assert.equal(proof(decided(orderIn('authorising'), eventOf(on))), undefined, on)
})
