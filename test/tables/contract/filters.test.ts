import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { comparable, type FilterRule, type PaymentFacts, type RuleFacts } from '../../../src/merchant/filter.ts'
import { readEntries } from '../../../src/operator/configuration/filter-settings.ts'
import { isMisfit } from '../../../src/operator/refused.ts'
import { emailSpellings, phoneSpellings } from '../../../src/operator/persons/subject.ts'
import { screenPayment } from '../../../src/risk/screening.ts'
import { limitsOn } from '../../../src/risk/limits.ts'
import { counted, countedValue, usedOf, type Bucket, type LimitRule } from '../../../src/risk/velocity.ts'

const payment: PaymentFacts = {
  pan: '4111111111111111',
  cardHash: '0123456789abcdef0123456789abcdef',
  email: 'Eve@Example.com',
  ip: '198.51.100.7',
  phones: ['+49 (30) 123-456'],
  country: 'DE',
  cardCountry: 'US',
  purpose: 'wallet 77',
  amountMinor: 1_050n,
  currency: 'USD',
  at: Date.UTC(2026, 6, 1, 23, 30),
}

const rule = (facts: RuleFacts, more: Partial<FilterRule> = {}): FilterRule => ({
  filterNo: 1,
  name: 'a rule',
  code: '3001',
  score: 100,
  facts,
  entries: new Set(),
  ...more,
})
const none = () => []
const judge = (...rules: FilterRule[]) => screenPayment(rules, payment, none, payment.at)
const listed = (
  is: 'black' | 'white' | 'loyalty',
  of: 'card' | 'bin' | 'email' | 'ip' | 'phone' | 'country' | 'card-country' | 'purpose',
  value: string,
  more: Partial<FilterRule> = {},
) => rule({ is, of }, { entries: new Set([comparable(of, value)!]), ...more })

describe('lists', () => {
  // oxfmt-ignore
  const hits = [
    ['card', '0123456789abcdef0123456789abcdef'], ['bin', '4111'], ['bin', '41111111111'], ['email', 'eve@EXAMPLE.com'], ['email', '@example.COM'],
    ['ip', '198.51.100.7'], ['ip', '198.51.100.99/24'], ['ip', '0.0.0.0/0'], ['ip', '::ffff:198.51.100.7'], ['phone', '0049 30 123456'], ['phone', '+4930123456'],
    ['country', 'de'], ['card-country', 'US'], ['purpose', ' Wallet 77 '],
  ] as const
  for (const [of, value] of hits)
    test(`${of} ${value} is found`, () => {
      assert.deepEqual(judge(listed('black', of, value)).refusal, { code: '3001', message: 'Filtered: on a black list' })
    })
  // oxfmt-ignore
  const misses = [
    ['card', 'ffffffffffffffffffffffffffffffff'], ['bin', '4112'], ['bin', '41111111112'], ['email', 'adam@example.com'], ['email', '@ample.com'], ['ip', '198.51.100.8'],
    ['ip', '198.51.100.0/30'], ['ip', '::/0'], ['phone', '4930123457'], ['country', 'US'], ['card-country', 'DE'], ['purpose', 'wallet 7'],
  ] as const
  for (const [of, value] of misses)
    test(`${of} ${value} is not`, () => assert.equal(judge(listed('black', of, value)).refusal, undefined))
  // oxfmt-ignore
  const nonsense = [
    ['card', '4111111111111111'], ['bin', '123'], ['bin', '123456789012'], ['email', 'nobody'], ['email', `${'a'.repeat(127)}@b`], ['ip', '300.1.1.1'], ['ip', '10.0.0.0/33'], ['ip', '10.0.0.0/'], ['ip', '1.2.3.4/8/8'],
    ['phone', '12'], ['country', 'DEU'], ['country', 'UK'], ['country', 'ZZ'], ['card-country', 'XX'],
    ['ip', '198.18.7'], ['ip', '198.18.7/24'], ['ip', '10.1/16'], ['ip', '198'], ['ip', '001.002.010.020'], ['ip', '0x7f.0.0.1'], ['ip', '2130706433'], ['ip', 'fe80::1%eth0'],
    ['email', 'eve@b..example'], ['email', '@-a.example'], ['email', 'eve@example.'], ['phone', '1'.repeat(16)], ['ip', '1.2.3.4/08'],
    ['email', '*@example.com'], ['email', '@*.*.example'], ['email', 'eve@*.example'], ['email', '*.'], ['email', 'mailto:eve@example.com'], ['email', '<eve@example.com>'], ['card-country', ''], ['purpose', ' '], ['purpose', 'x'.repeat(129)], ['purpose', 'a\nb'],
  ] as const
  for (const [of, value] of nonsense)
    test(`${JSON.stringify(value)} cannot be a ${of}`, () => assert.equal(comparable(of, value), undefined))
  test('a card number cannot be given by --value', () => assert.ok(isMisfit(readEntries('card', ['4111111111111111']))))
  // oxfmt-ignore
  const spellings = [
    // of        listed                               payment                                                    found
    ['email',    '*.example.com',                     { email: 'eve@Mail.EXAMPLE.com' },                         true],
    ['email',    '@*.example.com',                    { email: 'eve@a.b.example.com' },                          true],
    ['email',    '*.example.com',                     { email: 'eve@example.com' },                              true],
    ['email',    'eve@example.com',                   { email: 'eve@example.com.' },                             true],
    ['email',    '*.example.com',                     { email: 'eve@notexample.com' },                           false],
    ['email',    '@example.com',                      { email: 'eve@mail.example.com' },                         false],
    ['email',    '@bücher.example',                   { email: 'eve@xn--bcher-kva.example' },                    true],
    ['email',    '@xn--bcher-kva.example',            { email: 'eve@BÜCHER.example' },                           true],
    ['email',    '*.bücher.example',                  { email: 'eve@mail.xn--bcher-kva.example' },               true],
    ['email',    '@bu\u0308cher.example',            { email: 'eve@b\u00fccher.example' },                     true],
    ['email',    'jos\u00e9@example.com',            { email: 'Jose\u0301@example.com' },                      true],
    ['phone',    '+49 (0)30 123456',                  {},                                                        true],
    ['phone',    '+44 20 7946 0958',                  { phones: ['020 7946 0958'], country: 'GB' },              true],
    ['phone',    '0044 20 7946 0958',                 { phones: ['(020) 7946-0958'], country: 'GB' },            true],
    ['phone',    '+44 20 7946 0958',                  { phones: ['020 7946 0958'], country: 'DE' },              false],
    ['phone',    '+44 20 7946 0958',                  { phones: ['020 7946 0958'], country: 'ZZ' },              false],
    ['phone',    '020 7946 0958',                     { phones: ['020 7946 0958'], country: 'GB' },              true],
  ] as const
  for (const [of, value, more, found] of spellings)
    test(`${of} ${value} is ${found ? 'found' : 'not found'} in ${JSON.stringify(more)}`, () => {
      const { refusal } = screenPayment([listed('black', of, value)], { ...payment, ...more }, none, 0)
      assert.equal(refusal !== undefined, found)
    })
  test('an entry that an earlier version stored unnormalised still counts', () => {
    const stored = rule({ is: 'black', of: 'email' }, { entries: new Set(['@bücher.example']) })
    assert.ok(screenPayment([stored], { ...payment, email: 'eve@Bücher.example' }, none, 0).refusal)
  })
  test('a limit counts an e-mail address as one, however it is spelled', () => {
    const values = ['jos\u00e9@bücher.example', 'JOSE\u0301@xn--bcher-kva.example'].map((email) =>
      countedValue('email', { ...payment, email }),
    )
    assert.equal(values[0], values[1])
  })
  test('a person is searched by every spelling of an e-mail address', () => {
    const spelled = emailSpellings(' Jos\u00e9@B\u00fccher.example ')
    for (const one of ['jos\u00e9@xn--bcher-kva.example', 'jose\u0301@b\u00fccher.example', 'jos\u00e9@bu\u0308cher.example'])
      assert.ok(spelled.includes(one), one)
    assert.ok(emailSpellings('jose\u0301@xn--bcher-kva.example').includes('jos\u00e9@b\u00fccher.example'))
    assert.deepEqual(emailSpellings('Eve@Example.com'), ['eve@example.com'])
  })
  // oxfmt-ignore
  const phones: readonly (readonly [said: string, all: readonly string[]])[] = [
    ['+44 20 7946 0000',    ['442079460000', '4402079460000', 'GB:2079460000']],
    ['+44 (0)20 7946 0000', ['4402079460000', '442079460000', 'GB:2079460000']],
    ['0044 2079460000',     ['442079460000', '4402079460000', 'GB:2079460000']],
    ['020 7946 0000',       ['2079460000']],
    ['+999 123456',         ['999123456']],
  ]
  test('a person is searched by every spelling of a telephone number with its country', () => {
    for (const [said, all] of phones) assert.deepEqual(phoneSpellings(said), all, said)
  })
  test('an e-mail address may be as long as the mobile API takes', () => {
    const email = `${'a'.repeat(126)}@b`
    assert.equal(screenPayment([listed('black', 'email', email)], { ...payment, email }, none, 0).fired.length, 1)
  })
  test('an IPv6 network has its addresses and no others', () => {
    const at = (ip: string) => screenPayment([listed('black', 'ip', '2001:db8:1::/48')], { ...payment, ip }, none, 0).fired.length
    assert.deepEqual([at('2001:db8:1:ffff::1'), at('2001:db8:2::1'), at('not an address')], [1, 0, 0])
  })
})

describe('scores', () => {
  test('add up, and 100 filters with the code of the highest', () => {
    const low = listed('black', 'country', 'DE', { score: 40, filterNo: 1, code: '3111' })
    const high = listed('black', 'bin', '4111', { score: 60, filterNo: 2, code: '3222' })
    assert.deepEqual(judge(low).refusal, undefined)
    const { score, refusal, fired } = judge(low, high)
    assert.deepEqual([score, refusal?.code, fired.map(({ filterNo }) => filterNo)], [100, '3222', [1, 2]])
    assert.deepEqual([judge(low, listed('black', 'bin', '4111', { score: 59 })).refusal], [undefined])
  })
  test('a loyalty list lowers the score, a white list accepts at any score', () => {
    const black = listed('black', 'country', 'DE')
    assert.equal(judge(black, listed('loyalty', 'email', 'eve@example.com', { score: -1 })).refusal, undefined)
    assert.deepEqual(judge(black, black, listed('white', 'card-country', 'US', { score: 0 })), {
      score: 200,
      fired: judge(black, black, listed('white', 'card-country', 'US', { score: 0 })).fired,
    })
    assert.ok(judge(black, listed('white', 'email', 'adam@example.com', { score: 0 })).refusal)
  })
})

describe('amounts, countries and times of day', () => {
  const fires = (facts: RuleFacts, changes: Partial<PaymentFacts> = {}) =>
    screenPayment([rule(facts)], { ...payment, ...changes }, none, payment.at).fired.length > 0
  test('an amount out of bounds fires, one on them does not, nor another currency', () => {
    const bounds = { is: 'amount', leastMinor: '1050', mostMinor: '1060', currency: 'USD' } as const
    const amounts = [1_049n, 1_050n, 1_060n, 1_061n].map((amountMinor) => fires(bounds, { amountMinor }))
    assert.deepEqual(amounts, [true, false, false, true])
    assert.equal(fires(bounds, { amountMinor: 1n, currency: 'EUR' }), false)
  })
  test('countries that differ fire, unknown ones do not', () => {
    const mismatch = { is: 'country mismatch' } as const
    assert.equal(fires(mismatch), true)
    assert.equal(fires(mismatch, { cardCountry: 'DE' }), false)
    const { country: _c, ...nowhere } = payment
    assert.equal(screenPayment([rule(mismatch)], nowhere, none, 0).fired.length, 0)
  })
  test('a time of day is of its zone, goes over midnight, and ends before its end', () => {
    const night = { is: 'time of day', from: 22 * 60, to: 6 * 60, zone: 'UTC' } as const
    const at = (hours: number, minutes: number) => fires(night, { at: Date.UTC(2026, 6, 1, hours, minutes) })
    assert.deepEqual([at(21, 59), at(22, 0), at(0, 0), at(5, 59), at(6, 0)], [false, true, true, true, false])
    const berlin = { ...night, from: 60, to: 120, zone: 'Europe/Berlin' }
    assert.equal(fires(berlin), true, '23:30 in UTC is 01:30 in Berlin in summer')
    assert.equal(fires(berlin, { at: Date.UTC(2026, 0, 1, 23, 30) }), false, 'and 00:30 in winter')
  })
})

describe('limits', () => {
  const velocity = (limit: number, counts: 'all' | 'unrefused' | 'refused' = 'all') =>
    rule({ is: 'velocity', per: 'card', limit, windowMs: 3_600_000, counts }) as LimitRule
  const volume = (limitMinor: string) =>
    rule({ is: 'volume', per: 'card', limitMinor, currency: 'USD', windowMs: 3_600_000, counts: 'all' }) as LimitRule
  const filtered = (limit: LimitRule, buckets: readonly Bucket[], at = 0) =>
    screenPayment([limit], payment, () => buckets, at).refusal !== undefined

  test('a payment without an e-mail address uses up no limit by e-mail address', () => {
    const nobody = { ...payment, email: '' }
    const limits: RuleFacts[] = [
      { is: 'velocity', per: 'email', limit: 0, windowMs: 3_600_000, counts: 'all' },
      { is: 'volume', per: 'email', limitMinor: '1', currency: 'USD', windowMs: 3_600_000, counts: 'all' },
    ]
    for (const facts of limits) {
      const keys = (of: PaymentFacts) => limitsOn([rule(facts)], of, (text) => [text]).map(([, [key]]) => key)
      assert.deepEqual([keys(payment), keys(nobody)], [['email:eve@example.com'], []])
      const fired = (of: PaymentFacts) => screenPayment([rule(facts)], of, () => [[0, 9, '900']], 0).fired.length
      assert.deepEqual([fired(payment), fired(nobody)], [1, 0])
    }
  })

  test('the last that fits passes, the next does not', () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((n) => filtered(velocity(3), n === 0 ? [] : [[0, n, '0']])),
      [false, false, false, true],
    )
    assert.equal(filtered(velocity(0), []), true, 'none at all')
    assert.deepEqual(
      [2, 3].map((n) => filtered(velocity(3, 'refused'), [[0, n, '0']])),
      [false, true],
    )
    assert.deepEqual(
      ['8950', '8951'].map((sum) => filtered(volume('10000'), [[0, 1, sum]])),
      [false, true],
    )
  })

  test('no window ever holds more than the limit, and released payments make room', () => {
    const limit = velocity(3)
    const { windowMs } = limit.facts
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 900_000 }), { maxLength: 60 }), (gaps) => {
        let at = 1_000_000_000
        let buckets: Bucket[] = []
        const passed: number[] = []
        for (const gap of gaps) {
          at += gap
          if (usedOf(limit, buckets, at).orders + 1 > 3) continue
          buckets = counted(limit, buckets, at, 1, 0n, at)
          passed.push(at)
        }
        for (const [i, first] of passed.entries()) assert.ok(passed.slice(i).filter((t) => t < first + windowMs).length <= 3)
        assert.ok(buckets.length <= 62, 'what counts no more is not kept')
        // Two sixtieths of the window later all is free again.
        assert.equal(usedOf(limit, buckets, at + windowMs + windowMs / 30).orders, 0)
      }),
    )
  })

  test('a count that is cancelled leaves no trace', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(3_000_000), fc.bigInt({ min: 0n, max: 10n ** 12n })), { maxLength: 40 }), (orders) => {
        const limit = volume('1')
        const began = 1_000_000_000
        let buckets: Bucket[] = []
        for (const [after, minor] of orders) buckets = counted(limit, buckets, began + after, 1, minor, began)
        const total = orders.reduce((sum, [, minor]) => sum + minor, 0n)
        assert.deepEqual(usedOf(limit, buckets, began), { orders: orders.length, sumMinor: total })
        for (const [after, minor] of orders) buckets = counted(limit, buckets, began + after, -1, minor, began)
        assert.deepEqual(buckets, [])
      }),
    )
  })

  test('an address is one customer: an IPv4 address, or a network of 64 bits; letters of an e-mail address are the same', () => {
    const value = (ip: string) => countedValue('ip', { ...payment, ip })
    assert.equal(value('2001:db8::1'), value('2001:0db8:0:0:ffff::2'))
    assert.notEqual(value('2001:db8::1'), value('2001:db8:0:1::1'))
    assert.equal(value('::ffff:198.51.100.7'), value('198.51.100.7'))
    assert.notEqual(value('198.51.100.7'), value('198.51.100.8'))
    assert.equal(countedValue('email', payment), 'eve@example.com')
  })
})
