import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Unreadable } from '../../../src/entity/kinds.ts'
import { authenticationPolicy, safePolicy } from '../../../src/merchant/fields/authentication-policy.ts'
import { endpointFields } from '../../../src/merchant/fields/endpoint.ts'
import { authenticationJson, authenticationText } from '../../../src/operator/orders/authentication-story.ts'
import { directoryFindings } from '../../../src/operator/doctor/directories.ts'
import type { DirectoryFact } from '../../../src/operator/doctor/rows.ts'
import type { Transaction } from '../../../src/order/decide/order.ts'

const now = Date.parse('2030-01-31T12:00:00Z')

test('an authentication policy is changed where it is named, and null removes a challenge indicator', () => {
  const usual = endpointFields.whole({})
  const shown = (settings: typeof usual) => Object.fromEntries(endpointFields.facts(settings))
  const bold = endpointFields.after(usual, { challengeIndicator: '04', authenticationPolicy: { unavailable: 'authorise' } })
  const policy = { ...safePolicy, unavailable: 'authorise' }
  assert.deepEqual(bold, { ...usual, challengeIndicator: '04', authenticationPolicy: policy })
  const more = endpointFields.after(bold, { authenticationPolicy: { attempted: 'decline' } })
  assert.deepEqual(more.authenticationPolicy, { ...policy, attempted: 'decline' })
  assert.equal(shown(more).Authentication, 'attempted=decline, unavailable=authorise, not-enrolled=decline, failed=decline')
  assert.equal(shown(more)['Challenge indicator'], '04 (a challenge mandated)')
  const safe = authenticationPolicy.read('safe')
  assert.ok(!(safe instanceof Unreadable))
  assert.deepEqual(endpointFields.after(more, { authenticationPolicy: safe, challengeIndicator: null }), usual)
  assert.equal(
    shown(usual).Authentication,
    'attempted=authorise, unavailable=decline, not-enrolled=decline, failed=decline (safe)',
  )
})

test('an authentication policy is read as it is written, and what does not fit is named', () => {
  assert.deepEqual(authenticationPolicy.read('attempted=decline, not-enrolled=authorise'), {
    attempted: 'decline',
    notEnrolled: 'authorise',
  })

  for (const [text, complaint] of [
    ['', /"" is none/],
    ['notEnrolled=decline', /"notEnrolled" is none.*attempted, unavailable, not-enrolled, failed/],
    ['__proto__=decline', /"__proto__" is none/],
    ['failed', /failed=authorise or failed=decline/],
    ['failed=accept', /failed=authorise or failed=decline/],
    ['failed=decline,failed=authorise', /failed appears twice/],
    ['safe,failed=decline', /"safe" is none.*or safe alone/],
  ] as const) {
    const read = authenticationPolicy.read(text)
    assert.match(read instanceof Unreadable ? read.must : 'none', complaint, text)
  }
})

test('the doctor reads the card ranges, and warns where 3-D Secure is wanted and none was ever entered', () => {
  const hour = 3_600_000
  const fresh: DirectoryFact = {
    name: 'visa',
    ranges: 33n,
    loaded: true,
    refreshedAt: now - hour,
    dueAt: now + hour,
    tries: 0,
    leftOutCount: 0,
    leftOut: [],
  }
  const look = (changes: Partial<DirectoryFact>) =>
    directoryFindings({ directories: [{ ...fresh, ...changes }], oddities: [], secure: [] }, now)
  const endpoints = (...secure: string[]) => directoryFindings({ directories: [], oddities: [], secure }, now)
  assert.deepEqual(endpoints(), [])

  for (const [findings, is, says, advice] of [
    [look({}), 'ok', /^visa: 33 ranges, refreshed 1 h ago$/, /^$/],
    [
      look({ error: 'timeout', tries: 2 }),
      'warning',
      /refreshed 1 h ago; the last 2 tries failed: timeout/,
      /old ranges are used.*The next try is in 1 h/,
    ],
    [look({ refreshedAt: now - 30 * hour, dueAt: now - 5_000 }), 'warning', /refreshed 30 h ago$/, /old ranges are used/],
    [
      look({ loaded: false, ranges: 0n, tries: 1, error: 'refused' }),
      'problem',
      /none loaded yet.*the last try failed: refused/,
      /THREE_DS_CONFIG.*The next try is in 1 h/,
    ],
    [look({ dueAt: now - hour }), 'warning', /no gateway requests them/, /delete from directory_state where directory = 'visa'/],
    [look({ dueAt: now - hour, loaded: false }), 'warning', /none loaded, and no gateway requests them/, /names it/],
    [
      look({ leftOutCount: 1, leftOut: ['4 to 3: odd'] }),
      'warning',
      /^visa: 33 ranges, refreshed 1 h ago; left out 1 that cannot be used: 4 to 3: odd$/,
      /not enrolled.*the operator of visa/,
    ],
    [
      look({ leftOutCount: 5, leftOut: ['a', 'b', 'c', 'd'], error: 'timeout', tries: 1 }),
      'warning',
      /left out 5 that cannot be used: a; b; c; …; the last try failed/,
      /old ranges are used/,
    ],
    [
      endpoints('103', '104'),
      'warning',
      /endpoint 103, 104.*fails for every card/,
      /THREE_DS_CONFIG.*endpoint set 103 --three-d-secure off/,
    ],
  ] as const) {
    assert.deepEqual(
      findings.map((finding) => finding.is),
      [is],
      String(says),
    )
    assert.match(findings[0]!.says, says)
    assert.match(findings[0]!.advice ?? '', advice)
  }
})

test('the story of an authentication has no proof, no pages and no browser data', () => {
  const transaction = {
    result: { verified: 'AUTHENTICATED', eci: '05' },
    authentication: {
      round: 1,
      directory: 'visa',
      version: '2.2.0',
      threeDSServerTransId: 'id-1',
      pageToken: 'not-this',
      methodUrl: 'https://not-this.example/',
      acsUrl: 'https://not-this.example/',
      notificationUrl: 'https://not-this.example/',
      authenticationValue: 'not-this',
      status: 'N',
      statusReason: '88',
      challengeCancel: '01',
      cardholderInfo: 'not-this',
      browser: { acceptHeader: 'not-this', userAgent: 'not-this', language: 'not-this', javascriptEnabled: true },
    },
  } as unknown as Transaction
  const text = authenticationText(transaction)
  assert.equal(
    text,
    '2.2.0 by visa; not authenticated (N); reason 88; cancel 01, cancelled by the cardholder; ' +
      'ECI 05; verified-3d-status AUTHENTICATED',
  )
  assert.equal(authenticationJson(transaction)?.three_ds_server_trans_id, 'id-1')
  assert.ok(!`${text}${JSON.stringify(authenticationJson(transaction))}`.includes('not-this'))
})
