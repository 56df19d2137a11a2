import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import { drawing, GatewayEnd, ledger, openAcquirer, payment, readTags, reversal, type Fields } from '../acquirer/acquirer-line.ts'

const clock = openHandClock(Date.now())
const { acquirer, line, next, newSale, entryOf, call } = await openAcquirer({ clock })
afterEach(() => call('DELETE', '/faults'))

const orderOf = (fields: Fields): string => readTags(fields[48]).OI!

async function script(match: object, effect: object): Promise<number> {
  const { status, body } = await call('POST', '/faults', { match, do: effect })
  assert.equal(status, 201, JSON.stringify(body))
  return Number(body.id)
}

async function hitsOf(id: number): Promise<unknown> {
  const { faults } = (await call('GET', '/faults')).body
  assert.ok(Array.isArray(faults))
  const found: unknown = faults.find((fault: { id: number }) => fault.id === id)
  return typeof found === 'object' && found !== null && 'hits' in found ? found.hits : undefined
}

describe('the effects of a script', () => {
  test('decline: the code is answered and booked, also where the CVV2 says otherwise; repeats hear it again', async () => {
    await script({ times: 1 }, { decline: '208' })
    const sale = newSale()
    const reply = await line.ask('1200', sale)
    assert.deepEqual([reply.fields[39], reply.fields[38], reply.fields[44]], ['208', undefined, 'Lost card'])
    assert.deepEqual(await line.ask('1201', sale), reply)
    assert.equal((await entryOf(sale))?.state, 'declined')
  })

  test('delay_ms: the answer comes later than those asked after it, and counts as answered only then', async () => {
    const slow = newSale({ orderId: 'slow' })
    await script({ order_id: orderOf(slow) }, { delay_ms: 300 })
    line.send('1200', slow)
    await line.ask('1200', newSale())
    clock.pass(299)
    await line.echo(next())
    assert.deepEqual(line.to(slow), [])
    assert.equal((await entryOf(slow))?.answered, false)
    clock.pass(1)
    await line.until(() => line.to(slow).length === 1, 'the late answer')
    assert.equal((await entryOf(slow))?.answered, true)
  })

  test('hold: the answer comes when the script is removed, and counts as answered only then', async () => {
    const sale = newSale({ orderId: 'held' })
    const id = await script({ order_id: orderOf(sale) }, { hold: true })
    line.send('1200', sale)
    await line.ask('1200', newSale())
    assert.deepEqual(line.to(sale), [])
    assert.equal((await entryOf(sale))?.answered, false)
    assert.equal((await call('DELETE', `/faults/${id}`)).status, 200)
    await line.until(() => line.to(sale).length === 1, 'the answer')
    assert.equal(line.to(sale)[0]!.fields[39], '000')
    assert.equal((await entryOf(sale))?.answered, true)
  })

  test('no_answer: approved in the books, silent on the line, and the repeat is answered', async () => {
    const sale = newSale()
    await script({ times: 1 }, { no_answer: true })
    line.send('1200', sale)
    await line.echo(next())
    assert.deepEqual(line.to(sale), [])
    const silent = await entryOf(sale)
    assert.deepEqual([silent?.state, silent?.answered], ['approved', false])
    assert.equal((await line.ask('1201', sale)).fields[39], '000')
    assert.equal((await entryOf(sale))?.answered, true)
  })

  test('decline of a reversal: the code is answered and nothing is taken back', async () => {
    const sale = newSale()
    await line.ask('1200', sale)
    await script({ message: 'reversal', times: 1 }, { decline: '909' })
    const undo = reversal(sale, next())
    assert.equal((await line.ask('1420', undo)).fields[39], '909')
    assert.equal((await entryOf(sale))?.state, 'approved')
    assert.equal((await line.ask('1421', undo)).fields[39], '400')
    assert.equal((await entryOf(sale))?.state, 'reversed')
  })

  test('duplicate: the same answer twice, booked once', async () => {
    await script({}, { duplicate: true })
    const sale = newSale()
    line.send('1200', sale)
    await line.until(() => line.to(sale).length === 2, 'two answers')
    assert.deepEqual(line.to(sale)[0], line.to(sale)[1])
    assert.equal((await ledger(acquirer.adminUrl, `?order_id=${orderOf(sale)}`)).length, 1)
  })

  test('answer_after_reversal: the approval comes right behind the answer to the reversal', async () => {
    await script({ times: 1 }, { answer_after_reversal: true })
    const sale = newSale()
    line.send('1200', sale)
    await line.echo(next())
    assert.deepEqual(line.to(sale), [])
    const undo = reversal(sale, next())
    line.send('1420', undo)
    await line.until(() => line.to(sale).length === 1, 'the late approval')
    assert.deepEqual(
      line.replies.slice(-2).map((reply) => [reply.fields[11], reply.fields[39]]),
      [
        [undo[11], '400'],
        [sale[11], '000'],
      ],
    )
    assert.equal((await entryOf(sale))?.state, 'reversed')
  })

  test('wrong_stan: an approval under a STAN of no message', async () => {
    const sale = payment({ stan: 500_000, cvv2: '123' })
    await script({ times: 1 }, { wrong_stan: true })
    line.send('1200', sale)
    await line.until(() => line.replies.some((reply) => reply.fields[11] === '500001'), 'the answer')
    assert.deepEqual(line.to(sale), [])
    assert.deepEqual([(await entryOf(sale))?.state, (await entryOf(sale))?.answered], ['approved', false])
  })

  // oxfmt-ignore
  const broken: [effect: string, what: string, answer: (end: GatewayEnd, bytes: () => Buffer) => Promise<void>, fits: (bytes: Buffer) => boolean][] = [
    ['garbage',    'a frame of honest length that is no message; the connection stays',
      async (end, bytes) => { await end.until(() => bytes().length >= 42, 'the garbage'); await end.echo(next()) },
      (bytes) => bytes.readUInt16BE() === 40 && bytes[2] === 0xfe],
    ['half_frame', 'the connection ends in the middle of the answer',
      (end) => end.ended(), (bytes) => bytes.length > 2 && bytes.length < 2 + bytes.readUInt16BE()],
    ['close',      'the connection ends without a byte, the others stay',
      async (end) => { await end.ended(); await line.echo(next()) }, (bytes) => bytes.length === 0],
  ]
  for (const [effect, what, answer, fits] of broken)
    test(`${effect}: ${what}`, async () => {
      const end = closing(await GatewayEnd.signedOn(acquirer.port))
      await script({ times: 1 }, { [effect]: true })
      const [sale, at] = [newSale(), end.bytes.length]
      end.send('1200', sale)
      await answer(end, () => end.bytes.subarray(at))
      assert.ok(fits(end.bytes.subarray(at)), end.bytes.subarray(at).toString('hex'))
      assert.equal((await entryOf(sale))?.state, 'approved')
    })
})

/** Forty sales, one after the other: which of them a script with this seed met. */
const play = async (seed: number): Promise<string> => {
  await call('DELETE', '/faults')
  await script({ probability: 0.5, seed }, { decline: '119' })
  let said = ''
  for (let i = 0; i < 40; i++) said += (await line.ask('1200', newSale())).fields[39] === '119' ? 'x' : '.'
  return said
}

describe('whom a script meets', () => {
  // oxfmt-ignore
  const cases: [what: string, match: object, wish: object, met: boolean][] = [
    ['everything by default',           {},                              {},                                   true],
    ['the last four digits',            { card: '1111' },                {},                                   true],
    ['other last four digits',          { card: '4444' },                {},                                   false],
    ['four digits are never a prefix',  { card: '4111' },                {},                                   false],
    ['the first digit',                 { card: '4' },                   {},                                   true],
    ['the first six digits',            { card: '411111' },              {},                                   true],
    ['another first six',               { card: '555555' },              {},                                   false],
    ['the masked number',               { card: '411111******1111' },    {},                                   true],
    ['another masked number',           { card: '411112******1111' },    {},                                   false],
    ['the amount as a number',          { amount_minor: 1050 },          {},                                   true],
    ['the amount as text',              { amount_minor: '1050' },        {},                                   true],
    ['another amount',                  { amount_minor: 1051 },          {},                                   false],
    ['the order',                       { order_id: 'A7' },              { orderId: 'A7' },                    true],
    ['another order',                   { order_id: 'A7' },              { orderId: 'A77' },                   false],
    ['authorisations',                  { message: 'authorisation' },    {},                                   true],
    ['reversals alone',                 { message: 'reversal' },         {},                                   false],
    ['both',                            { message: 'any' },              {},                                   true],
    ['all criteria together',           { card: '1111', amount_minor: 1050, order_id: 'A7' }, { orderId: 'A7' }, true],
    ['one criterion that fails',        { card: '1111', amount_minor: 1, order_id: 'A7' },    { orderId: 'A7' }, false],
    ['a probability of nothing',        { probability: 0 },              {},                                   false],
    ['a probability of one',            { probability: 1 },              {},                                   true],
  ]
  for (const [what, match, wish, met] of cases) {
    test(`${what}: ${met ? 'met' : 'left alone'}`, async () => {
      const id = await script(match, { decline: '119' })
      assert.equal((await line.ask('1200', newSale(wish))).fields[39], met ? '119' : '000')
      assert.equal(await hitsOf(id), met ? 1 : 0)
    })
  }

  test('a reversal and a capture are known by the card of their original', async () => {
    const held = payment({ stan: next(), cvv2: '123', amount: '500', pan: '5555555555554444' }, '000000', '101')
    await line.ask('1100', held)
    const id = await script({ card: '4444', message: 'any' }, { duplicate: true })
    const capture = drawing('capture', '1100', held, next(), '500')
    line.send('1220', capture)
    const undo = reversal(held, next(), '1100')
    line.send('1420', undo)
    await line.until(() => line.to(capture).length === 2 && line.to(undo).length === 2, 'two answers each')
    assert.equal(await hitsOf(id), 2)
  })

  test('"any" leaves sign-on and echo alone', async () => {
    const id = await script({ message: 'any' }, { no_answer: true })
    await line.echo(next())
    assert.equal(await hitsOf(id), 0)
  })

  test('times: a script that met its number of messages is over, and the next one has its turn', async () => {
    await script({ times: 2 }, { decline: '100' })
    await script({}, { decline: '119' })
    const said = []
    for (let i = 0; i < 3; i++) said.push((await line.ask('1200', newSale())).fields[39])
    assert.deepEqual(said, ['100', '100', '119'])
  })

  test('a probability with the same seed meets the same messages, with another seed others', async () => {
    const first = await play(7)
    assert.match(first, /x/)
    assert.match(first, /\./)
    assert.equal(await play(7), first)
    assert.notEqual(await play(8), first)
  })
})
