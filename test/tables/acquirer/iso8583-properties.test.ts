import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  array,
  assert as check,
  constantFrom,
  integer,
  oneof,
  property,
  record,
  string,
  uint8Array,
  type Arbitrary,
} from 'fast-check'
import { describe, frameReader, pack, unpack } from '../../../src/acquirer/iso8583/codec.ts'
import { secret } from '../../../src/base/secret.ts'
import { isoFields, type Format, type IsoMessage } from '../../../src/spec/iso8583.ts'
import { approval, laidOpen, sale } from '../../harness/acquirer/iso8583.ts'
import { mutator } from '../../harness/world/mutate.ts'

function read(body: Buffer): IsoMessage {
  const unpacked = unpack(body)
  assert.equal(unpacked.is, 'message')
  return unpacked.message
}

const frames = [sale, approval].map(pack)

/** Any value a row allows, in the spelling in which it is read. */
function valueOf({ kind, length, prefix }: Format): Arbitrary<string> {
  const letters = { n: '0123456789', an: '0123456789ABCXYZabcxyz', ans: ' !"#$%&()*+,-./09:;<=>?@AZ[]^_`az{|}~' }[kind]
  const minLength = prefix === 0 && kind !== 'ans' ? length : kind === 'n' ? 1 : 0
  const text = string({ unit: constantFrom(...letters.split('')), minLength, maxLength: length })
  return prefix === 0 && kind === 'ans' ? text.map((t) => t.trimEnd()) : text
}

const tagText = valueOf({ kind: 'ans', length: 40, prefix: 3 })
const anyMessage: Arbitrary<IsoMessage> = record({
  type: constantFrom('1200', '1201', '1210', '1100', '1420', '1430', '1804', '1814'),
  fields: record(
    Object.fromEntries(
      Object.entries(isoFields).map(([number, row]) => {
        if (!('tags' in row)) return [number, row.guard === 'open' ? valueOf(row.is) : valueOf(row.is).map(secret)] as const
        const tags = Object.entries(row.tags).map(
          ([tag, t]) => [tag, t.guard === 'open' ? tagText : tagText.map(secret)] as const,
        )
        return [number, record(Object.fromEntries(tags), { requiredKeys: [] })] as const
      }),
    ),
    { requiredKeys: [] },
  ),
})

test('any packed message is read back unchanged', () => {
  check(property(anyMessage, (message) => assert.deepEqual(laidOpen(read(pack(message).subarray(2))), laidOpen(message))))
})

test('reading random or damaged bytes ends in a message or a refusal, never in an exception', () => {
  check(property(uint8Array({ maxLength: 600 }), (bytes) => void unpack(Buffer.from(bytes))))
  check(property(anyMessage, integer(), (message, seed) => void unpack(mutator(seed)(pack(message).subarray(2)))))
})

test('the description shows six and four digits of the card, and nothing of expiry and CVV2', () => {
  const line = describe(sale)
  assert.match(line, /^1200 2=411111\*{6}1111 3=000000 4=000000010500 /)
  assert.match(line, / 14=\*{4} /)
  assert.match(line, / 48=\[92=\*{3} OI=17 EC=05] 49=840$/)
})

const number = (length: number) => string({ unit: constantFrom(...'0123456789'.split('')), minLength: length, maxLength: length })
const hidden = record({ middle: number(6), expiry: number(4), cvv2: oneof(number(3), number(4)) })
const withHidden = ({ type, fields }: IsoMessage, h: { middle: string; expiry: string; cvv2: string }): IsoMessage => ({
  type,
  fields: { ...fields, 2: secret(`411111${h.middle}1111`), 14: secret(h.expiry), 48: { ...fields[48], 92: secret(h.cvv2) } },
})

test('a description does not depend on the middle of the card number, the expiry or the CVV2', () => {
  check(property(anyMessage, hidden, hidden, (m, a, b) => assert.equal(describe(withHidden(m, a)), describe(withHidden(m, b)))))
})

test('a number too short for a card, and a card number within a text, are masked too', () => {
  assert.equal(describe({ type: '1200', fields: { 2: secret('411111111111') } }), '1200 2=***')
  assert.equal(describe({ type: '1210', fields: { 44: 'card 4111111111111111 lost' } }), '1210 44=card 411111******1111 lost')
})

test('frames come out whole, however the stream is cut', () => {
  const stream = Buffer.concat(frames)
  const bodies = frames.map((frame) => frame.subarray(2).toString('hex'))
  check(
    property(array(integer({ min: 0, max: stream.length }), { maxLength: 20 }), (cuts) => {
      const next = frameReader()
      const ends = [0, ...cuts.sort((a, b) => a - b), stream.length]
      const got = ends.slice(1).flatMap((end, i) => next(stream.subarray(ends[i], end)).bodies)
      assert.deepEqual(
        got.map((b) => b.toString('hex')),
        bodies,
      )
    }),
  )
  const withEmpty = frameReader()(Buffer.concat([Buffer.alloc(2), frames[0]!, Buffer.alloc(4), frames[1]!]))
  assert.deepEqual(
    withEmpty.bodies.map((b) => b.length),
    [0, bodies[0]!.length / 2, 0, 0, bodies[1]!.length / 2],
  )
  const byByte = frameReader()
  assert.equal([...stream].flatMap((byte) => byByte(Buffer.of(byte)).bodies).length, frames.length)
})

test('a frame of more than 4096 bytes ends the stream, but not the frames before it', () => {
  for (const [length, bad] of [
    [1, false],
    [4096, false],
    [4097, true],
    [65_535, true],
  ] as const) {
    const next = frameReader()
    const { bodies, refused } = next(Buffer.concat([frames[0]!, Buffer.of(length >> 8, length & 0xff)]))
    assert.equal(bodies.length, 1)
    assert.equal(refused, bad ? `a frame of ${length} bytes` : undefined)
    if (bad) assert.deepEqual(next(frames[0]!), { bodies: [], refused })
  }
})
