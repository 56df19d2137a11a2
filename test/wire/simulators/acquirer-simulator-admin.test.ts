import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { drawing, type Fields, GatewayEnd, ledger, network, openAcquirer, payment, reversal } from '../acquirer/acquirer-line.ts'

const { acquirer, line: first, next, newSale, entryOf, call } = await openAcquirer()
let line = first

describe('the line can be troubled', () => {
  test('refuse: new connections are refused, open ones go on; and back again', async () => {
    assert.equal((await call('POST', '/line', { refuse: true })).body.refuse, true)
    await assert.rejects(GatewayEnd.open(acquirer.port), { code: 'ECONNREFUSED' })
    await line.echo(next())
    assert.equal((await call('POST', '/line', { refuse: false })).body.refuse, false)
    const end = await GatewayEnd.signedOn(acquirer.port)
    end.close()
  })

  test('close_now: all connections end', async () => {
    const end = await GatewayEnd.signedOn(acquirer.port)
    await call('POST', '/line', { close_now: true })
    await end.ended()
    await line.ended()
    line = closing(await GatewayEnd.signedOn(acquirer.port))
  })

  test('latency_ms: every answer waits, also that to an echo', async () => {
    await call('POST', '/line', { latency_ms: 120 })
    for (const ask of [() => line.echo(next()), () => line.ask('1200', newSale())]) {
      const start = performance.now()
      await ask()
      assert.ok(performance.now() - start >= 115)
    }
    await call('POST', '/line', { latency_ms: 0 })
  })

  test('slow_reversal_ms: 30 s unless said otherwise', async () => {
    assert.equal((await call('GET', '/line')).body.slow_reversal_ms, 30_000)
    await call('POST', '/line', { slow_reversal_ms: 0 })
    const sale = newSale({ cvv2: '217' })
    line.send('1200', sale)
    assert.equal((await line.ask('1420', reversal(sale, next()))).fields[39], '400')
    await call('POST', '/line', { slow_reversal_ms: 30_000 })
  })
})

describe('a script that cannot be followed is refused with a sentence that names the fault', () => {
  // oxfmt-ignore
  const cases: [method: string, path: string, body: unknown, says: RegExp][] = [
    ['POST', '/faults', [],                                                         /an object with "match" and "do"/],
    ['POST', '/faults', { match: {}, do: {} },                                      /exactly one of decline, delay_ms/],
    ['POST', '/faults', { do: { explode: true } },                                  /not "explode"/],
    ['POST', '/faults', { do: { decline: 116 } },                                   /"do.decline" must be three digits/],
    ['POST', '/faults', { do: { delay_ms: 0.5 } },                                  /"do.delay_ms" must be a whole number/],
    ['POST', '/faults', { match: { pan: '1' }, do: { close: true } },               /not "pan"/],
    ['POST', '/faults', { match: { probability: 2 }, do: { close: true } },         /"match.probability"/],
    ['POST', '/faults', { match: { message: 'reversal' }, do: { answer_after_reversal: true } }, /Only an authorisation/],
    ['POST', '/line',   { refuse: 'yes' },                                          /"refuse" must be true or false/],
    ['POST', '/line',   { latency_ms: -1 },                                         /"latency_ms" must be a whole number/],
    ['GET',  '/ledger?state=open',   undefined,                                     /"state" must be one of/],
    ['GET',  '/ledger?limit=0',      undefined,                                     /"limit" must be/],
  ]
  for (const [method, path, body, says] of cases) {
    test(`${method} ${path} ${body === undefined ? '' : JSON.stringify(body)}`, async () => {
      const answer = await call(method, path, body)
      assert.equal(answer.status, 400)
      assert.match(String(answer.body.error), says)
    })
  }
})

const balance = (currency: string, charged: string, returned: string, left: string, held: string, reversed: string) => ({
  currency,
  charged_minor: charged,
  returned_minor: returned,
  balance_minor: left,
  held_minor: held,
  reversed_minor: reversed,
})

describe('the books can be read', () => {
  test('by order, state, time and number; sums and balances follow', async () => {
    const { acquirer: own, line: end, call: callOwn } = await openAcquirer()
    const ask = async (type: string, fields: Fields) =>
      assert.match((await end.ask(type, fields)).fields[39]!, /^000$|^116$|^400$/)
    const sale = payment({ stan: 1, cvv2: '123', amount: '1000', orderId: 'A' })
    await ask('1200', sale)
    await ask('1200', payment({ stan: 2, cvv2: '116', amount: '50', orderId: 'B' }))
    const undone = payment({ stan: 3, cvv2: '123', amount: '300', orderId: 'C' })
    await ask('1200', undone)
    await ask('1420', reversal(undone, 4))
    await ask('1200', drawing('return', '1200', sale, 5, '400'))
    const held = payment({ stan: 6, cvv2: '123', amount: '700', currency: '978' }, '000000', '101')
    await ask('1100', held)
    await ask('1220', drawing('capture', '1100', held, 7, '200'))

    const stans = async (query: string) => (await ledger(own.adminUrl, query)).map((entry) => Number(entry.stan))
    assert.deepEqual(await stans(''), [1, 2, 3, 5, 6, 7])
    assert.deepEqual(await stans('?order_id=A'), [1, 5])
    assert.deepEqual(await stans('?state=reversed'), [3])
    assert.deepEqual(await stans('?limit=2'), [1, 2])
    assert.deepEqual(await stans('?since=2020-01-01T00:00:00Z'), [1, 2, 3, 5, 6, 7])
    assert.deepEqual(await stans('?since=2999-01-01T00:00:00Z'), [])

    assert.deepEqual((await callOwn('GET', '/ledger/balances')).body.balances, [
      balance('840', '1000', '400', '600', '0', '300'),
      balance('978', '200', '0', '200', '500', '0'),
    ])
    const summary = (await callOwn('GET', '/ledger/summary')).body
    assert.deepEqual(summary.messages, { 1804: 1, 1200: 4, 1420: 1, 1100: 1, 1220: 1 })
    assert.equal(summary.entries, 6)
    assert.ok(Array.isArray(summary.sums))
    const returned = { currency: '840', code: 'USD', kind: 'return', state: 'approved', count: 1, amount_minor: '400' }
    assert.deepEqual(summary.sums[0], returned)
  })

  test('the last messages, newest first, and an overview for people', async () => {
    await line.ask('1804', network(123_456, '831'))
    const { messages } = (await call('GET', '/messages?limit=2')).body
    assert.ok(Array.isArray(messages))
    assert.deepEqual(
      messages.map((message: { direction: string; type: string }) => `${message.direction} ${message.type}`),
      ['out 1814', 'in 1804'],
    )
    assert.match(await (await fetch(acquirer.adminUrl)).text(), /POST {3}\/faults/)
    assert.deepEqual((await call('GET', '/health')).body.status, 'ok')
    assert.equal((await call('GET', '/nothing')).status, 404)
  })
})

const folder = openDirectory('acquirer')

test('without sign-on, and after sign-off, everything but network messages is refused and not booked', async () => {
  const end = closing(await GatewayEnd.open(acquirer.port))
  const early = newSale()
  assert.equal((await end.ask('1804', network(next(), '831'))).fields[39], '800')
  assert.equal((await end.ask('1200', early)).fields[39], '904')
  assert.equal((await end.ask('1804', network(next(), '801'))).fields[39], '800')
  assert.equal((await end.ask('1200', early)).fields[39], '000')
  assert.equal((await end.ask('1804', network(next(), '802'))).fields[39], '800')
  const last = newSale()
  assert.equal((await end.ask('1200', last)).fields[39], '904')
  assert.equal((await end.ask('1804', network(next(), '999'))).fields[39], '904')
  assert.equal(await entryOf(last), undefined)
})

test('a ledger file with a line of another program is refused', async () => {
  const file = join(folder, 'broken.jsonl')
  await appendFile(file, '{"answered":{"terminal":"T","stan":"1","time12":"1"}}\n')
  await assert.rejects(openAcquirer({ ledgerFile: file }), /line 1 of the ledger/)
})

test('neither the file, nor the admin port, has a card number, an expiry or a CVV2', async () => {
  // No time of a message has an hour, a minute or a second of 99 or 91.
  const file = join(folder, 'masked.jsonl')
  const { line: end, call: ask } = await openAcquirer({ ledgerFile: file })
  await end.ask('1200', payment({ stan: 1, cvv2: '1234', pan: '5105105105105100', expiry: '9912' }))
  await end.ask('1200', payment({ stan: 2, cvv2: '1234', pan: '800000001', expiry: '9912' }))
  const seen = [await readFile(file, 'utf8')]
  for (const path of ['/ledger', '/messages', '/ledger/summary']) seen.push(JSON.stringify((await ask('GET', path)).body))
  for (const text of seen) assert.doesNotMatch(text, /5105105105105100|800000001|9912|92=1234|920041234/)
  assert.match(seen[0]!, /510510\*{6}5100/)
  assert.match(seen[2]!, /92=\*\*\*/)
})
