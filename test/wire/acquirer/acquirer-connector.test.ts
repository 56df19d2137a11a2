import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GateSettings, Outcome } from '../../../src/acquirer/connector.ts'
import { pack } from '../../../src/acquirer/iso8583/codec.ts'
import { openIso8583Connector } from '../../../src/acquirer/iso8583/connector.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import type { IsoFields } from '../../../src/spec/iso8583.ts'
import { advice, ask, deadline, gate, openConnector } from '../../harness/acquirer/acquirer-connector.ts'
import { always } from '../../harness/acquirer/acquirer-line.ts'
import { HandClock, replyTo, until } from '../../harness/acquirer/acquirer-peer.ts'

type Answered = Extract<Outcome, { is: 'approved' | 'declined' }>

test('a sale is approved over the wire, and the log shows neither the card, nor its expiry, nor its CVV2', async (t) => {
  const { peer, connector, lines } = await openConnector(t)
  const outcome = connector.authorise({ ...ask, cvv2: secret('98765') }, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  assert.equal(connector.state().open, 1)
  const request = peer.payments[0]!
  peer.send(replyTo(request, '000', { 38: 'A1B2C3' }), replyTo(request, '000', { 44: 'again, for 4111111111111111' }))
  const processedAt = Math.floor(ask.startedAt / 1_000) * 1_000
  const data = { rrn: '000000000017', terminalId: 'TERM1', approvalCode: 'A1B2C3', processedAt }
  assert.deepEqual(await outcome, { is: 'approved', actionCode: '000', data })
  await until('the doubled reply is logged', () => lines.some((line) => line.includes('no request is waiting for it')))
  // Lines about the connection have a port and the time of day, which may read like anything.
  const logged = lines.filter((line) => !/"port":|"message":"18/.test(line)).join('')
  assert.match(logged, /"gate":"1".*"message":"1200 2=411111\*{6}1111 3=000000 4=000000010500/)
  for (const hidden of ['4111111111111111', '98765', '3012']) assert.ok(!logged.includes(hidden), `${hidden} is in the log`)
})

test('a decline is a definite answer, and a lost answer is unknown', async (t) => {
  const { peer, connector } = await openConnector(t)
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
  const { peer, connector } = await openConnector(t)
  const outcome = connector.reverse(advice, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  peer.send(replyTo(peer.payments[0]!, '400'))
  assert.deepEqual(await outcome, { is: 'acknowledged', actionCode: '400' })
})

test('texts of ISO 8859-1 leave an approval an approval and a decline a decline, and the line stays', async (t) => {
  const { peer, connector, lines } = await openConnector(t)
  const outcomes = ['000', '116'].map((_, i) =>
    connector.authorise({ ...ask, stan: `00002${i}`, rrn: `00000000002${i}` }, deadline(), always),
  )
  await until('both have arrived', () => peer.payments.length === 2)
  const texts: IsoFields = { 44: 'refus@ ^ ce jour~', 62: { IB: 'Cr@dit Agricole', NR: 'r@f', TX: 'T1' } }
  const bytes: Record<string, string> = { '@': '\xe9', '^': '\xe0', '~': '\x07' }
  for (const [i, code] of ['000', '116'].entries()) {
    const plain = pack(replyTo(peer.payments[i]!, code, texts)).toString('latin1')
    peer.socket!.write(
      plain.replace(/[@^~]/g, (character) => bytes[character]!),
      'latin1',
    )
  }
  const [paid, refused] = (await Promise.all(outcomes)) as [Answered, Answered]
  for (const { data } of [paid, refused])
    assert.deepEqual([data.issuerName, data.processorTxId, data.networkReference], ['Crédit Agricole', 'T1', undefined])
  assert.deepEqual([paid.is, refused.is, 'text' in refused && refused.text], ['approved', 'declined', 'refusé à ce jour'])
  assert.ok(!lines.some((line) => line.includes('line is down')))
})

test('a request that may not be sent, or cannot be encoded, is not sent', async (t) => {
  const { peer, connector } = await openConnector(t)
  assert.deepEqual(await connector.authorise(ask, deadline(), () => false), { is: 'not sent', why: 'it may no longer be sent' })
  const tooMuch = await connector.reverse({ ...advice, amountMinor: 10n ** 12n }, deadline(), always)
  const why = 'the message cannot be packed: field 4 is longer than 12'
  assert.deepEqual(tooMuch, { is: 'not sent', why, isUnpackable: true })
  assert.equal(peer.payments.length, 0)
})

test('settings that fit no message are reported when the connector opens, before it connects', () => {
  const log = openLog({ level: 'silent', destination: { write: () => {} } })
  const opening = (change: Partial<GateSettings>) => (): void => {
    openIso8583Connector({ gate: { ...gate, ...change }, clock: systemClock, random: systemRandom, log, onStray: () => {} })
  }
  assert.throws(opening({ terminalId: 'TERMINAL1' }), { message: 'field 41 is longer than 8' })
  assert.throws(opening({ acquirerId: '' }), { message: 'field 32 is empty' })
  assert.throws(opening({ mcc: 'shop' }), { message: 'field 26 has a character that n has not' })
})

test('an answer to another request is a stray: logged as an error and reported; the next answer is taken', async (t) => {
  const { peer, connector, lines, strays } = await openConnector(t)
  const outcome = connector.authorise(ask, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  const request = peer.payments[0]!
  peer.send(replyTo(request, '000', { 4: '000000010499' }))
  await until('the stray is reported', () => strays.length === 1)
  assert.deepEqual([strays, connector.state().open], [[{ stan: '000017', terminalId: 'TERM1', kind: 'mismatched' }], 1])
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find((line) => line['mismatch'] !== undefined)
  const expected = ['error', 'field 4 differs from the request']
  assert.deepEqual([logged?.['level'], logged?.['mismatch']], expected)
  peer.send(replyTo(request, '116'))
  assert.equal((await outcome).is, 'declined')
})

test('an answer under the STAN of the next request does not affect it: the next gets its own, the first is lost', async (t) => {
  const clock = new HandClock()
  const { peer, connector, strays } = await openConnector(t, clock)
  const first = connector.authorise(ask, 60_000, always)
  const second = connector.authorise({ ...ask, stan: '000018', rrn: '000000000018' }, 60_000, always)
  await until('both have arrived', () => peer.payments.length === 2)
  const [one, two] = peer.payments
  peer.send(replyTo(one!, '000', { 11: '000018' }))
  await until('the stray is reported', () => strays.length === 1)
  peer.send(replyTo(two!, '116'))
  assert.equal((await second).is, 'declined')
  clock.advance(30_000)
  assert.deepEqual(await first, { is: 'unknown', why: 'no answer in time', waitedMs: 30_000 })
})

test('an acknowledgement between two tries of a reversal counts, once and of that reversal alone', async (t) => {
  const clock = new HandClock()
  const { peer, connector, lines, strays } = await openConnector(t, clock)
  const late: string[] = []
  const lost = connector.reverse(advice, 60_000, always, (actionCode) => late.push(actionCode))
  await until('it has arrived', () => peer.payments.length === 1)
  clock.advance(30_000)
  assert.deepEqual(await lost, { is: 'unknown', why: 'no answer in time', waitedMs: 30_000 })
  const [request] = peer.payments
  const others: [code: string, of: IsoFields][] = [
    ['400', { 37: '000000000019' }],
    ['400', { 4: '000000000001' }],
    ['909', {}],
  ]
  peer.send(...others.map(([code, of]) => replyTo(request!, code, of)), replyTo(request!, '400'), replyTo(request!, '400'))
  await until('all are read', () => strays.length === 4)
  assert.deepEqual(late, ['400'])
  assert.deepEqual([...new Set(strays.map(({ kind }) => kind))], ['unexpected'])
  assert.equal(lines.filter((line) => line.includes('a late acknowledgement was accepted')).length, 1)
})

test('the late answer to a payment counts for nothing', async (t) => {
  const clock = new HandClock()
  const { peer, connector, strays } = await openConnector(t, clock)
  const lost = connector.authorise(ask, 60_000, always)
  await until('it has arrived', () => peer.payments.length === 1)
  clock.advance(30_000)
  assert.equal((await lost).is, 'unknown')
  peer.send(replyTo(peer.payments[0]!, '000'))
  await until('it is a stray', () => strays.length === 1)
})

test('a reversal of digits that lost their zeros names its original in twelve', async (t) => {
  const { peer, connector } = await openConnector(t)
  const outcome = connector.reverse({ ...advice, original: { ...advice.original, rrn: '100062' } }, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  assert.equal(peer.payments[0]!.fields[37], '000000100062')
  peer.send(replyTo(peer.payments[0]!, '400'))
  assert.equal((await outcome).is, 'acknowledged')
})

test('an acknowledgement of another reversal is a stray, and the next is taken', async (t) => {
  const { peer, connector, strays } = await openConnector(t)
  const outcome = connector.reverse(advice, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  peer.send(replyTo(peer.payments[0]!, '400', { 37: '000000000019' }))
  await until('the stray is reported', () => strays.length === 1)
  peer.send(replyTo(peer.payments[0]!, '400'))
  assert.deepEqual(await outcome, { is: 'acknowledged', actionCode: '400' })
})
