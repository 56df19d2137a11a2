import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { startAcquirer, type Acquirer } from '../../../simulators/acquirer/start.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import {
  admin,
  drawing,
  GatewayEnd,
  ledger,
  payment,
  quietLog,
  readTags,
  reversal,
  type Asked,
  type Fields,
} from '../acquirer/acquirer-line.ts'

let acquirer: Acquirer
let line: GatewayEnd
let stan = 0

before(async () => {
  acquirer = await startAcquirer({ log: quietLog })
  line = await GatewayEnd.signedOn(acquirer.port)
})
afterEach(async () => {
  await call('DELETE', '/faults')
})
after(async () => {
  line?.close()
  await acquirer?.close()
})

const next = (): number => ++stan
const call = (method: string, path: string, body?: unknown): Promise<Asked> => admin(acquirer.adminUrl + path, method, body)
const entryOf = async (fields: Fields) => (await ledger(acquirer.adminUrl)).find((entry) => entry.stan === fields[11])
const newSale = (wish: object = {}): Fields => payment({ stan: next(), cvv2: '123', ...wish })

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

describe('what a script does', () => {
  test('decline: the code is answered and booked, also where the CVV2 says otherwise; repeats hear it again', async () => {
    await script({ times: 1 }, { decline: '208' })
    const sale = newSale()
    const reply = await line.ask('1200', sale)
    assert.deepEqual([reply.fields[39], reply.fields[38], reply.fields[44]], ['208', undefined, 'Lost card'])
    assert.deepEqual(await line.ask('1201', sale), reply)
    assert.equal((await entryOf(sale))?.state, 'declined')
  })

  test('delay_ms: the answer comes later than those asked after it, and counts as answered only then', async (t) => {
    const clock = openHandClock(Date.now())
    const own = await startAcquirer({ log: quietLog, clock })
    t.after(() => own.close())
    const end = await GatewayEnd.signedOn(own.port)
    const slow = newSale()
    const late = { match: { order_id: orderOf(slow) }, do: { delay_ms: 300 } }
    assert.equal((await admin(`${own.adminUrl}/faults`, 'POST', late)).status, 201)
    const answered = async () => (await ledger(own.adminUrl)).find((entry) => entry.stan === slow[11])?.answered
    end.send('1200', slow)
    await end.ask('1200', newSale())
    clock.pass(299)
    await end.echo(next())
    assert.deepEqual(end.to(slow), [])
    assert.equal(await answered(), false)
    clock.pass(1)
    await end.until(() => end.to(slow).length === 1, 'the late answer')
    assert.equal(await answered(), true)
  })

  test('hold: the answer comes when the script is removed, and counts as answered only then', async (t) => {
    const own = await startAcquirer({ log: quietLog, clock: systemClock })
    t.after(() => own.close())
    const end = await GatewayEnd.signedOn(own.port)
    const sale = newSale()
    const held = await admin(`${own.adminUrl}/faults`, 'POST', { match: { order_id: orderOf(sale) }, do: { hold: true } })
    const { id } = held.body as { id: number }
    const answered = async () => (await ledger(own.adminUrl)).find((entry) => entry.stan === sale[11])?.answered
    end.send('1200', sale)
    await end.ask('1200', newSale())
    assert.deepEqual(end.to(sale), [])
    assert.equal(await answered(), false)
    assert.equal((await admin(`${own.adminUrl}/faults/${id}`, 'DELETE')).status, 200)
    await end.until(() => end.to(sale).length === 1, 'the answer')
    assert.equal(end.to(sale)[0]!.fields[39], '000')
    assert.equal(await answered(), true)
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

  test('wrong_stan: an approval under a STAN that nobody used', async () => {
    const sale = payment({ stan: 500_000, cvv2: '123' })
    await script({ times: 1 }, { wrong_stan: true })
    line.send('1200', sale)
    await line.until(() => line.replies.some((reply) => reply.fields[11] === '500001'), 'the answer')
    assert.deepEqual(line.to(sale), [])
    assert.deepEqual([(await entryOf(sale))?.state, (await entryOf(sale))?.answered], ['approved', false])
  })

  test('garbage: a frame of honest length that is no message; the connection stays', async () => {
    const end = await GatewayEnd.signedOn(acquirer.port)
    await script({ times: 1 }, { garbage: true })
    const at = end.bytes.length
    const sale = newSale()
    end.send('1200', sale)
    await end.until(() => end.bytes.length >= at + 42, 'the garbage')
    assert.deepEqual([end.bytes.readUInt16BE(at), end.bytes[at + 2]], [40, 0xfe])
    await end.echo(next())
    assert.equal((await entryOf(sale))?.state, 'approved')
    end.close()
  })

  test('half_frame: the connection ends in the middle of the answer', async () => {
    const end = await GatewayEnd.signedOn(acquirer.port)
    await script({ times: 1 }, { half_frame: true })
    const at = end.bytes.length
    const sale = newSale()
    end.send('1200', sale)
    await end.ended()
    const got = end.bytes.length - at
    assert.ok(got > 2 && got < 2 + end.bytes.readUInt16BE(at), `${got} bytes of ${end.bytes.readUInt16BE(at)}`)
    assert.deepEqual([(await entryOf(sale))?.state, (await entryOf(sale))?.answered], ['approved', false])
  })

  test('close: the connection ends without a byte, the others stay', async () => {
    const end = await GatewayEnd.signedOn(acquirer.port)
    await script({ times: 1 }, { close: true })
    const at = end.bytes.length
    const sale = newSale()
    end.send('1200', sale)
    await end.ended()
    assert.equal(end.bytes.length, at)
    assert.equal((await entryOf(sale))?.state, 'approved')
    await line.echo(next())
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
    ['everything when nothing is said', {},                              {},                                   true],
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

  test('times: so often and no more, then the next script has its turn', async () => {
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
