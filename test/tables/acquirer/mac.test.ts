import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pack } from '../../../src/acquirer/iso8583/codec.ts'
import { lineMac, openFraming, type LineMac } from '../../../src/acquirer/iso8583/mac.ts'
import { aesCmac, retailMac } from '../../../src/base/mac.ts'
import { secret } from '../../../src/base/secret.ts'
import { macAlgorithms } from '../../../src/merchant/fields/gate.ts'
import { macAfter } from '../../../src/operator/configuration/gate-mac.ts'
import { macOf } from '../../../simulators/acquirer/mac.ts'
import { decode, encode } from '../../../simulators/acquirer/wire.ts'
import { laidOpen, sale } from '../../harness/acquirer/iso8583.ts'

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex')

const nist = hex(`6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                  30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710`)
const aes128 = '2b7e151628aed2a6abf7158809cf4f3c'
const aes256 = '603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4'
const twoDes = '0123456789abcdeffedcba9876543210'

// RFC 4493 and NIST SP 800-38B (its examples of 2016); ISO/IEC 9797-1:2011, annex B.4.
// oxfmt-ignore
const vectors: [algorithm: LineMac['algorithm'], key: string, message: Buffer, mac: string][] = [
  ['aes-cmac',   aes128, nist.subarray(0, 0),                     'bb1d6929e95937287fa37d129b756746'],
  ['aes-cmac',   aes128, nist.subarray(0, 16),                    '070a16b46b4d4144f79bdd9dd04a287c'],
  ['aes-cmac',   aes128, nist.subarray(0, 40),                    'dfa66747de9ae63030ca32611497c827'],
  ['aes-cmac',   aes128, nist,                                    '51f0bebf7e3b9d92fc49741779363cfe'],
  ['aes-cmac',   aes256, nist.subarray(0, 0),                     '028962f61b7bf89efc6b551f4667d983'],
  ['aes-cmac',   aes256, nist.subarray(0, 16),                    '28a7023f452e8f82bd4bf28d8c37c35c'],
  ['aes-cmac',   aes256, nist.subarray(0, 40),                    'aaf3d8f1de5640c232f5b169b9c911e6'],
  ['aes-cmac',   aes256, nist,                                    'e1992190549f6ed5696a2c056c315410'],
  ['retail-mac', twoDes, Buffer.from('Now is the time for all '), 'a1c72e74ea3fa9b6'],
  ['retail-mac', twoDes, Buffer.from('Now is the time for it'),   '2e2b1428cc78254f'],
]

test('both sides make the codes that the standards publish', () => {
  for (const [algorithm, key, message, mac] of vectors) {
    const made = { 'aes-cmac': aesCmac, 'retail-mac': retailMac }[algorithm](secret(hex(key)))(message)
    assert.equal(made.toString('hex'), mac)
    assert.equal(macOf({ algorithm, key: hex(key) }, message).toString('hex'), mac.slice(0, 16))
  }
})

const lineKeys: LineMac[] = [
  { algorithm: 'aes-cmac', key: secret(hex(aes128)) },
  { algorithm: 'aes-cmac', key: secret(hex(aes256)) },
  { algorithm: 'retail-mac', key: secret(hex(twoDes)) },
]

test('a packed message ends in field 64, which is made of all before it, and the acquirer believes it', () => {
  for (const mac of lineKeys) {
    const frame = openFraming(mac).pack(sale)
    const [bare, body] = [pack(sale).subarray(2), frame.subarray(2)]
    assert.equal(frame.readUInt16BE(), body.length)
    assert.equal(body.length, bare.length + 8)
    const marked = Buffer.from(bare)
    marked[11]! |= 1
    assert.deepEqual(body.subarray(0, -8), marked)
    const read = decode(body, { algorithm: mac.algorithm, key: mac.key.reveal() })
    assert.deepEqual([read.mac, read.fields[64]], ['correct', body.subarray(-8).toString('latin1')])
  }
})

const [key] = lineKeys as [LineMac]
const { unpack } = openFraming(key)
const reply = encode({ type: '1814', fields: Object.assign([], { 11: '000001', 12: '260102030405', 39: '800' }) })
const theirs = { algorithm: key.algorithm, key: key.key.reveal() }
const answer = encode(decode(reply.subarray(2)), theirs).subarray(2)
/** A message with a secondary bitmap, whose MAC is field 128. */
const long = (() => {
  const bare = reply.subarray(2)
  const [type, bitmap, fields] = [bare.subarray(0, 4), Buffer.from(bare.subarray(4, 12)), bare.subarray(12)]
  bitmap[0]! |= 0x80
  const covered = Buffer.concat([type, bitmap, hex('0000000000000001'), fields])
  return Buffer.concat([covered, macOf(theirs, covered)])
})()

test('a message with its MAC is read without it; with a secondary bitmap the MAC is field 128', () => {
  for (const body of [answer, long])
    assert.deepEqual(laidOpen(believed(body)), { type: '1814', fields: { 11: '000001', 12: '260102030405', 39: '800' } })
})

function believed(body: Buffer) {
  const unpacked = unpack(body)
  assert.ok(unpacked.is === 'message' && unpacked.fault === undefined, JSON.stringify(unpacked))
  return unpacked.message
}

test('a message is rejected with any bit changed, under another key, or without a MAC', () => {
  for (const body of [answer, long])
    for (let bit = 0; bit < body.length * 8; bit++) {
      const changed = Buffer.from(body)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      const unpacked = unpack(changed)
      assert.ok(unpacked.is === 'refused' || unpacked.fault !== undefined, `bit ${bit}`)
    }
  for (const other of lineKeys.slice(1)) assert.equal(openFraming(other).unpack(answer).fault, 'with a wrong MAC')
  assert.equal(unpack(reply.subarray(2)).fault, 'without a MAC')
  for (let length = 0; length < 12; length++) assert.equal(unpack(answer.subarray(0, length)).is, 'refused')
})

test('a gate whose MAC has no key gets no line', () => {
  for (const mac of macAlgorithms) assert.throws(() => lineMac({ mac, secrets: {} }), /key of the MAC is missing/)
  assert.equal(lineMac({ secrets: { macKey: key.key } }), undefined)
})

const weakHalves = `0101010101010101 fefefefefefefefe e0e0e0e0f1f1f1f1 1f1f1f1f0e0e0e0e 011f011f010e010e 1f011f010e010e01
  01e001e001f101f1 e001e001f101f101 01fe01fe01fe01fe fe01fe01fe01fe01 1fe01fe00ef10ef1 e01fe01ff10ef10e 1ffe1ffe0efe0efe
  fe1ffe1ffe0efe0e e0fee0fef1fef1fe fee0fee0fef1fef1`

test('each weak and semi-weak key of DES is refused in either half, whatever its parity, and equal halves are', () => {
  const verdict = (text: string) => macAfter(undefined, { mac: 'retail-mac', macKeyFile: secret(text) })
  for (const half of weakHalves.split(/\s+/)) {
    const otherParity = Buffer.from(hex(half).map((byte) => byte ^ 1)).toString('hex')
    for (const weak of [half, otherParity])
      for (const text of [weak + twoDes.slice(0, 16), twoDes.slice(0, 16) + weak]) assert.ok('must' in verdict(text), text)
  }
  assert.ok('must' in verdict(`${twoDes.slice(0, 16)}0022446688aaccee`), 'equal but for parity')
  assert.ok('macKey' in verdict(twoDes))
})
