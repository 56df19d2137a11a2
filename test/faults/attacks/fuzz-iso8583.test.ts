import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { describe, frameReader, pack, unpack } from '../../../src/acquirer/iso8583/codec.ts'
import { secret } from '../../../src/base/secret.ts'
import type { IsoMessage } from '../../../src/spec/iso8583.ts'
import { sendable } from '../../harness/acquirer/iso8583.ts'
import { mutator, seeded } from '../../harness/world/mutate.ts'

/** For longer: `FUZZ_SECONDS=600 FUZZ_SEED=7`. A failure prints the seed that repeats it. */
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 2)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)

const names = { 3: '000000', 4: '10500', 7: '0102030405', 11: '17', 12: '260102030405', 32: '123456', 37: '000000000017' }
const acceptor = { 41: 'TERM1', 42: 'SHOP', 49: '840' }
const seeds: IsoMessage[] = [
  { type: '1814', fields: { 7: '0102030405', 11: '1', 12: '260102030405', 39: '800' } },
  { type: '1210', fields: { ...names, ...acceptor, 38: 'A1B2C3', 39: '000', 62: { TX: 'SIM-17', NR: 'N1', LB: '10.00' } } },
  { type: '1210', fields: { ...names, ...acceptor, 39: '116', 44: 'Not enough', 62: { MM: 'Try less' } } },
  {
    type: '1200',
    fields: { ...names, ...acceptor, 2: secret('4111111111111111'), 14: secret('3012'), 48: { OI: '17', 92: secret('123') } },
  },
  { type: '1430', fields: { ...names, ...acceptor, 39: '400', 56: '120000001726010203040506123456' } },
]

test(`${seconds} s of damaged frames make the decoder neither throw nor hang (FUZZ_SEED=${seed})`, () => {
  const mutate = mutator(seed)
  const below = seeded(seed + 1)
  const corpus = seeds.map((message) => pack(message))
  const ends = performance.now() + seconds * 1000
  const seen = { runs: 0, messages: 0, refused: 0, slowestMs: 0 }
  let kept = 0
  while (performance.now() < ends) {
    const began = performance.now()
    for (let i = 0; i < 100; i++) {
      const damaged = mutate(corpus[below(corpus.length)]!)
      const { bodies } = frameReader()(damaged)
      // Most damage changes the length too, so the rest is also tried as it is.
      for (const body of [...bodies, damaged.subarray(2)]) {
        const unpacked = unpack(body)
        seen.runs++
        if (unpacked.is === 'refused') {
          seen.refused++
          assert.doesNotMatch(unpacked.why, /[^\x20-\x7e]|\d{6}/, 'a refusal quotes what was sent')
          continue
        }
        seen.messages++
        describe(unpacked.message)
        // What was read can be sent, texts that nothing depends on in ASCII, and reads the same
        // again. A good copy joins the corpus, so that damage adds up.
        const again = pack(sendable(unpacked.message))
        const twice = unpack(again.subarray(2))
        assert.ok(twice.is === 'message' && isDeepStrictEqual(pack(twice.message), again), `not stable: ${body.toString('hex')}`)
        if (again.length < 600) corpus[seeds.length + (kept++ % 200)] = again
      }
    }
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - began)
  }
  assert.ok(seen.runs > 50 * seconds, `only ${seen.runs} runs`)
  assert.ok(seen.messages > 0 && seen.refused > 0, JSON.stringify(seen))
  assert.ok(seen.slowestMs < 20_000, `a hundred frames took ${seen.slowestMs} ms`)
})
