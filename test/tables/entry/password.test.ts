import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { hashPassword, isPassword, weakness } from '../../../src/entry/password.ts'

test('weak passwords are refused with the reason', () => {
  // oxfmt-ignore
  const rows = [
    ['short1!',                   /at least 12/],
    ['x'.repeat(257),             /at most 256/],
    ['aaaaaaaaaaaaaaaa',          /six different/],
    ['abababababababab',          /six different/],
    ['password1234',              /well-known/],
    ['Tollgate-2026',             /well-known/],
    ['JaneJane1234567',           /well-known/],
    ['correct horse battery',     undefined],
    ['ключ от старого сарая',     undefined],
  ] as const
  for (const [password, why] of rows)
    if (why) assert.match(weakness(secret(password), 'jane') ?? 'strong', why, password)
    else assert.equal(weakness(secret(password), 'jane'), undefined, password)
})

test('only the hash of a password is stored, in one form for all compositions of its letters', async () => {
  const kept = await hashPassword(secret('caf\u00e9 at the corner'), systemRandom)
  assert.ok(!JSON.stringify(kept).includes('corner'))
  assert.equal(await isPassword(secret('cafe\u0301 at the corner'), kept), true)
  for (const wrong of ['', 'cafe at the corner', 'caf\u00e9 at the corner '])
    assert.equal(await isPassword(secret(wrong), kept), false)
  assert.equal(await isPassword(secret(''), undefined), false, 'no user signs in without a password')
  const again = await hashPassword(secret('caf\u00e9 at the corner'), systemRandom)
  assert.notEqual(again.hash, kept.hash)
})
