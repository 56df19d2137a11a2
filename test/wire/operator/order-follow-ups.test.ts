import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, order, settled, statusOf } from '../../conformance/requests/client.ts'
import { begin } from '../../conformance/operations/operations.ts'
import { until } from '../../harness/clock/until.ts'
import { booksAgree, ended } from '../../harness/world/follow.ts'
import { openOperator, reason, why, type Recorded } from './follow-ups-operator.ts'

/** Captures, returns and voids by an operator: what is recorded, sent, reported and refused. */

const { merchant, world, desk, command, json, ask, paid, told, refuses } = await openOperator()

interface Shown {
  left: Record<'capture' | 'return' | 'void', string | null>
  transactions: { kind: string; state: string; asked_by: string | null; reason: string | null }[]
}

type Case = [payment: 'sale' | 'preauth', args: string[], kind: string, amount: string, type: string, left: Shown['left']]
// oxfmt-ignore
const each: readonly Case[] = [
  ['sale',    ['return', '--amount', '1.01'],  'return',  '1.01',  'reversal', { capture: null,   return: '9.49',  void: null }],
  ['sale',    ['return', '--amount', '3'],     'return',  '3.00',  'reversal', { capture: null,   return: '7.50',  void: null }],
  ['sale',    ['return'],                      'return',  '10.50', 'reversal', { capture: null,   return: null,    void: null }],
  ['sale',    ['void'],                        'void',    '10.50', 'void',     { capture: null,   return: null,    void: null }],
  ['preauth', ['capture', '--amount', '0.01'], 'capture', '0.01',  'capture',  { capture: '10.49', return: '0.01', void: null }],
  ['preauth', ['capture'],                     'capture', '10.50', 'capture',  { capture: null,   return: '10.50', void: null }],
  ['preauth', ['return'],                      'cancel',  '10.50', 'cancel',   { capture: null,   return: null,    void: null }],
  ['preauth', ['void'],                        'void',    '10.50', 'void',     { capture: null,   return: null,    void: null }],
]
for (const [payment, [operation, ...more], kind, amount, type, left] of each)
  test(`order ${[operation, ...more].join(' ')} of a ${payment} is sent, reported and shown with who asked and why`, async () => {
    const made = await paid(payment)
    const recorded = await ask(operation!, made, ...more)
    const { serial_number: serial, gate, callbacks, ...rest } = recorded
    assert.deepEqual(rest, {
      order_id: Number(made.orderid),
      transaction: 2,
      kind,
      amount_minor: Number(amount.replace('.', '')),
      amount,
      currency: 'USD',
      status: 'processing',
    })
    assert.deepEqual([gate, callbacks], ['sandbox acquirer', [`${merchant.origin}${made.path}`]])

    assert.equal((await ended(world, made, serial)).status, 'approved')
    assert.equal((await statusOf(world, made)).status, 'approved')
    const calls = await until(
      () => merchant.calls(made.path),
      ({ length }) => length > 1,
    )
    const heard = calls.slice(1).map(({ query }) => [query.get('type'), query.get('status'), query.get('amount')])
    assert.deepEqual(heard, [[type, 'approved', amount]])

    const shown = await json<Shown>('show', made.orderid)
    assert.deepEqual(shown.left, left)
    assert.deepEqual(
      shown.transactions.map((t) => [t.kind, t.state, t.asked_by?.split(' ')[0], t.reason]),
      [
        [payment, 'approved', undefined, null],
        [kind, 'approved', 'ann', reason],
      ],
    )
    const { out } = await command('show', made.orderid)
    assert.match(out, new RegExp(`${kind} asked for by ann .*, because: ${reason}, serial ${serial}`))
    const [line] = await desk.rows<{ action: string; details: object }>(
      `select action, details from audit where subject = $1 and action = $2`,
      [`order ${made.orderid}`, `order ${operation}`],
    )
    const noted = { operation, kind, transaction: 2, amount: recorded.amount, currency: 'USD', reason }
    assert.deepEqual(line?.details, noted)
  })

test('the reason goes to no merchant and no acquirer', async () => {
  const messages = JSON.stringify(await (await fetch(`${world.acquirerAdminUrl}/messages?limit=1000`)).json())
  assert.ok(messages.length > 1_000)
  for (const text of [messages, JSON.stringify(told())]) assert.ok(!text.includes('parcel'), text)
})

test('a person reads what was recorded, where it goes and how to see what becomes of it', async () => {
  const made = await paid()
  const { code, out } = await command('return', made.orderid, '--amount', '2.50', '--reason', reason)
  assert.equal(code, 0)
  assert.match(out, new RegExp(`#2 return of 2.50 USD is recorded for order ${made.orderid}.`))
  assert.match(out, /Sent to +gate sandbox acquirer/)
  assert.match(out, new RegExp(`Reported to +${merchant.origin}${made.path}`))
  assert.match(out, new RegExp(`order show ${made.orderid}`))
  const shown = (await command('show', made.orderid)).out
  assert.match(shown, /Left to return +8\.00 USD\n/)
  assert.doesNotMatch(shown, /Left to (capture|void)/)
})

test('an amount above what is left, of no currency, or of parts where there are none is refused in words', async () => {
  const sale = await paid()
  const auth = await paid('preauth')
  const yen = await order(world, { amount: '900', currency: 'JPY' }, { path: world.endpoints.yen })
  await settled(world, yen)
  await desk.rows(`update endpoint set settings = settings || '{"disabledOperations": []}' where endpoint_id = $1`, [
    world.endpoints.yen,
  ])
  const least = 'more than left'
  await refuses(1, /has 10\.50 USD left to return/, least, sale, 'return', '--amount', '10.51', ...why)
  await refuses(1, /has 10\.50 USD left to return/, least, sale, 'return', '--amount', '999999999.99', ...why)
  await refuses(1, /has 10\.50 USD left to capture/, least, auth, 'capture', '--amount', '10.51', ...why)
  await refuses(1, /allows return of the whole only, 10\.50 USD/, 'part not allowed', auth, 'return', '--amount', '1.00', ...why)
  for (const amount of ['1.001', '1.000', '0', '0.00', '-1', '1e2', '1,00', '', 'all', '10000000000.00'])
    await refuses(
      2,
      /--amount must be an amount above zero in USD, with 2 decimals/,
      'unfit',
      sale,
      'return',
      `--amount=${amount}`,
      ...why,
    )
  await refuses(2, /in JPY, with 0 decimals/, 'unfit', yen, 'return', '--amount', '1.0', ...why)
  assert.equal((await ask('return', yen, '--amount', '1')).amount, '1')
  const most = await ask('return', sale, '--amount', '10.49')
  assert.equal(most.amount, '10.49')
  await ended(world, sale, most.serial_number)
  await refuses(1, /has 0\.01 USD left to return/, least, sale, 'return', '--amount', '0.02', ...why)
})

test('an operation that the order does not allow is refused with the reason', async () => {
  const poor = await order(world, { cvv2: '116' })
  assert.equal((await settled(world, poor)).status, 'declined')
  for (const operation of ['capture', 'return', 'void'])
    await refuses(
      1,
      new RegExp(`does not allow ${operation}: it is declined, not approved`),
      'nothing left',
      poor,
      operation,
      ...why,
    )
  const sale = await paid()
  await refuses(1, /only a preauthorisation is captured/, 'nothing left', sale, 'capture', ...why)
  await ended(world, sale, (await ask('return', sale)).serial_number)
  await refuses(1, /asked for the same, 10\.50 USD, and is approved/, 'asked already', sale, 'return', ...why)
  await refuses(1, /all captured money was returned/, 'nothing left', sale, 'return', '--amount', '0.01', ...why)
  await refuses(1, /a part of it was returned/, 'nothing left', sale, 'void', ...why)
  const voided = await paid()
  await ended(world, voided, (await ask('void', voided)).serial_number)
  await refuses(1, /it was voided or released/, 'nothing left', voided, 'return', ...why)
  const auth = await paid('preauth')
  await ended(world, auth, (await ask('capture', auth)).serial_number)
  await refuses(1, /all of it was captured/, 'nothing left', auth, 'capture', '--amount', '0.01', ...why)
  await refuses(1, /it was captured, or a capture is in progress: return it instead/, 'nothing left', auth, 'void', ...why)
  const checked = accepted(await begin(world, 'account-verification'))
  await settled(world, checked)
  await refuses(1, /an account verification charges nothing/, 'nothing left', checked, 'return', ...why)
  await refuses(1, /There is no order 5\. /, 'unknown', { orderid: '5' }, 'return', ...why)
})

test('a reason is needed: 3 to 200 characters on one line, without a card number', async () => {
  const sale = await paid()
  await refuses(2, /--reason/, '', sale, 'return')
  for (const text of ['ok', ' late', 'x'.repeat(201), 'two\nlines', 'card 4111111111111111', 'turned \u202e round'])
    await refuses(2, /--reason must be 3 to 200 characters on one line/, '', sale, 'return', '--reason', text)
  assert.equal((await json<Recorded>('return', sale.orderid, '--reason', 'x'.repeat(200))).kind, 'return')
})

test('an operation that is off at the endpoint of the order is refused, and the setting is named', async () => {
  const sale = await paid()
  const set = (off: string) =>
    desk.rows(`update endpoint set settings = settings || $1::jsonb where endpoint_id = $2`, [
      `{"disabledOperations": [${off}]}`,
      world.endpoints.plain,
    ])
  await set('"return"')
  try {
    const words = new RegExp(`return is off at endpoint ${world.endpoints.plain}.*endpoint set \\d+ --operations return=on`, 's')
    await refuses(1, words, 'operation off', sale, 'return', ...why)
    assert.equal((await ask('void', sale)).kind, 'void')
  } finally {
    await set('')
  }
})

test('an order of which something is parked, and one of a cell from which a merchant moves, are refused', async () => {
  const sale = await paid()
  const answer = await desk.script({ order_id: sale.orderid, message: 'reversal' }, { no_answer: true })
  await ask('void', sale)
  await until(
    () =>
      desk.rows(`update transaction set alarm = 'the test' where order_id = $1 and lease is null and tries > 0 returning 1`, [
        sale.orderid,
      ]),
    ({ length }) => length > 0,
  )
  await refuses(1, /#2 void of order \d+ is parked.*order resume/s, 'order parked', sale, 'return', ...why)
  const other = await paid()
  await desk.rows(`insert into merchant_mover values (0, gen_random_uuid())`)
  try {
    await refuses(1, /is being moved.*Nothing was changed/s, 'cell moving', other, 'return', ...why)
  } finally {
    await desk.rows(`delete from merchant_mover where merchant_id = 0`)
    await answer()
    await desk.rows(`update transaction set alarm = null, due_at = now() where order_id = $1 and step is not null`, [
      sale.orderid,
    ])
  }
})

test('in the end nothing is owed, and the books are equal both ways', async () => {
  await booksAgree(desk)
})
