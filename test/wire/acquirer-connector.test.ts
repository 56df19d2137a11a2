import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Authorisation, Connector, GateSettings, Outcome, Reversal } from '../../src/acquirer/connector.ts'
import { openIso8583Connector } from '../../src/acquirer/iso8583/connector.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import { AcquirerPeer, replyTo, until } from '../harness/acquirer-peer.ts'

const always = (): boolean => true
const deadline = (): number => systemClock.monotonic() + 60_000

const gateAt = (port: number): GateSettings => ({
  gateId: 1n,
  host: '127.0.0.1',
  port,
  terminalId: 'TERM1',
  cardAcceptorId: 'SHOP',
  cardAcceptorName: 'Sandbox shop',
  acquirerId: '123456',
  mcc: '5999',
  answerTimeoutMs: 30_000,
})

const ask: Authorisation = {
  kind: 'sale',
  orderId: 170n,
  stan: '000017',
  rrn: '000000000017',
  startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  amountMinor: 10_500n,
  currencyNumeric: '840',
  pan: secret('4111111111111111'),
  expiry: '3012',
  cvv2: secret('98765'),
  repeat: false,
}

const advice: Reversal = {
  orderId: 170n,
  reason: 'no answer',
  amountMinor: 10_500n,
  currencyNumeric: '840',
  stan: '000018',
  rrn: '000000000018',
  startedAt: ask.startedAt,
  original: { kind: 'sale', stan: ask.stan, rrn: ask.rrn, startedAt: ask.startedAt },
  repeat: false,
}

async function open(t: TestContext): Promise<{ peer: AcquirerPeer; connector: Connector; lines: string[] }> {
  const peer = await AcquirerPeer.listen()
  const lines: string[] = []
  const log = openLog({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
  const connector = openIso8583Connector({ gate: gateAt(peer.port), clock: systemClock, random: systemRandom, log })
  t.after(async () => {
    const closed = connector.close()
    await peer.stop()
    await closed
  })
  await until('the line is up', () => connector.state().up)
  return { peer, connector, lines }
}

test('a sale is approved over the wire, and the log shows neither the card, nor its expiry, nor its CVV2', async (t) => {
  const { peer, connector, lines } = await open(t)
  const outcome = connector.authorise(ask, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  assert.equal(connector.state().open, 1)
  const request = peer.payments[0]!
  peer.send(replyTo(request, '000', { 38: 'A1B2C3' }), replyTo(request, '000', { 44: 'again, for 4111111111111111' }))
  const data = { rrn: '000000000017', terminalId: 'TERM1', approvalCode: 'A1B2C3' }
  assert.deepEqual(await outcome, { is: 'approved', actionCode: '000', data })
  await until('the doubled reply is logged', () => lines.some((line) => line.includes('nobody waits for')))
  // What is said of the line itself has a port and the time of day, which may read like anything.
  const logged = lines.filter((line) => !/"port":|"message":"18/.test(line)).join('')
  assert.match(logged, /"gate":"1".*"message":"1200 2=411111\*{6}1111 3=000000 4=000000010500/)
  for (const hidden of ['4111111111111111', '98765', '3012']) assert.ok(!logged.includes(hidden), `${hidden} is in the log`)
})

test('a decline is a definite answer, and a lost answer is unknown', async (t) => {
  const { peer, connector } = await open(t)
  const declined = connector.authorise(ask, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  peer.send(replyTo(peer.payments[0]!, '911'))
  assert.deepEqual(await declined.then(({ is }) => is), 'declined')
  const lost = connector.authorise({ ...ask, stan: '000019' }, deadline(), always)
  await until('the next has arrived', () => peer.payments.length === 2)
  peer.socket!.end()
  const { waitedMs, ...unknown } = (await lost) as Extract<Outcome, { is: 'unknown' }>
  assert.deepEqual(unknown, { is: 'unknown', why: 'the acquirer ended the connection' })
  assert.ok(waitedMs! < 10_000, 'it says how long it waited')
})

test('a reversal is acknowledged over the wire', async (t) => {
  const { peer, connector } = await open(t)
  const outcome = connector.reverse(advice, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  peer.send(replyTo(peer.payments[0]!, '400'))
  assert.deepEqual(await outcome, { is: 'acknowledged', actionCode: '400' })
})

test('what may not be sent, or cannot be spelled, is not sent', async (t) => {
  const { peer, connector } = await open(t)
  assert.deepEqual(await connector.authorise(ask, deadline(), () => false), { is: 'not sent', why: 'it may no longer be sent' })
  const tooMuch = await connector.reverse({ ...advice, amountMinor: 10n ** 12n }, deadline(), always)
  assert.deepEqual(tooMuch, { is: 'not sent', why: 'the message cannot be packed: field 4 is longer than 12' })
  assert.equal(peer.payments.length, 0)
})

test('settings that fit no message are told when the connector is opened, before anything is connected', () => {
  const log = openLog({ level: 'silent', destination: { write: () => {} } })
  const gate = gateAt(1)
  const opening = (change: Partial<GateSettings>) => (): void => {
    openIso8583Connector({ gate: { ...gate, ...change }, clock: systemClock, random: systemRandom, log })
  }
  assert.throws(opening({ terminalId: 'TERMINAL1' }), { message: 'field 41 is longer than 8' })
  assert.throws(opening({ acquirerId: '' }), { message: 'field 32 is empty' })
  assert.throws(opening({ mcc: 'shop' }), { message: 'field 26 has a character that n has not' })
})
