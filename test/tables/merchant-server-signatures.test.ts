import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { secret } from '../../src/base/secret.ts'
import {
  checkParts,
  initiateParts,
  notificationParts,
  sign,
  signatureHolds,
  signatureKey,
  stringToSign,
  type Parts,
} from '../../simulators/merchant-server/signatures.ts'

const controlKey = secret('B17F59B4-A7DC-41B4-8FF9-37D986B43D20')
const key = signatureKey(controlKey)!
const accessToken = '123456789012345678901234567890123456789012345678901234567890abcd'
const nonce = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ^$'
const one = { serialNumber: 'abcd', endpointId: '111', nonce, invoiceId: '6f1e1f0a-6c2d-4b55-9d6e-0e9d2f8b7a11' }
const initiated = { ...one, accessToken, currency: 'RUB' }

// Computed apart from this project.
// oxfmt-ignore
const known: readonly (readonly [what: string, parts: Parts, signature: string])[] = [
  ['initiate sale or transfer',               initiateParts({ ...initiated, amountCentis: '1000' }), 'FF03961601514E1182A86214ABBF052821471338'],
  ['initiate verification',                   initiateParts(initiated),                              'AFE4CAD6F6304E82844003FBDC699ABB19878FFD'],
  ['check without cards',                     checkParts(one),                                       'AE31931D23CF1F4097DFB6791CDB7888475764A0'],
  ['check with a source card',                checkParts({ ...one, sourceServerCardId: '2244' }),    'E848D66C72EC35CBDB12C82BD13AA6124D043ACF'],
  ['check with a source and a destination',   checkParts({ ...one, sourceServerCardId: '2244', destinationServerCardId: '3355' }), '76DA0EED61AFE7400D60CEE3F6D103922E33A28D'],
  ['card mapping notification',               notificationParts(one),                                'C65F691746EC8EEB459895D0A77DFD6117446A03'],
]

for (const [what, parts, signature] of known)
  test(`${what}: the signature is the known one, in upper case, and holds in any`, () => {
    assert.equal(sign(parts, key), signature)
    assert.ok(signatureHolds(signature, parts, key))
    assert.ok(signatureHolds(signature.toLowerCase(), parts, key))
    assert.ok(signatureHolds(signature.slice(0, 20) + signature.slice(20).toLowerCase(), parts, key))
  })

test('one character more, less or another is another signature, and so is a text of any other shape', () => {
  const [, parts, good] = known[0]!
  for (let at = 0; at < good.length; at++) {
    const other = good[at] === '0' ? '1' : '0'
    assert.ok(!signatureHolds(good.slice(0, at) + other + good.slice(at + 1), parts, key))
  }
  for (const wrong of ['', good.slice(1), `${good}0`, `${good}\n`, good.replace('FF', '\ufb00'), '０'.repeat(40)])
    assert.ok(!signatureHolds(wrong, parts, key))
})

test('the key is the control key without dashes as bytes, of 32 hexadecimal digits in either case, and of nothing else', () => {
  const bytes = Buffer.from('b17f59b4a7dc41b48ff937d986b43d20', 'hex')
  for (const text of ['B17F59B4A7DC41B48FF937D986B43D20', 'b17f59b4-a7dc-41b4-8ff9-37d986b43d20', controlKey.reveal()])
    assert.deepEqual(signatureKey(secret(text))?.reveal(), bytes)
  for (const text of ['', 'B17F59B4', `${controlKey.reveal()}0`, 'D5F82EC1-8575-4482-AD89-97X6X0X20X22', ' '.repeat(32)])
    assert.equal(signatureKey(secret(text)), undefined)
})

test('what is signed is each value in its order, in UTF-8, and nothing between', () => {
  const parts = checkParts({ ...one, serialNumber: 'Zoë', sourceServerCardId: 's', destinationServerCardId: 'd' })
  assert.equal(stringToSign(parts), `Zoë${nonce}d111${one.invoiceId}s`)
  const expected = createHmac('sha1', key.reveal())
    .update(Buffer.from(stringToSign(parts), 'utf8'))
    .digest('hex')
    .toUpperCase()
  assert.equal(sign(parts, key), expected)
})
