import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Entry } from '../../../simulators/acquirer/entry.ts'
import { Ledger } from '../../../simulators/acquirer/ledger.ts'

const digits = (number: number, length: number): string => String(number).padStart(length, '0')

const entry = (number: number, changes: Partial<Entry> = {}): Entry => ({
  terminal: 'TERM0001',
  stan: digits(number % 1_000_000, 6),
  time12: digits(300_101_120_000 + Math.floor(number / 1_000_000), 12),
  rrn: digits(number, 12),
  orderId: String(number),
  kind: 'sale',
  card: '411111******1111',
  amountMinor: BigInt(number + 1),
  currency: '840',
  actionCode: '000',
  approvalCode: 'A1B2C3',
  state: 'approved',
  answered: true,
  mute: false,
  receivedAt: 1_700_000_000_000 + number,
  reversedAt: undefined,
  original: undefined,
  ...changes,
})

const namesOf = ({ terminal, stan, time12 }: Entry) => ({ terminal, stan, time12 })
const reversalOf = (number: number) => ({ terminal: 'TERM0001', stan: digits(number, 6), time12: '310101120000' })

/** All that the ledger can be asked for. */
const read = (ledger: Ledger) => [ledger.size, ledger.search({ limit: Infinity }), ledger.summary(), ledger.balances()]

describe('the ledger of the simulated acquirer', () => {
  // oxfmt-ignore
  const shapes: [what: string, changes: Partial<Entry>][] = [
    ['a usual sale',                  {}],
    ['a decline',                     { state: 'declined', actionCode: '116', approvalCode: undefined }],
    ['one not answered',              { answered: false, mute: true }],
    ['one taken back',                { state: 'reversed', reversedAt: 1_700_000_000_001 }],
    ['the largest amount',            { amountMinor: 999_999_999_999n, currency: '978' }],
    ['the longest card',              { card: '411111*********1111' }],
    ['a short card and terminal',     { card: '00***0001', terminal: 'T' }],
    ['no order',                      { orderId: '' }],
    ['an order id of 16 characters',  { orderId: 'x'.repeat(16) }],
    ['an order id of 994 characters', { orderId: 'x'.repeat(994) }],
  ]
  for (const [what, changes] of shapes) {
    test(`${what} is read back as it was booked`, () => {
      const ledger = new Ledger(() => {})
      const booked = entry(17, changes)
      ledger.book(entry(16, { orderId: 'x'.repeat(993) }))
      ledger.book(booked)
      assert.deepEqual(ledger.find(namesOf(booked)), booked)
      assert.deepEqual(ledger.findByRrn(booked.terminal, booked.rrn), booked)
      assert.deepEqual(
        ledger.search({ orderId: booked.orderId, limit: 2 }).entries.map(({ rrn }) => rrn),
        [booked.rrn],
      )
    })
  }

  test('each of 10,000 entries is found by its names, its RRN and its order, and by nothing else', () => {
    const ledger = new Ledger(() => {})
    const entries = Array.from({ length: 10_000 }, (_, number) => entry(number, { orderId: `${number % 5000}` }))
    for (const one of entries) ledger.book(one)
    for (const [number, one] of entries.entries()) {
      assert.equal(ledger.find(namesOf(one))?.rrn, one.rrn)
      assert.equal(ledger.findByRrn('TERM0001', one.rrn)?.stan, one.stan)
      assert.equal(ledger.find({ ...namesOf(one), time12: '310101120000' }), undefined)
      assert.equal(ledger.findByRrn('TERM000', one.rrn), undefined)
      const ofOrder = ledger.search({ orderId: one.orderId, limit: Infinity })
      assert.deepEqual(
        ofOrder.entries.map(({ rrn }) => Number(rrn)),
        [number % 5000, (number % 5000) + 5000],
      )
    }
    assert.deepEqual(ledger.search({ orderId: '5000', limit: 1 }), { total: 0, entries: [] })
    assert.equal(ledger.search({ limit: 3 }).total, 10_000)
  })

  test('a text that is longer than its field is refused', () => {
    assert.throws(() => new Ledger(() => {}).book(entry(1, { rrn: '0'.repeat(13) })), /rrn of an entry is longer than 12/)
  })

  test('replayed from its lines it reads the same', () => {
    const lines: string[] = []
    const ledger = new Ledger((line) => lines.push(line))
    const held = entry(1, { kind: 'preauth', amountMinor: 1000n })
    ledger.book(held)
    ledger.book(entry(2, { kind: 'capture', amountMinor: 600n, original: namesOf(held), orderId: '1' }))
    ledger.book(entry(3, { kind: 'capture', amountMinor: 300n, original: namesOf(held), orderId: '1' }))
    ledger.book(entry(4, { kind: 'return', amountMinor: 100n, original: namesOf(entry(2)), orderId: '1' }))
    ledger.book(entry(5, { answered: false }))
    ledger.markAnswered(entry(5))
    ledger.reverse(reversalOf(6), namesOf(entry(3)), ledger.find(namesOf(entry(3))), 1_700_000_000_100)
    ledger.reverse(reversalOf(7), namesOf(entry(8)), undefined, 1_700_000_000_100)
    const again = new Ledger(() => assert.fail('a replay writes nothing'))
    for (const line of lines) again.replay(line)
    assert.deepEqual(read(again), read(ledger))
    assert.equal(again.find(namesOf(entry(5)))?.answered, true)
    assert.equal(again.isForestalled(namesOf(entry(8))), true)
    assert.equal(again.leftToCapture(held), 400n)
    assert.equal(again.leftToReturn(held), 500n)
    assert.equal(again.leftToReturn(entry(2)), 500n)
  })
})
