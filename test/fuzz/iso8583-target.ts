import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { describe, frameReader, momentOf, momentOfLocal, pack, unpack } from '../../src/acquirer/iso8583/codec.ts'
import { secret } from '../../src/base/secret.ts'
import type { IsoMessage } from '../../src/spec/iso8583.ts'
import { sendable } from '../harness/acquirer/iso8583.ts'
import type { Target } from './loop.ts'

const names = { 3: '000000', 4: '10500', 7: '0102030405', 11: '17', 12: '260102030405', 32: '123456', 37: '000000000017' }
const messages: IsoMessage[] = [
  { type: '1814', fields: { 7: '0102030405', 11: '1', 12: '260102030405', 39: '800' } },
  { type: '1210', fields: { ...names, 38: 'A1B2C3', 39: '000', 62: { TX: 'SIM-17', NR: 'N1', LB: '10.00' } } },
  { type: '1200', fields: { ...names, 2: secret('4111111111111111'), 14: secret('3012'), 48: { OI: '17', 92: secret('123') } } },
  { type: '1430', fields: { ...names, 39: '400', 56: '120000001726010203040506123456' } },
]

/** A frame without its length, so that more of it is read. */
export const iso8583Target: Target = {
  seeds: messages.map((message) => pack(message).subarray(2)),
  run(input) {
    frameReader()(input)
    const unpacked = unpack(input)
    if (unpacked.is === 'refused')
      return assert.doesNotMatch(unpacked.why, /[^\x20-\x7e]|\d{6}/, 'a refusal quotes what was sent')
    describe(unpacked.message)
    const { 7: sent, 12: local } = unpacked.message.fields
    if (typeof sent === 'string') momentOf(sent, 1_700_000_000_000)
    if (typeof local === 'string') momentOfLocal(local)
    const again = pack(sendable(unpacked.message))
    const twice = unpack(again.subarray(2))
    assert.ok(twice.is === 'message' && isDeepStrictEqual(pack(twice.message), again), 'it reads otherwise once it was written')
  },
}
