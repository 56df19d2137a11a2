import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secret } from '../../../src/base/secret.ts'
import { base32, codeAt, stepAt, stepOfCode, totpUri } from '../../../src/entry/totp.ts'

const key = secret(Buffer.from('12345678901234567890'))

test('codes are those of RFC 6238, appendix B', () => {
  // oxfmt-ignore
  const rows = [
    [59,             '94287082'],
    [1_111_111_109,  '07081804'],
    [1_111_111_111,  '14050471'],
    [1_234_567_890,  '89005924'],
    [2_000_000_000,  '69279037'],
    [20_000_000_000, '65353130'],
  ] as const
  for (const [seconds, code] of rows) {
    assert.equal(codeAt(key, stepAt(seconds * 1_000), 8), code)
    assert.equal(codeAt(key, stepAt(seconds * 1_000)), code.slice(2))
  }
})

test('a code counts in its step and one beside it, and once', () => {
  const now = 1_111_111_111_000
  const step = stepAt(now)
  for (const beside of [-1n, 0n, 1n]) assert.equal(stepOfCode(key, codeAt(key, step + beside), now), step + beside)
  for (const far of [-2n, 2n]) assert.equal(stepOfCode(key, codeAt(key, step + far), now), undefined)
  assert.equal(stepOfCode(key, codeAt(key, step), now, step), undefined, 'it was taken before')
  assert.equal(stepOfCode(key, codeAt(key, step - 1n), now, step), undefined, 'a later one was taken before')
  for (const wrong of ['', '000000', '1'.repeat(7), codeAt(key, step).slice(1)])
    assert.equal(stepOfCode(key, wrong, now), undefined)
})

test('the key for an app is written as RFC 4648 has it', () => {
  const texts = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar']
  const written = ['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI']
  assert.deepEqual(
    texts.map((text) => base32(Buffer.from(text))),
    written,
  )
  const uri = new URL(totpUri(key, 'jane@example.com', 'Tollgate').reveal())
  assert.equal(uri.pathname, '/Tollgate%3Ajane%40example.com')
  assert.equal(uri.searchParams.get('secret'), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
})
