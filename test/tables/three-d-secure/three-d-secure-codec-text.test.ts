import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'
import {
  erroAbout,
  readMessage,
  writeMessage,
  type Message,
  type MessageType,
  type Unusable,
} from '../../../src/three-d-secure/codec.ts'
import { decodeParam, encodeParam } from '../../../src/three-d-secure/param.ts'
import { mutator } from '../../harness/world/mutate.ts'
import { acsId, changed, dsId, good, serverId, type Fields } from '../../harness/three-d-secure/three-d-secure-messages.ts'
import { anySign } from '../contract/any-sign.ts'

const types: readonly MessageType[] = ['PReq', 'PRes', 'AReq', 'ARes', 'CReq', 'CRes', 'RReq', 'RRes', 'Erro']

function refused(text: string, ...wanted: MessageType[]): Unusable {
  const read = readMessage(text, { types: wanted })
  assert.equal(read.is, 'unusable', text.slice(0, 200))
  return read
}
const heard = (text: string, ...wanted: MessageType[]): string => {
  const read = readMessage(text, { types: wanted })
  return read.is === 'message' ? 'ok' : `${read.errorCode} ${read.errorDetail}`
}

const cres = JSON.stringify(good('CRes', '2.1.0'))
/** The CRes with more members at its end. */
const cresAnd = (members: string): string => `${cres.slice(0, -1)},${members}}`

test('a text that is no JSON object is 101', () => {
  // oxfmt-ignore
  const texts = [
    '', ' ', 'null', '7', '"x"', '[]', `[${cres}]`, cres.slice(0, -1), `${cres}x`, `${cres}${cres}`, `\ufeff${cres}`,
    "{'a':1}", '{a:1}', '{"a":1,}', '{"a":01}', '{"a":NaN}', '{"a":"\n"}', '{"a":"\\x41"}', '// x\n{}', '{"a":undefined}', '"',
  ]
  for (const text of texts) assert.equal(heard(text, 'CRes'), '101 the text is not an object', text)
})

test('a name that is there twice is 204 in every spelling and at every depth', () => {
  // oxfmt-ignore
  const rows: [members: string, expected: string][] = [
    ['"transStatus":"N"',                                    '204 transStatus'],
    ['"transStatus":"Y"',                                    '204 transStatus'],
    ['"transStatus" \n\t: "N"',                              '204 transStatus'],
    ['"trans\\u0053tatus":"N"',                              '204 transStatus'],
    ['"x":1,"x":1,"transStatus":"N"',                        '204 x,transStatus'],
    ['"x":{"y":{"z":1,"q":"}","z":2}}',                      '204 z'],
    ['"x":[{"z":1},{"z":2,"z":3}]',                          '204 z'],
    ['"":1,"":2',                                            '204 a name that cannot be shown'],
    ['"a b":1,"a b":2',                                      '204 a name that cannot be shown'],
    ['"x":[{"z":1},{"z":2}]',                                'ok'],
    ['"x":{"transStatus":"N"}',                              'ok'],
    ['"x":"\\"transStatus\\":1"',                            'ok'],
    ['"x":"\\\\","y":["transStatus","transStatus"]',         'ok'],
    ['"x":"{\\"x\\":1,\\"x\\":2}"',                          'ok'],
    ['"x":"\\\\\\\\","x":""',                                '204 x'],
    ['"x\\"":1,"x":2',                                       'ok'],
  ]
  for (const [members, expected] of rows) assert.equal(heard(cresAnd(members), 'CRes'), expected, members)
  const extension = JSON.stringify(changed(good('ARes', '2.1.0'), 'messageExtension.0.data', { a: 1, b: 2 }))
  assert.equal(heard(extension.replace('"b":2', '"a":2'), 'ARes'), '204 a')
  const ranges = JSON.stringify(good('PRes', '2.1.0')).replace('"startRange"', '"startRange":"4000000000000000","startRange"')
  assert.equal(heard(ranges, 'PRes'), '204 startRange')
})

test("a name of JavaScript's own is 203, wherever it is, and nothing gets a prototype from a message", () => {
  for (const name of ['__proto__', 'constructor', 'prototype', '__pr\\u006fto__']) {
    for (const members of [`"${name}":{"transStatus":"Y"}`, `"x":{"${name}":1}`, `"x":[{"y":{"${name}":null}}]`])
      assert.equal(heard(cresAnd(members), 'CRes'), `203 ${name.replace('\\u006f', 'o')}`, members)
  }
  assert.equal(heard(cresAnd('"x":"__proto__"'), 'CRes'), 'ok')
  const inherited = cres.replace('"transStatus":"Y"', '"x":1')
  assert.equal(heard(inherited, 'CRes'), '201 transStatus')
  for (const name of ['toString', 'hasOwnProperty', 'valueOf']) assert.equal(heard(cresAnd(`"${name}":1`), 'CRes'), 'ok')
})

test('nesting ends at sixteen levels and a text at 128 Ki characters, at 16 Mi for ranges', () => {
  const nested = (levels: number, open: string, close: string) => cresAnd(`"x":${open.repeat(levels)}1${close.repeat(levels)}`)
  assert.equal(heard(nested(15, '[', ']'), 'CRes'), 'ok')
  assert.equal(heard(nested(16, '[', ']'), 'CRes'), '101 the text is too deep')
  assert.equal(heard(nested(15, '{"a":', '}'), 'CRes'), 'ok')
  assert.equal(heard(nested(16, '{"a":', '}'), 'CRes'), '101 the text is too deep')
  assert.equal(heard(cresAnd(`"x":"${'[{'.repeat(99)}"`), 'CRes'), 'ok')
  assert.equal(heard(nested(60_000, '[', ']'), 'CRes'), '101 the text is too deep')
  assert.equal(heard('['.repeat(1_000_000), 'PRes'), '101 the text is too deep')
  assert.equal(heard(cres.padEnd(131_072), 'CRes'), 'ok')
  assert.equal(heard(cres.padEnd(131_073), 'CRes'), '101 the text is too long')
  const pres = JSON.stringify(good('PRes', '2.1.0'))
  assert.equal(heard(pres.padEnd(16 * 1_048_576), 'PRes'), 'ok')
  assert.equal(heard(pres.padEnd(16 * 1_048_576 + 1), 'PRes'), '101 the text is too long')
})

test('a refusal has the type and ids of the message where they are certain, and only then', () => {
  const whole = good('RReq', '2.1.0')
  const all = { threeDSServerTransID: serverId, acsTransID: acsId, dsTransID: dsId }
  const told = (text: string) => {
    const { messageType, ids } = refused(text, 'RReq')
    return { messageType, ids }
  }
  const bad = JSON.stringify(changed(whole, 'eci', 'x'))
  assert.deepEqual(told(bad), { messageType: 'RReq', ids: all })
  assert.deepEqual(told(bad.replace('"RReq"', '"XReq"')), { messageType: undefined, ids: all })
  assert.deepEqual(told(JSON.stringify(good('CRes', '2.1.0'))).messageType, 'CRes')
  const twice = bad.replace('{', '{"acsTransID":"x",')
  assert.deepEqual(told(twice), { messageType: 'RReq', ids: { threeDSServerTransID: serverId, dsTransID: dsId } })
  assert.deepEqual(told(bad.replace('{', '{"messageType":"RReq",')).messageType, undefined)
  assert.deepEqual(told(bad.replace(serverId, `${serverId}<script>`)).ids, { acsTransID: acsId, dsTransID: dsId })
  assert.deepEqual(told('{'), { messageType: undefined, ids: {} })
})

test('an Erro about a message that cannot be used can be written and read', () => {
  const extensions = Array.from({ length: 10 }, () => ({ name: 'x', id: 'A'.repeat(64), criticalityIndicator: true, data: {} }))
  const many = Array.from({ length: 400 }, (_, i) => `"name${i}":1,"name${i}":2`).join(',')
  const texts = [
    '',
    '{}',
    cresAnd('"transStatus":"N"'),
    cresAnd('"":1,"":2'),
    cresAnd(many),
    JSON.stringify(changed(good('CRes', '2.2.0'), 'messageExtension', extensions)),
  ]
  for (const text of texts) {
    const written = writeMessage(erroAbout(refused(text, 'CRes'), '2.1.0'))
    assert.equal(heard(written, 'Erro'), 'ok', text)
  }
  assert.deepEqual(erroAbout(refused(JSON.stringify(changed(good('RReq', '2.2.0'), 'dsTransID', '')), 'RReq'), '2.2.0'), {
    messageType: 'Erro',
    messageVersion: '2.2.0',
    threeDSServerTransID: serverId,
    acsTransID: acsId,
    errorCode: '201',
    errorComponent: 'S',
    errorDescription: 'A required element is missing',
    errorDetail: 'dsTransID',
    errorMessageType: 'RReq',
  })
})

test('a message that breaks the table is not written, and the exception has names but no values', () => {
  const writing = (fields: Fields) => () => writeMessage(fields as unknown as Message)
  const areq = good('AReq', '2.1.0')
  assert.throws(writing(without(areq, 'mcc')), { message: 'AReq 2.1.0 lacks mcc' })
  assert.throws(writing({ ...areq, acctNumber: '40000000000020x1', eci: '05' }), {
    message: 'AReq 2.1.0 has no room for eci; does not allow the value of acctNumber',
  })
  assert.throws(writing({ ...areq, browserJavascriptEnabled: true }), {
    message: 'AReq 2.1.0 has no room for browserJavascriptEnabled',
  })
  assert.throws(writing(changed(areq, 'mobilePhone.x', '1')), { message: 'AReq 2.1.0 has no room for mobilePhone.x' })
  assert.throws(writing({ ...areq, email: '' }), { message: 'AReq 2.1.0 does not allow the value of email' })
  assert.throws(writing({ ...areq, messageVersion: '2.3.1' }), { message: 'AReq of no known version' })
  assert.throws(writing({ ...areq, messageType: 'toString' }), { message: 'a message of no known type' })
  const sparse = { ...areq, email: undefined, homePhone: undefined, browserJavascriptEnabled: undefined }
  assert.deepEqual(JSON.parse(writing(sparse)()), without(areq, 'email homePhone'))
})

const without = (fields: Fields, names: string): Fields =>
  names.split(' ').reduce((all, name) => changed(all, name, undefined), fields)

test('a parameter is base64url without padding; blanks, padding and the other alphabet are taken, nothing else is', () => {
  assert.equal(encodeParam('{"a":"??>~"}'), 'eyJhIjoiPz8-fiJ9')
  assert.equal(encodeParam('ü'), 'w7w')
  // oxfmt-ignore
  const rows: [param: string, text: string | undefined][] = [
    ['eyJhIjoiPz8-fiJ9',         '{"a":"??>~"}'],
    ['eyJhIjoiPz8+fiJ9',         '{"a":"??>~"}'],
    ['w7w',                      'ü'],
    ['w7w=',                     'ü'],
    ['dw==',                     'w'],
    ['dw=',                      'w'],
    ['dw',                       'w'],
    [' d\r\nw\t= = ',            'w'],
    ['Pz8_',                     '???'],
    ['Pz8/',                     '???'],
    ['77u_e30',                  '\ufeff{}'],
    ['',                         ''],
    ['d',                        undefined],
    ['dw===',                    undefined],
    ['=dw',                      undefined],
    ['d=w=',                     undefined],
    ['dw%3D%3D',                 undefined],
    ['d.w',                      undefined],
    ['d,w',                      undefined],
    ['dw\0',                     undefined],
    ['dẅ',                       undefined],
    ['_w',                       undefined],
    ['wK8',                      undefined],
    ['7aCA',                     undefined],
  ]
  for (const [param, text] of rows) assert.equal(decodeParam(param), text, JSON.stringify(param))
  fc.assert(fc.property(fc.string({ unit: anySign }), (text) => assert.equal(decodeParam(encodeParam(text)), text)))
})

/** Characters that JSON escapes, that take several bytes, or that mislead a counter of braces. */
const units = ['a', 'Z', '0', ' ', 'ü', '漢', '😀', '"', '\\', '<', '&', "'", '{', '}', '[', ']', ':', ',', '/']
const words = (max: number) => fc.string({ unit: fc.constantFrom(...units), maxLength: max - 1 }).map((t) => `x${t}`)
const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'), minLength, maxLength })

const isOurs = (json: string): boolean => !/"(__proto__|constructor|prototype)":/.test(json)
/** JSON has no negative zero that survives. */
const inner: Arbitrary<unknown> = fc
  .dictionary(words(8), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
  .map((value) => JSON.stringify(value))
  .filter(isOurs)
  .map((json) => JSON.parse(json) as unknown)

const variations: Arbitrary<Fields> = fc.record({
  threeDSServerTransID: fc.uuid(),
  acctNumber: digits(13, 19),
  purchaseAmount: digits(1, 48),
  merchantName: words(40),
  browserUserAgent: words(100),
  mobilePhone: fc.record({ cc: digits(1, 3), subscriber: digits(1, 15) }, { noNullPrototype: true }),
  browserJavaEnabled: fc.boolean(),
  messageExtension: fc.tuple(inner).map(([data]) => [{ name: 'x', id: 'y', criticalityIndicator: false, data }]),
})
const optional = 'email homePhone cardholderName acctID billAddrState shipAddrCity browserIP transType acctType'.split(' ')

test('any written message is read back unchanged', () => {
  const version = fc.constantFrom('2.1.0' as const, '2.2.0' as const)
  fc.assert(
    fc.property(version, variations, fc.subarray(optional), (messageVersion, varied, left) => {
      const message = left.reduce((all, name) => changed(all, name, undefined), { ...good('AReq', messageVersion), ...varied })
      const read = readMessage(writeMessage(message as unknown as Message), { types: ['AReq'], version: messageVersion })
      assert.deepEqual(read, { is: 'message', message })
    }),
  )
})

test('reading any text or damaged message ends in a message or a refusal that can be sent, never in an exception', () => {
  const tell = (text: string) => {
    const read = readMessage(text, { types })
    if (read.is === 'unusable') writeMessage(erroAbout(read, '2.2.0'))
  }
  fc.assert(fc.property(fc.string({ unit: anySign }), tell))
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(...types), (value, messageType) =>
      tell(JSON.stringify({ ...Object(value), messageType, messageVersion: '2.1.0' })),
    ),
  )
  const anyValue = fc.property(fc.constantFrom(...types), fc.integer({ min: 0 }), fc.jsonValue(), (type, nth, value) => {
    const message = good(type, '2.2.0')
    const names = Object.keys(message)
    tell(JSON.stringify({ ...message, [names[nth % names.length]!]: value }))
  })
  fc.assert(anyValue, { numRuns: 1_000 })
  const damaged = fc.property(fc.constantFrom(...types), fc.integer(), (type, seed) => {
    const bytes = mutator(seed)(Buffer.from(JSON.stringify(good(type, '2.1.0'))))
    tell(bytes.toString('utf8'))
    decodeParam(bytes.toString('latin1'))
  })
  fc.assert(damaged, { numRuns: 1_000 })
})

test('a text is 204 if a member of it is there again, and only then', () => {
  const name = fc.constantFrom('a', 'b', 'c', '"', '\\', 'a"', '\\"', '{', ':', '[,', '\u0000', '漢')
  fc.assert(
    fc.property(fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 }), fc.integer({ min: 0 }), (members, nth) => {
      const pairs = Object.entries(members).map(([key, value]) => `${JSON.stringify(key)} :${JSON.stringify(value)}`)
      const once = heard(cresAnd(pairs.join(' , ')), 'CRes')
      const twice = heard(cresAnd([...pairs, pairs[nth % pairs.length]!].join(' , ')), 'CRes')
      if (isOurs(pairs.join(','))) assert.equal(once, 'ok')
      assert.match(twice, /^204 /)
    }),
  )
})
