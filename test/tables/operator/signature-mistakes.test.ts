import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import { currencyOf } from '../../../src/base/money.ts'
import { mistakes, mistakesIn, type SignedPart } from '../../../src/operator/integration/mistakes.ts'
import { readPasted } from '../../../src/operator/integration/pasted.ts'

// Each mistake is made here by hand, as a merchant's program would make it, and has to be named.

const key = 'F9C0DE00-1A11-4222-8333-44445555B6A6'
const oldKey = '0DDBA11C-5E7D-4C02-9F3B-6A1E80D2C4F7'
const whsec = 'whsec_3q2+7w=='

const digest = (algorithm: string, ...parts: string[]) => createHash(algorithm).update(parts.join(''), 'utf8').digest()
const sha1 = (...parts: string[]) => digest('sha1', ...parts)

interface Case {
  names: string[]
  values: string[]
  amount?: { text: string; minor: bigint; currency: string }
}

// oxfmt-ignore
const cases: Record<string, Case> = {
  sale:          { names: ['endpoint or group id', 'client_orderid', 'amount in minor units', 'email'], values: ['101', 'Order 1', '115', 'jane+shop@example.com'], amount: { text: '1.15', minor: 115n, currency: 'USD' } },
  'a sale in yen': { names: ['endpoint or group id', 'client_orderid', 'amount in minor units', 'email'], values: ['104', 'O-1', '7', 'zoë@example.com'], amount: { text: '7.00', minor: 7n, currency: 'JPY' } },
  'make-rebill': { names: ['login', 'client_orderid', 'cardrefid', 'amount in minor units', 'currency'], values: ['Shop', 'o-1', '540462', '1050', 'USD'], amount: { text: '10.5', minor: 1050n, currency: 'USD' } },
  return:        { names: ['login', 'client_orderid', 'orderid', 'amount in minor units', 'currency'], values: ['Shop', 'o-1', '1000001', '500', 'USD'], amount: { text: '5', minor: 500n, currency: 'USD' } },
  'capture without an amount': { names: ['login', 'client_orderid', 'orderid'], values: ['Shop', 'o-1', '1000001'] },
  status:        { names: ['login', 'client_orderid', 'orderid'], values: ['Shop', 'ä%40b', ''] },
  'get-card-info': { names: ['login', 'cardrefid'], values: ['Shop', '540462'] },
  'account-verification': { names: ['endpoint or group id', 'client_orderid', 'email'], values: ['101', 'o-1', 'Jane@Example.com'] },
}

/** What a request may have besides what is signed of it. */
const besides: Record<string, string> = {
  login: 'Shop',
  client_orderid: 'o-1',
  orderid: '1000001',
  'endpoint or group id': '101',
}
const partsOf = ({ names, values }: Case): SignedPart[] => names.map((name, i) => [name, values[i]!])

function explained(one: Case, sent: Buffer) {
  const amount = one.amount && { ...one.amount, currency: currencyOf(one.amount.currency)! }
  const found = mistakesIn(sent, [[...partsOf(one), ['control key', key]]], {
    amount,
    orderAmounts: ['999900'],
    ids: ['101', '102', 'group/104'],
    replacedKeys: [oldKey],
    signingSecrets: [whsec],
    take: (name) => partsOf(one).find(([part]) => part === name)?.[1] ?? besides[name] ?? '',
  })
  return found?.map(({ name }) => name)
}

/** The name of the first mistake without what it says of its part. */
const called = (name: string) => name.split(': ')[0]!
const met = new Set<string>()

/** `made` with the values of each case where it differs from what is right. */
function each(name: string, made: (values: string[], one: Case) => Buffer | undefined, ...only: string[]): void {
  test(`named: ${name}`, () => {
    let count = 0
    for (const [operation, one] of Object.entries(cases)) {
      if (only.length > 0 && !only.includes(operation)) continue
      const sent = made(one.values, one)
      if (sent === undefined || sent.equals(sha1(...one.values, key))) continue
      const found = explained(one, sent)
      assert.deepEqual(found?.map(called), [name], operation)
      met.add(name)
      count++
    }
    assert.ok(count >= Math.max(1, only.length), `${count} operations`)
  })
}

for (const [operation, one] of Object.entries(cases))
  test(`right: ${operation}`, () => assert.deepEqual(explained(one, sha1(...one.values, key)), []))

const amountAt = ({ names }: Case) => names.indexOf('amount in minor units')
const signing = (one: Case, name: string, value: string) =>
  one.names.includes(name) ? sha1(...one.values.with(one.names.indexOf(name), value), key) : undefined
const withAmount = (one: Case, text: string) => (amountAt(one) < 0 ? undefined : signing(one, 'amount in minor units', text))

each('a control key that was replaced', (values) => sha1(...values, oldKey))
each('the signing secret as control key', (values) => sha1(...values, whsec))
each('the key of the documents', (values) => sha1(...values, '01234567-89AB-CDEF-0123-456789ABCDEF'))
each('the control key in another spelling', (values) => sha1(...values, key.toLowerCase()))
each('the control key in another spelling', (values) => sha1(...values, key.replaceAll('-', '')))
each('a line end or blank around the control key', (values) => sha1(...values, key, '\n'))
each('a line end or blank around the control key', (values) => sha1(...values, key, '\r\n'))
each('no control key', (values) => sha1(...values))
each('the id of another endpoint or group', (_, one) => signing(one, 'endpoint or group id', '102'))
each('the id of another endpoint or group', (_, one) => signing(one, 'endpoint or group id', 'group/104'))
each('the amount as it was sent', (_, one) => withAmount(one, one.amount?.text ?? ''))
each('the amount in another spelling', (_, one) => withAmount(one, '1.1500'), 'sale')
each('the amount in another spelling', (_, one) => withAmount(one, '10.50'), 'make-rebill')
each('the amount in another spelling', (_, one) => withAmount(one, '5,00'), 'return')
each('the amount in other minor units', (_, one) => withAmount(one, '700'), 'a sale in yen')
each('the amount in other minor units', (_, one) => withAmount(one, '11500'), 'sale')
each('the amount cut by floating point', (_, one) => withAmount(one, '114'), 'sale')
each('the amount of the order', (_, one) => withAmount(one, '999900'))
each('the currency by its number', (_, one) => signing(one, 'currency', '840'))
for (const name of ['email', 'client_orderid', 'amount in minor units', 'endpoint or group id', 'login', 'currency', 'cardrefid'])
  each('a part is missing', (values, one) => {
    const at = one.names.indexOf(name)
    return at < 0 ? undefined : sha1(...values.toSpliced(at, 1), key)
  })
each('the parts of another operation', (values) => sha1('Shop', values[1]!, '1000001', key), 'sale', 'a sale in yen')
each('a part too many', (values) => sha1(...values, '101', key), 'return', 'status', 'get-card-info')
each('a part too many', (values) => sha1('101', ...values, key), 'capture without an amount')
each('the parts in another order', (values) => sha1(key, ...values))
each('the parts in another order', (values) => sha1(...values.toReversed(), key), 'sale', 'make-rebill', 'return')
for (const sign of ['|', ':', ',', '&', '\n']) {
  each('separators between the parts', (values) => sha1([...values, key].join(sign)))
  each('separators between the parts', (values) => sha1(values.join(sign), key))
}
each('names among the values', (values, { names }) => sha1(names.map((name, i) => `${name}=${values[i]}`).join('&'), '&', key))
each('names among the values', (values, { names }) => sha1(names.map((name, i) => `${name}=${values[i]}`).join('&'), key))
each('values signed percent-encoded', (values) => sha1(...values.map(encodeURIComponent), key))
each('values signed percent-encoded', (values) =>
  sha1(...values.map((value) => new URLSearchParams([['', value]]).toString().slice(1)), key),
)
each('a value encoded twice in the body', () => sha1('Shop', 'ä@b', '', key), 'status')
each('a plus taken for a blank', (values) => sha1(...values.map((value) => value.replaceAll('+', ' ')), key))
each('a plus taken for a blank', (values) => sha1(...values.map((value) => value.replaceAll(' ', '+')), key))
each('another character set', (values) =>
  createHash('sha1')
    .update(values.join('') + key, 'latin1')
    .digest(),
)
// Where the last part is empty, a blank before it stands beside the key.
each(
  'blanks or line ends in a value',
  (_, one) => signing(one, 'client_orderid', `${one.values[one.names.indexOf('client_orderid')]} `),
  'sale',
  'return',
  'make-rebill',
)
each(
  'blanks or line ends in a value',
  (_, one) => signing(one, 'email', `${one.values.at(-1)}\n`),
  'sale',
  'account-verification',
)
each('letters in another case', (values) => sha1(...values.map((value) => value.toLowerCase()), key))
each('letters written otherwise', (values) => sha1(...values.map((value) => value.normalize('NFD')), key))
each('a word for a part that is absent', () => sha1('Shop', 'ä%40b', 'null', key), 'status')
for (const name of ['md5', 'sha256', 'sha512']) each('another hash', (values) => digest(name, ...values, key))
for (const name of ['sha1', 'sha256']) each('another hash', (values) => createHmac(name, key).update(values.join('')).digest())
each('hashed twice', (values) => sha1(sha1(...values, key).toString('hex')))
each('the key hashed first', (values) => sha1(...values, digest('md5', key).toString('hex')))

test('this test makes every mistake of the table', () =>
  assert.deepEqual(
    Object.keys(mistakes).filter((name) => !met.has(name)),
    [],
  ))

// oxfmt-ignore
const pairs: [operation: string, sent: Buffer, ...names: string[]][] = [
  ['sale',     sha1('101', 'Order 1', '1.15', 'jane+shop@example.com', key, '\n'),     'a line end or blank around the control key', 'the amount as it was sent'],
  ['sale',     sha1('101', 'Order 1', '1.15', key),                                    'the amount as it was sent', 'a part is missing'],
  ['sale',     sha1('102', 'Order 1', '115', 'jane shop@example.com', key),            'the id of another endpoint or group', 'a plus taken for a blank'],
  ['sale',     digest('md5', '101', 'Order 1', '1.15', 'jane+shop@example.com', key),  'the amount as it was sent', 'another hash'],
  ['sale',     sha1('Order 1', '115', key),                                            'a part is missing', 'a part is missing'],
  ['return',   sha1('Shop', 'o-1', '1000001', '5.00', 'USD', oldKey),                  'a control key that was replaced', 'the amount in another spelling'],
  ['status',   sha1('shop', 'ä%40b', '', key.toLowerCase()),                           'the control key in another spelling', 'letters in another case'],
]
for (const [operation, sent, ...names] of pairs)
  test(`both named: ${names.join(' and ')}`, () => {
    assert.deepEqual(explained(cases[operation]!, sent)?.map(called), names)
  })

test('a control that no known mistake explains is reported as unexplained, after less than a second of work', () => {
  const begun = process.cpuUsage().user
  for (const one of Object.values(cases)) assert.equal(explained(one, sha1('what no merchant signs')), undefined)
  assert.ok((process.cpuUsage().user - begun) / 1_000 < Object.keys(cases).length * 1_000)
})

// oxfmt-ignore
const pasted: [what: string, text: string, address?: string][] = [
  ['a body',                         'login=shop&client_orderid=o+1&email=jane%2Bshop%40example.com&control=ab'],
  ['a body with broken lines',       'login=shop&client_orderid=o+1\n  &email=jane%2Bshop%40example.com\n&control=ab\n'],
  ['a pair a line',                  'login=shop\nclient_orderid=o+1\nemail=jane%2Bshop%40example.com\ncontrol=ab'],
  ['a request with headers',         'POST /gateway/api/v2/status/101 HTTP/1.1\r\nHost: pay.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nlogin=shop&client_orderid=o+1&email=jane%2Bshop%40example.com&control=ab', '/gateway/api/v2/status/101'],
  ['an address above the body',      'POST https://pay.example/api/v2/status/group/104\nlogin=shop&client_orderid=o+1&email=jane%2Bshop%40example.com&control=ab', 'https://pay.example/api/v2/status/group/104'],
  ['curl with one body',             "curl -sS -X POST 'https://pay.example/api/v2/status/101' -H 'Referer: https://shop.example/' -d 'login=shop&client_orderid=o+1&email=jane%2Bshop%40example.com&control=ab'", 'https://pay.example/api/v2/status/101'],
  ['curl with pairs',                'curl https://pay.example/api/v2/status/101 \\\n  --data-urlencode login=shop \\\n  --data-urlencode "client_orderid=o 1" \\\n  --data-urlencode \'email=jane+shop@example.com\' \\\n  --data-raw control=ab', 'https://pay.example/api/v2/status/101'],
  ['flat JSON, as logs have it',     '{"login": "shop", "client_orderid": "o 1", "email": "jane+shop@example.com", "control": "ab"}'],
]
for (const [what, text, address] of pasted)
  test(`read as it was sent: ${what}`, () => {
    assert.deepEqual(readPasted(text), {
      address,
      pairs: [
        ['login', 'shop'],
        ['client_orderid', 'o 1'],
        ['email', 'jane+shop@example.com'],
        ['control', 'ab'],
      ],
    })
  })

test('a text that is not a form has no pairs, and no pasted text takes long to read', () => {
  for (const text of ['email=%E4%zz', 'curl https://pay.example/api/v2/sale/101 -F login=shop'])
    assert.equal(readPasted(text).pairs, undefined)
  const begun = process.cpuUsage().user
  for (const text of [
    ' '.repeat(65_000),
    "'".repeat(65_000),
    `curl ${'"'.repeat(64_999)}`,
    `curl ${"$'a".repeat(20_000)}`,
    '\n'.repeat(65_000),
    `POST ${'/a'.repeat(30_000)}`,
  ])
    readPasted(text)
  assert.ok(process.cpuUsage().user - begun < 2_000_000)
})
