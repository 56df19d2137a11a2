import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { pack } from '../../../src/acquirer/iso8583/codec.ts'
import { usualLimits } from '../../../src/acquirer/iso8583/link-limits.ts'
import { openFraming } from '../../../src/acquirer/iso8583/mac.ts'
import { lineMac, MemoryWire, openLine, openUp, sale } from '../../harness/acquirer/acquirer-line.ts'
import { replyTo, until } from '../../harness/acquirer/acquirer-peer.ts'

test('a sign-on without an answer, or refused, is tried again on a new connection', async (t) => {
  const { peer, clock, link, ask } = await openLine(t, { network: {} })
  await until('the sign-on has arrived', () => peer.networkMessages('801') === 1)
  const answer = ask(1)
  clock.advance(usualLimits.answerNetworkMs)
  assert.equal(link.state().mode, 'down')
  peer.network = { 801: '909' }
  clock.advance(usualLimits.backoffFirstMs)
  await until('the second is refused', () => peer.networkMessages('801') === 2 && link.state().mode === 'down')
  peer.network = { 801: '800' }
  clock.advance(usualLimits.backoffLongestMs)
  await until('what was held is sent', () => peer.payments.length === 1)
  assert.deepEqual([link.state().mode, peer.connections], ['up', 3])
  peer.send(replyTo(sale(1), '000'))
  await answer
})

test('silence is broken by an echo, and an echo that is answered keeps the line', async (t) => {
  const { peer, clock, link, ask } = await openUp(t)
  clock.advance(usualLimits.echoMs - 1)
  const answer = ask(1, 200_000)
  await until('the request has arrived', () => peer.payments.length === 1)
  peer.send(replyTo(sale(1), '000'))
  await answer
  clock.advance(usualLimits.echoMs - 1)
  assert.deepEqual([peer.networkMessages('831'), clock.next()], [0, 1])
  for (const echoes of [1, 2]) {
    clock.advance(clock.next()!)
    await until('the echo has arrived', () => peer.networkMessages('831') === echoes)
    // The answer to a message sent after it shows that the echo's own was read.
    const later = ask(1 + echoes, 200_000)
    await until('the next has arrived', () => peer.payments.length === 1 + echoes)
    peer.send(replyTo(sale(1 + echoes), '000'))
    await later
    clock.advance(usualLimits.answerNetworkMs)
    assert.equal(link.state().mode, 'up')
  }
  assert.equal(peer.connections, 1)
})

test('an echo without an answer ends the connection, and what is open is lost', async (t) => {
  const { peer, clock, link, ask } = await openUp(t, { network: { 801: '800' } })
  const answer = ask(1, 200_000)
  await until('it has arrived', () => peer.payments.length === 1)
  clock.advance(usualLimits.echoMs)
  await until('the echo has arrived', () => peer.networkMessages('831') === 1)
  clock.advance(usualLimits.answerNetworkMs - 1)
  assert.equal(link.state().mode, 'up')
  clock.advance(1)
  assert.deepEqual(await answer, { is: 'lost', why: 'no answer to an echo', waitedMs: 35_000 })
  assert.equal(link.state().mode, 'down')
})

test('an answer without a MAC keeps no line that has a key, neither to an echo nor to the sign-on', async (t) => {
  const down: string[] = []
  const log = (line: string) => void (line.includes('line is down') && down.push((JSON.parse(line) as { why: string }).why))
  const { peer, clock, strays, kinds } = await openUp(t, { mac: lineMac, log })
  peer.framing = { ...openFraming(lineMac), pack }
  clock.advance(usualLimits.echoMs)
  await until('the answer to the echo is a stray', () => strays.length === 1)
  clock.advance(usualLimits.answerNetworkMs)
  clock.advance(usualLimits.backoffFirstMs)
  await until('so is that to the next sign-on', () => down.length === 2)
  assert.deepEqual(down, ['no answer to an echo', 'an answer without a MAC to the sign-on'])
  assert.deepEqual(kinds, ['unauthentic', 'unauthentic'])
})

test('a process that stood still while an echo was under way reads what came meanwhile, and keeps the line', async (t) => {
  const { peer, clock, link, ask } = await openUp(t, { network: { 801: '800' } })
  const answer = ask(1, 200_000)
  await until('it has arrived', () => peer.payments.length === 1)
  clock.advance(usualLimits.echoMs)
  await until('the echo has arrived', () => peer.networkMessages('831') === 1)
  clock.standStill(60_000)
  peer.send(replyTo(sale(1), '000'))
  clock.advance(0)
  assert.equal((await answer).is, 'reply')
  clock.advance(200)
  assert.equal(link.state().mode, 'up')
})

test('each failure to connect doubles the wait, with jitter, up to five seconds, and a sign-on resets it', async (t) => {
  // No process listens on port 1; another process could use a released port by now.
  let isAway = false
  const { peer, clock, link } = await openUp(t, {
    connect: (host, port) => connect({ host, port: isAway ? 1 : port, noDelay: true }),
  })
  isAway = true
  peer.socket!.destroy()
  const waits: number[] = []
  for (let i = 0; i < 9; i++) {
    await until('the line is down', () => link.state().mode === 'down')
    waits.push(clock.next()!)
    clock.advance(waits.at(-1)!)
    assert.equal(link.state().mode, 'connecting')
  }
  for (const [i, wait] of waits.entries()) {
    const longest = Math.min(100 * 2 ** i, 5_000)
    assert.ok(wait >= longest / 2 && wait <= longest, `wait ${i} is ${wait} ms`)
  }
  assert.ok(new Set(waits.slice(6)).size > 1, `no jitter in ${waits.join(' ')}`)
  await until('the line is down', () => link.state().mode === 'down')
  isAway = false
  clock.advance(5_000)
  await until('the line is up', () => link.state().mode === 'up')
  peer.socket!.destroy()
  await until('the line is down', () => link.state().mode === 'down')
  assert.ok(clock.next()! <= 100)
})

test('closing signs off, loses what is open, does not send what is held, and takes nothing more', async (t) => {
  const { peer, link, ask } = await openUp(t)
  const sent = ask(1)
  await until('it has arrived', () => peer.payments.length === 1)
  const held = ask(2)
  const closed = link.close()
  assert.deepEqual(await sent, { is: 'lost', why: 'the line was closed', waitedMs: 0 })
  assert.deepEqual(await held, { is: 'not sent', why: 'the line was closed' })
  assert.deepEqual(await ask(3), { is: 'not sent', why: 'the line is closed' })
  await closed
  assert.deepEqual([peer.networkMessages('802'), peer.payments.length, link.state().mode], [1, 1, 'closed'])
})

test('closing ends a line that is signing on or down, and does not wait long for an acquirer to hang up', async (t) => {
  const signing = await openLine(t, { network: {} })
  await until('the sign-on has arrived', () => signing.peer.networkMessages('801') === 1)
  await signing.link.close()
  const down = await openUp(t)
  down.peer.socket!.destroy()
  await until('the line is down', () => down.link.state().mode === 'down')
  await down.link.close()
  assert.equal(down.clock.next(), undefined)
  const wire = new MemoryWire()
  const stubborn = await openUp(t, { connect: () => wire.open() })
  const closed = stubborn.link.close()
  assert.equal(stubborn.clock.next(), usualLimits.answerNetworkMs)
  stubborn.clock.advance(usualLimits.answerNetworkMs)
  await closed
  assert.deepEqual(
    wire.writes.flat().map((message) => message.fields[24]),
    ['801', '802'],
  )
})
