import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuthenticationPolicy } from '../../../src/merchant/fields/authentication-policy.ts'
import { defaultEci, judge, type Ending } from '../../../src/three-d-secure/interpret.ts'
import { safePolicy } from '../../../src/merchant/fields/authentication-policy.ts'

/**
 * The outcome table, written by hand from the specification: what each end of an authentication
 * leads to, by the safe policy and by one that takes every risk.
 */

const bold: AuthenticationPolicy = {
  attempted: 'authorise',
  unavailable: 'authorise',
  notEnrolled: 'authorise',
  failed: 'authorise',
}
const timid: AuthenticationPolicy = { ...safePolicy, attempted: 'decline' }

const status = (s: 'Y' | 'A' | 'N' | 'R' | 'U' | 'I', more: { reason?: string; cancel?: string } = {}): Ending => ({
  is: 'status',
  status: s,
  ...more,
})

// oxfmt-ignore
const table: readonly (readonly [what: string, ending: Ending, safe: string, bold: string, verified: string])[] = [
  ['authenticated',                     status('Y'),                                'authorise',    'authorise',    'AUTHENTICATED'],
  ['attempted',                         status('A'),                                'authorise',    'authorise',    'AUTHENTICATED'],
  ['failed',                            status('N', { reason: '01' }),              'decline 2001', 'decline 2001', 'NOT_AUTHENTICATED'],
  ['cancelled by the cardholder',       status('N', { reason: '01', cancel: '01' }), 'decline 2002', 'decline 2002', 'NOT_AUTHENTICATED'],
  ['no CReq within 30 s',               status('N', { reason: '14', cancel: '05' }), 'decline 2003', 'decline 2003', 'NOT_AUTHENTICATED'],
  ['a challenge that timed out',        status('N', { reason: '14', cancel: '04' }), 'decline 2003', 'decline 2003', 'NOT_AUTHENTICATED'],
  ['rejected',                          status('R', { reason: '11' }),              'decline 2004', 'decline 2004', 'NOT_AUTHENTICATED'],
  ['unavailable',                       status('U', { reason: '22' }),              'decline 2005', 'authorise',    'UNSUPPORTED'],
  ['informational',                     status('I'),                                'authorise',    'authorise',    'UNSUPPORTED'],
  ['in no range',                       { is: 'not enrolled' },                     'decline 2006', 'authorise',    'UNSUPPORTED'],
  ['Erro, no answer, directory server down', { is: 'failed' },                      'decline 2008', 'authorise',    'UNSUPPORTED'],
  ['the method result was never uploaded', { is: 'abandoned' },                     'decline 2009', 'decline 2009', 'UNKNOWN'],
  ['nothing heard after the challenge began', { is: 'overdue' },                    'decline 2009', 'decline 2009', 'UNSUPPORTED'],
  ['CRes seen, no RReq',                { is: 'lost' },                             'error 2010',   'error 2010',   'UNSUPPORTED'],
]

for (const [what, ending, safely, boldly, verified] of table)
  test(`${what}: ${safely} and ${verified}; by a policy that takes every risk ${boldly}`, () => {
    for (const [policy, expected] of [
      [safePolicy, safely],
      [bold, boldly],
    ] as const) {
      const verdict = judge(ending, policy)
      assert.equal([verdict.go, ...(verdict.go === 'authorise' ? [] : [verdict.errorCode])].join(' '), expected)
      assert.equal(verdict.verified, verified)
      if (verdict.go !== 'authorise') assert.match(verdict.errorMessage, /\w/)
    }
  })

test('an attempt is declined only where an endpoint says so', () => {
  assert.deepEqual([judge(status('A'), timid).go, judge(status('A'), timid).errorCode], ['decline', '2007'])
})

test('no policy lets a payment through that the issuer refused', () => {
  for (const s of ['N', 'R'] as const) assert.equal(judge(status(s), bold).go, 'decline')
})

// oxfmt-ignore
const eci: readonly (readonly [network: string | undefined, y: string, a: string, none: string | undefined])[] = [
  ['VISA',       '05', '06', '07'],
  ['AMEX',       '05', '06', '07'],
  ['JCB',        '05', '06', '07'],
  ['DINERS',     '05', '06', '07'],
  ['DISCOVER',   '05', '06', '07'],
  ['UNIONPAY',   '05', '06', '07'],
  ['MASTERCARD', '02', '01', '00'],
  ['MAESTRO',    '02', '01', '00'],
  ['MIR',        '02', '01', undefined],
  [undefined,    '05', '06', '07'],
]

for (const [network, y, a, none] of eci)
  test(`the default ECI of ${network ?? 'an unknown network'} is ${y}, attempted ${a}, otherwise ${none ?? 'absent'}`, () => {
    assert.deepEqual([defaultEci(network, '01', 'Y'), defaultEci(network, '01', 'A')], [y, a])
    for (const s of ['N', 'R', 'U'] as const) assert.equal(defaultEci(network, '01', s), none, s)
  })

test('an account verification has an ECI of its own with Mastercard, and with no other network', () => {
  const statuses = ['Y', 'A', 'N', 'R', 'U', 'C'] as const
  for (const [network] of eci) {
    const own = network === 'MASTERCARD' || network === 'MAESTRO'
    const expected = own ? ['N2', '01', 'N0', 'N0', 'N0', 'N0'] : statuses.map((s) => defaultEci(network, '01', s))
    const found = statuses.map((s) => defaultEci(network, '02', s))
    assert.deepEqual(found, expected, network)
  }
})

test('data sharing has an ECI of its own with Mastercard', () => {
  for (const category of ['01', '02'] as const)
    assert.deepEqual([defaultEci('MASTERCARD', category, 'I'), defaultEci('VISA', category, 'I')], ['04', '07'])
})
