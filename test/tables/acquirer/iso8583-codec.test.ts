import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localTime, pack, transmissionTime, unpack } from '../../../src/acquirer/iso8583/codec.ts'
import { secret } from '../../../src/base/secret.ts'
import { isoFields, repeatTypeOf, replyTypeOf, type IsoFields, type IsoMessage, type IsoRow } from '../../../src/spec/iso8583.ts'
import { approval, laidOpen, sale } from '../../harness/acquirer/iso8583.ts'

/** Bytes from hex; what follows `;` on a line is for people. */
const hex = (text: string): Buffer => Buffer.from(text.replace(/;.*$/gm, '').replace(/\s/g, ''), 'hex')

function read(body: Buffer): IsoMessage {
  const unpacked = unpack(body)
  assert.equal(unpacked.is, 'message', `refused: ${unpacked.is === 'refused' ? unpacked.why : ''}`)
  return unpacked.message
}

const refusalOf = (body: Buffer): string => {
  const unpacked = unpack(body)
  return unpacked.is === 'refused' ? unpacked.why : 'not refused'
}

// Made by hand from the layout of ISO 8583:1993, not with the code under test.
const frames: [title: string, frame: Buffer, message: IsoMessage][] = [
  [
    'a sign-on',
    hex(`
      002b                                 ; 43 bytes follow
      31383034                             ; 1804
      02 30 01 00 00 00 00 00              ; fields 7, 11, 12, 24
      30313032303330343035                 ; 7  0102030405
      303030303031                         ; 11 000001
      323630313032303330343035             ; 12 260102030405
      383031                               ; 24 801`),
    { type: '1804', fields: { 7: '0102030405', 11: '000001', 12: '260102030405', 24: '801' } },
  ],
  [
    'a sale',
    hex(`
      00b0                                 ; 176 bytes follow
      31323030                             ; 1200
      72 34 05 41 08 e1 80 00              ; fields 2 3 4 7, 11 12 14, 22 24, 26 32, 37, 41 42 43 48, 49
      3136 34313131313131313131313131313131 ; 2  16 digits
      303030303030                         ; 3  000000
      303030303030303130353030             ; 4  000000010500
      30313032303330343035                 ; 7  0102030405
      303030303137                         ; 11 000017
      323630313032303330343035             ; 12 260102030405
      33303132                             ; 14 3012
      313030303530313030313130             ; 22 100050100110
      323030                               ; 24 200
      35393939                             ; 26 5999
      3036 313233343536                    ; 32 123456
      303030303030303030303137             ; 37 000000000017
      5445524d31202020                     ; 41 TERM1 and spaces
      53484f502020202020202020202020       ; 42 SHOP and spaces
      3034 53686f70                        ; 43 Shop
      303232 3932303033313233 4f493030323137 45433030323035 ; 48 22 characters: 92, OI, EC
      383430                               ; 49 840`),
    sale,
  ],
  [
    'an approval',
    hex(`
      007f                                 ; 127 bytes follow
      31323130                             ; 1210
      32 30 00 01 0e c0 80 04              ; fields 3 4 7, 11 12, 32, 37 38 39, 41 42, 49, 62
      303030303030 303030303030303130353030 30313032303330343035 303030303137 323630313032303330343035
      3036 313233343536                    ; 32 123456
      303030303030303030303137             ; 37 000000000017
      413142324333                         ; 38 A1B2C3
      303030                               ; 39 000
      5445524d31202020 53484f502020202020202020202020 383430
      303131 54583030 36 53494d2d3137      ; 62 11 characters: TX 006 SIM-17`),
    approval,
  ],
]

for (const [title, frame, message] of frames) {
  test(`${title} is packed and read byte for byte as the standard lays it out`, () => {
    assert.equal(pack(message).toString('hex'), frame.toString('hex'))
    assert.deepEqual(laidOpen(read(frame.subarray(2))), laidOpen(message))
  })
}

test('a secondary bitmap is read when it names no field, and refused when it does', () => {
  const head = Buffer.from('1814')
  const rest = Buffer.from('000001800')
  const first = hex('80 20 00 00 02 00 00 00')
  assert.deepEqual(read(Buffer.concat([head, first, Buffer.alloc(8), rest])).fields, { 11: '000001', 39: '800' })
  const refused = refusalOf(Buffer.concat([head, first, hex('00 00 00 00 00 00 00 01'), rest]))
  assert.equal(refused, 'field 128 is not in the table')
})

// The bounds of each field, by hand from docs/iso8583.md: the longest value, and values refused
// when packing and when reading.
// oxfmt-ignore
const bounds: [field: keyof IsoFields, longest: string, tooLong: string, wrong: string][] = [
  [2,  '4'.repeat(19),  '4'.repeat(20),   '41111111x'],
  [3,  '999999',        '1000000',        '00000x'],
  [4,  '9'.repeat(12),  '1'.repeat(13),   '00000000-100'],
  [7,  '1231235959',    '12312359590',    '12 1235959'],
  [11, '999999',        '1000000',        '00000a'],
  [12, '991231235959',  '9912312359590',  '99-231235959'],
  [14, '9912',          '99120',          '99/2'],
  [22, 'A00050100110',  'A000501001100',  'A0005010011 '],
  [24, '831',           '8310',           '8 1'],
  [25, '4021',          '40210',          '402.'],
  [26, '5999',          '59990',          'MCC1'],
  [30, '9'.repeat(12),  '1'.repeat(13),   '0000000010.0'],
  [32, '9'.repeat(11),  '9'.repeat(12),   '1234b'],
  [37, 'ZZ0000000017',  'ZZ00000000017',  'ZZ-000000017'],
  [38, 'A1B2C3',        'A1B2C3D',        'A1B2C '],
  [39, '999',           '1000',           '0A0'],
  [41, '~TERM001',      'TERM00001',      'TERMé01'],
  [42, '~MERCHANT000001', 'M'.repeat(16), 'MERCHANT\u0000'],
  [43, '~'.repeat(99),  '~'.repeat(100),  'Café'],
  [44, ' '.repeat(98) + '!', 'x'.repeat(100), 'line\n'],
  [49, '978',           '9780',           'USD'],
  [56, '9'.repeat(35),  '9'.repeat(36),   '1200x'],
]

for (const [field, longest, tooLong, wrong] of bounds) {
  const row: IsoRow = isoFields[field]
  const guarded = row.guard !== 'open'
  const message = (value: string): IsoMessage => ({ type: '1200', fields: { [field]: guarded ? secret(value) : value } })
  test(`field ${field} takes its longest value, and neither a longer one nor another alphabet`, () => {
    assert.deepEqual(laidOpen(read(pack(message(longest)).subarray(2))), laidOpen(message(longest)))
    assert.throws(() => pack(message(tooLong)), new RegExp(`^Error: field ${field} is longer than ${longest.length}$`))
    assert.throws(() => pack(message(wrong)), new RegExp(`^Error: field ${field} has a character that`))
    const damaged = pack(message(longest))
    damaged[damaged.length - 1] = 0x07
    if (row.patient) assert.deepEqual(laidOpen(read(damaged.subarray(2))), laidOpen(message(longest.slice(0, -1))))
    else assert.match(refusalOf(damaged.subarray(2)), new RegExp(`^field ${field} has a character that`))
  })
}

test('digits are padded left with zeros and text right with spaces, and only text is trimmed', () => {
  const sent: IsoMessage = { type: '1200', fields: { 4: '1050', 11: '7', 41: 'T1', 42: ' S' } }
  const body = pack(sent).subarray(2)
  assert.equal(body.subarray(12).toString(), '000000001050000007T1       S             ')
  assert.deepEqual(read(body).fields, { 4: '000000001050', 11: '000007', 41: 'T1', 42: ' S' })
})

const oneField = (bitmap: string, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from('1200'), hex(bitmap), Buffer.from(content)])
const bit = {
  2: '40 00 00 00 00 00 00 00',
  5: '08 00 00 00 00 00 00 00',
  24: '00 00 01 00 00 00 00 00',
  38: '00 00 00 00 04 00 00 00',
  44: '00 00 00 00 00 10 00 00',
  48: '00 00 00 00 00 01 00 00',
  62: '00 00 00 00 00 00 00 04',
}

// oxfmt-ignore
const refusals: [title: string, body: Buffer, why: string][] = [
  ['nothing at all',               Buffer.alloc(0),                                 'the message ends within the type'],
  ['a type of the 1987 version',   Buffer.from('0200' + '\0'.repeat(8)),            'the type is not one of ISO 8583:1993'],
  ['a type that is no number',     Buffer.from('12x0' + '\0'.repeat(8)),            'the type is not one of ISO 8583:1993'],
  ['half a bitmap',                Buffer.from('1200\0\0\0\0'),                     'the message ends within the bitmap'],
  ['no secondary bitmap behind its bit', oneField('80 00 00 00 00 00 00 00', ''),   'the message ends within the secondary bitmap'],
  ['a field that has no row',      oneField(bit[5], '000000000000'),                'field 5 is not in the table'],
  ['a field cut short',            oneField(bit[24], '20'),                         'the message ends within field 24'],
  ['bytes after the last field',   oneField(bit[24], '2000'),                       '1 bytes after the last field'],
  ['a length that is no number',   oneField(bit[2], '1x411111'),                    'the length of field 2 is not a number'],
  ['a length with a sign',         oneField(bit[2], '-1411111'),                    'the length of field 2 is not a number'],
  ['a length beyond the field',    oneField(bit[2], '20' + '4'.repeat(20)),         'field 2 is longer than 19'],
  ['a length beyond the message',  oneField(bit[2], '164111'),                      'the message ends within field 2'],
  ['an empty number',              oneField(bit[2], '00'),                          'field 2 is empty'],
]

for (const [title, body, why] of refusals) test(`${title} is refused`, () => assert.equal(refusalOf(body), why))

// oxfmt-ignore
const patient: [title: string, bitmap: string, content: string, fields: IsoFields][] = [
  ['an accent',                      bit[44], '12rejet\xe9 \xe0 4 h', { 44: 'rejet\xe9 \xe0 4 h' }],
  ['control characters',             bit[44], '08a\0b\r\nc\x7f\x92',   { 44: 'abc' }],
  ['an empty text',                  bit[44], '00',                     { 44: '' }],
  ['a short approval code',          bit[38], 'A-1   ',                 { 38: 'A-1' }],
  ['an accent in an element',        bit[62], '020IB015Cr\xe9dit Agricole', { 62: { IB: 'Cr\xe9dit Agricole' } }],
  ['an unknown element',             bit[48], '022XX00512345__000OI00217', { 48: { OI: '17' } }],
  ['half a tag',                     bit[62], '009TX00217II',           { 62: { TX: '17' } }],
  ['a tag without its length',       bit[62], '011TX00217II00',         { 62: { TX: '17' } }],
  ['a tag length that is no number', bit[62], '014TX00217II 0217',      { 62: { TX: '17' } }],
  ['a tag that outgrows its field',  bit[62], '014TX00217II00317',      { 62: { TX: '17' } }],
  ['a tag twice',                    bit[62], '014TX00217TX00218',      { 62: { TX: '17' } }],
]
for (const [title, bitmap, content, fields] of patient)
  test(`a field that decides nothing is read as far as it can be shown: ${title}`, () => {
    assert.deepEqual(read(oneField(bitmap, Buffer.from(content, 'latin1'))).fields, fields)
  })

test('a truncated message, or one with bytes after its end, is refused', () => {
  const body = pack(sale).subarray(2)
  const memory = Buffer.concat([Buffer.from('9'.repeat(50)), body, Buffer.from('4'.repeat(50))])
  assert.deepEqual(laidOpen(read(memory.subarray(50, 50 + body.length))), laidOpen(sale))
  for (let end = 0; end < body.length; end++)
    assert.notEqual(refusalOf(memory.subarray(50, 50 + end)), 'not refused', `cut at ${end}`)
})

test('a message that fits no row is not packed, and the error shows no value', () => {
  assert.throws(() => pack({ type: '0200', fields: {} }), /^Error: the type is not one of ISO 8583:1993$/)
  assert.throws(
    () => pack({ type: '1200', fields: { 2: secret('4111 1111 1111') } }),
    /^Error: field 2 has a character that n has not$/,
  )
  assert.throws(() => pack({ type: '1200', fields: { 2: secret('') } }), /^Error: field 2 is empty$/)
  assert.throws(() => pack({ type: '1200', fields: { 38: 'A1' } }), /^Error: field 38 is shorter than 6$/)
  assert.throws(
    () => pack({ type: '1200', fields: { 48: { AV: 'x'.repeat(1000) } } }),
    /^Error: tag AV of field 48 is longer than 999$/,
  )
  assert.throws(() => pack({ type: '1200', fields: { 48: { AV: 'x'.repeat(995) } } }), /^Error: field 48 is longer than 999$/)
})

test('times are UTC, to the second', () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5, 999)
  assert.equal(localTime(at), '260102030405')
  assert.equal(transmissionTime(at), '0102030405')
})

test('replies and repeats have the types of docs/iso8583.md', () => {
  const replies = {
    1804: '1814',
    1200: '1210',
    1201: '1210',
    1100: '1110',
    1101: '1110',
    1220: '1230',
    1420: '1430',
    1421: '1430',
  }
  for (const [type, reply] of Object.entries(replies)) assert.equal(replyTypeOf(type), reply)
  assert.deepEqual(['1200', '1100', '1420', '1201'].map(repeatTypeOf), ['1201', '1101', '1421', '1201'])
})
