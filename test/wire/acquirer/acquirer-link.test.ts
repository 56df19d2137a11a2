import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pack } from '../../../src/acquirer/iso8583/codec.ts'
import { usualLimits } from '../../../src/acquirer/iso8583/link-limits.ts'
import { openFraming } from '../../../src/acquirer/iso8583/mac.ts'
import { secret } from '../../../src/base/secret.ts'
import type { IsoMessage } from '../../../src/spec/iso8583.ts'
import { always, anyAnswer, lineMac, MemoryWire, openLine, openUp, sale, stanOf } from '../../harness/acquirer/acquirer-line.ts'
import { type AcquirerPeer, replyTo, until } from '../../harness/acquirer/acquirer-peer.ts'
import { seeded } from '../../harness/world/mutate.ts'

test('five hundred open requests each get their own reply, in any order of replies', async (t) => {
  const { peer, link, ask, strays } = await openUp(t)
  const stans = Array.from({ length: 500 }, (_, i) => i + 1)
  const answers = stans.map((stan) => ask(stan))
  await until('all have arrived', () => peer.payments.length === 500)
  assert.equal(link.state().open, 500)
  const below = seeded(7)
  for (const request of peer.payments.map((m) => ({ m, at: below(2 ** 30) })).sort((a, b) => a.at - b.at)) {
    peer.send(replyTo(request.m, '000', { 38: `A${request.m.fields[11]!.slice(1)}` }))
  }
  for (const [i, answer] of (await Promise.all(answers)).entries()) {
    assert.equal(stanOf(answer), String(i + 1).padStart(6, '0'))
    assert.equal(answer.is === 'reply' && answer.message.fields[38], `A${String(i + 1).padStart(5, '0')}`)
  }
  assert.deepEqual([strays.length, link.state().open, peer.connections], [0, 0, 1])
})

test('a request without an answer is lost at its deadline, and the late reply is dropped', async (t) => {
  const { peer, clock, link, ask, strays } = await openUp(t)
  const answer = ask(1, 20_000)
  await until('it has arrived', () => peer.payments.length === 1)
  clock.advance(19_999)
  assert.equal(link.state().open, 1)
  clock.advance(1)
  assert.deepEqual(await answer, { is: 'lost', why: 'no answer in time', waitedMs: 20_000 })
  peer.send(replyTo(sale(1), '000'))
  await until('the late reply is seen', () => strays.length === 1)
  assert.equal(link.state().mode, 'up')
})

test('a suspended process reads the reply before it gives the request up, even after the deadline', async (t) => {
  const { peer, clock, ask } = await openUp(t)
  const [answered, silent] = [ask(1, 20_000), ask(2, 20_000)]
  await until('both have arrived', () => peer.payments.length === 2)
  clock.standStill(25_000)
  peer.send(
    replyTo(
      peer.payments.find((m) => m.fields[11] === '000001')!,
      '000',
    ),
  )
  // Its timers run before its sockets are read.
  clock.advance(0)
  assert.equal(stanOf(await answered), '000001')
  clock.advance(200)
  assert.deepEqual(await silent, { is: 'lost', why: 'no answer in time', waitedMs: 25_200 })
})

test('an answer without a MAC or with a wrong one is a stray, and the one with its MAC is still taken', async (t) => {
  const { peer, clock, ask, strays, kinds } = await openUp(t, { mac: lineMac })
  const answers = [ask(1), ask(2, 20_000)]
  await until('both have arrived', () => peer.payments.length === 2)
  for (const framing of [undefined, { ...lineMac, key: secret(Buffer.alloc(16)) }].map(openFraming)) {
    peer.framing = framing
    peer.send(replyTo(sale(1), '100'), replyTo(sale(2), '100'))
  }
  peer.framing = openFraming(lineMac)
  peer.send(replyTo(sale(1), '000'))
  const [first] = await Promise.all([answers[0], until('four are seen as strays', () => strays.length === 4)])
  assert.equal(first!.is === 'reply' && first!.message.fields[39], '000')
  assert.deepEqual(kinds, Array(4).fill('unauthentic'))
  clock.advance(20_000)
  assert.deepEqual(await answers[1], { is: 'lost', why: 'no answer in time, but one with a wrong MAC', waitedMs: 20_000 })
})

test('a doubled reply and a reply under a wrong STAN, time or terminal answer nothing', async (t) => {
  const { peer, link, ask, strays } = await openUp(t)
  const answers = [ask(1), ask(2)]
  await until('both have arrived', () => peer.payments.length === 2)
  const others = [{ 11: '000003' }, { 12: '260102030406' }, { 41: 'TERM2' }]
  peer.send(...others.map((other) => replyTo(sale(1), '100', other)), replyTo(sale(1), '000'), replyTo(sale(1), '100'))
  await until('four are seen as strays', () => strays.length === 4)
  assert.equal(link.state().open, 1)
  peer.send(replyTo(sale(2), '116'))
  const [first, second] = await Promise.all(answers)
  assert.equal(first!.is === 'reply' && first!.message.fields[39], '000')
  assert.equal(second!.is === 'reply' && second!.message.fields[39], '116')
})

test('a request waits on after a reply with its names that is not its answer', async (t) => {
  const { peer, clock, link, strays } = await openUp(t)
  const notOfFive = (reply: IsoMessage) => (reply.fields[4] === '000000000005' ? 'another amount' : undefined)
  const answers = [1, 2].map((stan) => link.ask(sale(stan), 20_000, always, notOfFive))
  await until('both have arrived', () => peer.payments.length === 2)
  for (const stan of [1, 2]) peer.send(replyTo(sale(stan), '000', { 4: '000000000005' }))
  await until('both are seen as strays', () => strays.length === 2)
  assert.equal(link.state().open, 2)
  peer.send(replyTo(sale(1), '116'))
  const answer = await answers[0]!
  assert.equal(answer.is === 'reply' && answer.message.fields[39], '116')
  clock.advance(20_000)
  const why = 'no answer in time, but that to another request: another amount'
  assert.deepEqual(await answers[1], { is: 'lost', why, waitedMs: 20_000 })
})

test('a frame that comes in two halves is one reply', async (t) => {
  const { peer, ask, strays } = await openUp(t)
  const answer = ask(1)
  await until('it has arrived', () => peer.payments.length === 1)
  const frame = pack(replyTo(sale(1), '000'))
  peer.socket!.write(Buffer.concat([pack(replyTo(sale(9), '000')), frame.subarray(0, 30)]))
  await until('the first half is read', () => strays.length === 1)
  peer.socket!.write(frame.subarray(30))
  assert.equal(stanOf(await answer), '000001')
})

test('frames of no length are no error: the answer behind them is taken, however they are cut', async (t) => {
  const { peer, link, ask } = await openUp(t)
  const answer = ask(1)
  await until('it has arrived', () => peer.payments.length === 1)
  peer.socket!.write(Buffer.alloc(6))
  const frame = Buffer.concat([Buffer.alloc(2), pack(replyTo(sale(1), '000'))])
  for (const part of [frame.subarray(0, 1), frame.subarray(1, 3), frame.subarray(3)]) peer.socket!.write(part)
  assert.equal(stanOf(await answer), '000001')
  assert.deepEqual([link.state().mode, peer.connections], ['up', 1])
})

test('a frame of no length is a sign of life, and none on a line with a MAC', async (t) => {
  const wire = new MemoryWire()
  const { clock } = await openUp(t, { connect: () => wire.open() })
  clock.advance(20_000)
  wire.push(Buffer.alloc(2))
  await new Promise(setImmediate)
  clock.advance(29_000)
  assert.equal(wire.writes.flat().length, 1, 'there is the sign-on alone')
  const secured = await openUp(t, { mac: lineMac })
  secured.clock.advance(20_000)
  secured.peer.socket!.write(Buffer.concat([Buffer.alloc(2), pack(replyTo(sale(9), '000'))]))
  await until('it is read', () => secured.strays.length === 1)
  secured.clock.advance(10_000)
  await until('an echo was sent', () => secured.peer.networkMessages('831') === 1)
})

for (const type of ['1804', '1805'])
  test(`an echo of the acquirer (${type}/831) is answered with 1814 under its names, with and without a MAC`, async (t) => {
    for (const mac of [undefined, lineMac]) {
      const { peer, link, strays } = await openUp(t, mac ? { mac } : {})
      peer.send({ type, fields: { 7: '0102030405', 11: '777777', 12: '260102030405', 24: '831', 32: '123456' } })
      await until('it is answered', () => peer.received.some((message) => message.type === '1814'))
      const answer = peer.received.find((message) => message.type === '1814')
      const fields = { 7: '0102030405', 11: '777777', 12: '260102030405', 24: '831', 32: '123456', 39: '800' }
      assert.deepEqual(answer, { type: '1814', fields })
      assert.deepEqual([link.state().mode, strays], ['up', []])
    }
  })

const breaks: [title: string, why: RegExp, breakLine: (peer: AcquirerPeer) => void][] = [
  ['the acquirer ends the connection', /ended the connection/, (peer) => peer.socket!.end()],
  ['the connection is reset', /ECONNRESET|closed/, (peer) => peer.socket!.resetAndDestroy()],
  ['half a frame comes, then the end', /ended/, (peer) => peer.socket!.end(pack(replyTo(sale(1), '000')).subarray(0, 40))],
  ['a frame is too long', /^a frame of 18245 bytes$/, (peer) => peer.socket!.write('GET / HTTP/1.1\r\n\r\n')],
  ['a frame cannot be read', /^unreadable message: the type/, (peer) => peer.socket!.write(Buffer.of(0, 4, 1, 2, 3, 4))],
]

for (const [title, why, breakLine] of breaks) {
  test(`when ${title}, open requests are lost and never sent again, and the line comes back`, async (t) => {
    const { peer, clock, link, ask } = await openUp(t)
    const answers = [ask(1), ask(2)]
    await until('both have arrived', () => peer.payments.length === 2)
    breakLine(peer)
    for (const answer of await Promise.all(answers)) {
      assert.equal(answer.is, 'lost')
      assert.match(answer.is === 'lost' ? answer.why : '', why)
    }
    assert.equal(link.state().mode, 'down')
    clock.advance(usualLimits.backoffFirstMs)
    await until('the line is up again', () => link.state().mode === 'up')
    const again = ask(3)
    await until('the third has arrived', () => peer.payments.length === 3)
    assert.deepEqual(
      peer.payments.map((m) => m.fields[11]),
      ['000001', '000002', '000003'],
    )
    peer.send(replyTo(sale(3), '000'))
    assert.equal(stanOf(await again), '000003')
  })
}

test('requests are held while the line is down, and sent once when it is up', async (t) => {
  const { peer, clock, link, ask } = await openUp(t)
  peer.socket!.destroy()
  await until('the line is down', () => link.state().mode === 'down')
  const answer = ask(1)
  assert.deepEqual(link.state(), { mode: 'down', held: 1, open: 0 })
  clock.advance(usualLimits.backoffFirstMs)
  await until('it has arrived', () => peer.payments.length === 1)
  peer.send(replyTo(sale(1), '000'))
  assert.equal(stanOf(await answer), '000001')
  assert.deepEqual([peer.payments.length, peer.connections], [1, 2])
})

test('a request not sent within thirty seconds, or before its deadline, is never sent', async (t) => {
  const { peer, clock, link, ask } = await openLine(t, { network: {} })
  const answers = [ask(1, 120_000), ask(2, 10_000)]
  assert.equal(link.state().held, 2)
  clock.advance(10_000)
  assert.deepEqual(await answers[1], { is: 'not sent', why: 'it could not be sent in time' })
  assert.equal(link.state().held, 1)
  clock.advance(20_000)
  assert.deepEqual(await answers[0], { is: 'not sent', why: 'it could not be sent in time' })
  assert.equal((await ask(3, 30_000)).is, 'not sent')
  assert.equal(peer.payments.length, 0)
})

test('right before the write the connector asks whether it may still send, and a no means not sent', async (t) => {
  const { peer, ask, link } = await openLine(t)
  let allowed = true
  let asked = 0
  const answer = ask(1, 60_000, () => (asked++, allowed))
  const other = ask(2)
  assert.equal(asked, 0)
  allowed = false
  assert.deepEqual(await answer, { is: 'not sent', why: 'it may no longer be sent' })
  await until('the other has arrived', () => peer.payments.length === 1)
  assert.deepEqual([asked, peer.payments[0]!.fields[11], link.state().open], [1, '000002', 1])
  peer.send(replyTo(sale(2), '000'))
  await other
})

test('beyond the bound on open requests, and under a name that is open, nothing is sent', async (t) => {
  const { peer, ask } = await openUp(t, { limits: { maxOpen: 2 } })
  const first = ask(1)
  assert.deepEqual(await ask(1), { is: 'not sent', why: 'a request of this name is open' })
  const second = ask(2)
  assert.deepEqual(await ask(3), { is: 'not sent', why: '2 requests are open' })
  await until('two have arrived', () => peer.payments.length === 2)
  assert.deepEqual(await ask(4), { is: 'not sent', why: '2 requests are open' })
  peer.send(replyTo(sale(1), '000'), replyTo(sale(2), '000'))
  await Promise.all([first, second])
  const third = ask(1)
  await until('a name is free again', () => peer.payments.length === 3)
  peer.send(replyTo(sale(1), '000'))
  assert.equal((await third).is, 'reply')
})

test('a message that cannot be packed is not sent, and the line stays up', async (t) => {
  const { link } = await openUp(t)
  const answer = await link.ask({ type: '1200', fields: { ...sale(1).fields, 49: 'EURO' } }, 60_000, always, anyAnswer)
  const why = 'the message cannot be packed: field 49 is longer than 3'
  assert.deepEqual(answer, { is: 'not sent', why, isUnpackable: true })
  assert.equal(link.state().mode, 'up')
})

test('requests of one tick are sent in one write', async (t) => {
  const wire = new MemoryWire()
  const { link, ask } = await openUp(t, { connect: () => wire.open() })
  const answers = Array.from({ length: 10 }, (_, i) => ask(i + 1))
  await until('all are written', () => link.state().open === 10)
  assert.deepEqual(
    wire.writes.map((messages) => messages.length),
    [1, 10],
  )
  wire.destroy()
  await Promise.all(answers)
})

test('a request that the acquirer does not take is held, so that it can still be cancelled', async (t) => {
  const wire = new MemoryWire()
  const { clock, link, ask } = await openUp(t, { connect: () => wire.open() })
  wire.stuck = []
  const answers = Array.from({ length: 100 }, (_, i) => ask(i + 1))
  await until('the transport is full', () => wire.stuck!.length === 1 && link.state().open > 0)
  const { open: written, held } = link.state()
  assert.ok(written < 30 && held === 100 - written, `${written} were written`)
  const release = wire.stuck
  wire.stuck = undefined
  for (const done of release) done()
  await until('the rest is written too', () => link.state().open === 100)
  assert.equal(wire.writes.flat().length, 101)
  clock.advance(60_000)
  for (const answer of await Promise.all(answers)) assert.equal(answer.is, 'lost')
})
