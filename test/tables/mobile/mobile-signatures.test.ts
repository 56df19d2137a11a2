import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import * as client from '../../../client/mobile-signatures.ts'
import { secret } from '../../../src/base/secret.ts'
import * as service from '../../../src/merchant/session.ts'
import { checkText, initiateText, notificationText, type SignedText } from '../../../src/spec/mobile/signatures.ts'
import {
  checkParts,
  initiateParts,
  notificationParts,
  sign,
  signatureHolds,
  signatureKey,
  stringToSign,
  type Parts,
} from '../../../simulators/merchant-server/signatures.ts'

/**
 * Signatures of the mobile API, made and verified by service, merchant's server and the merchants'
 * client, each with code of its own.
 */

const controlKey = secret('B17F59B4-A7DC-41B4-8FF9-37D986B43D20')
const key = signatureKey(controlKey)!
const accessToken = '123456789012345678901234567890123456789012345678901234567890abcd'
const nonce = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ^$'
const invoiceId = '6f1e1f0a-6c2d-4b55-9d6e-0e9d2f8b7a11'
const one = { serialNumber: 'abcd', endpointId: '111', nonce, invoiceId }
const begun = { ...one, accessToken, currency: 'RUB' }
const source = '2244'
const destination = '3355'

/** A value of each path that is signed anywhere. */
const values = {
  'session.accessToken': accessToken,
  'session.nonce': nonce,
  'consumer.device.serialNumber': one.serialNumber,
  endpointId: one.endpointId,
  invoiceId,
  'transaction.amountCentis': '1000',
  'transaction.currency': begun.currency,
  'sourceOfFunds.reference.serverCardId': source,
  'destinationOfFunds.reference.serverCardId': destination,
}

interface Known {
  what: string
  /** As the reference has it. */
  row: SignedText
  text: string
  signature: string
  merchants: Parts
  clients: string[]
}

// Computed apart from this project, by three programs.
const known: readonly Known[] = [
  {
    what: 'initiate sale or transfer',
    row: initiateText.transfer,
    text: `${accessToken}abcd111${nonce}${invoiceId}1000RUB`,
    signature: 'FF03961601514E1182A86214ABBF052821471338',
    merchants: initiateParts({ ...begun, amountCentis: '1000' }),
    clients: client.initiateValues({ ...begun, amountCentis: 1000 }),
  },
  {
    what: 'initiate verification',
    row: initiateText.verification,
    text: `${accessToken}abcd111${nonce}${invoiceId}RUB`,
    signature: 'AFE4CAD6F6304E82844003FBDC699ABB19878FFD',
    merchants: initiateParts(begun),
    clients: client.initiateValues(begun),
  },
  {
    what: 'check without cards',
    row: checkText.verification,
    text: `abcd${nonce}111${invoiceId}`,
    signature: 'AE31931D23CF1F4097DFB6791CDB7888475764A0',
    merchants: checkParts(one),
    clients: client.checkValues(one),
  },
  {
    what: 'check with a source card',
    row: checkText.sale,
    text: `abcd${nonce}111${invoiceId}${source}`,
    signature: 'E848D66C72EC35CBDB12C82BD13AA6124D043ACF',
    merchants: checkParts({ ...one, sourceServerCardId: source }),
    clients: client.checkValues(one, source),
  },
  {
    what: 'check with a source and a destination card',
    row: checkText.transfer,
    text: `abcd${nonce}${destination}111${invoiceId}${source}`,
    signature: '76DA0EED61AFE7400D60CEE3F6D103922E33A28D',
    merchants: checkParts({ ...one, sourceServerCardId: source, destinationServerCardId: destination }),
    clients: client.checkValues(one, source, destination),
  },
  {
    what: 'card mapping notification',
    row: notificationText,
    text: `${nonce}111${invoiceId}`,
    signature: 'C65F691746EC8EEB459895D0A77DFD6117446A03',
    merchants: notificationParts(one),
    clients: client.notificationValues(one),
  },
]

const inEveryCase = (text: string) => [text, text.toLowerCase(), text.slice(0, 20) + text.slice(20).toLowerCase()]

for (const { what, row, text, signature, merchants } of known) {
  const services = service.signedParts(row, values)

  test(`${what}: the reference names its values in their order`, () => {
    assert.deepEqual(
      row.parts.map(({ path }) => path),
      merchants.map(([path]) => path),
    )
  })

  test(`${what}: the merchant's server makes the known signature, in upper case, and takes it in any`, () => {
    assert.equal(stringToSign(merchants), text)
    assert.equal(sign(merchants, key), signature)
    for (const given of inEveryCase(signature)) assert.ok(signatureHolds(given, merchants, key))
  })

  test(`${what}: the service makes the known signature, in upper case, and takes it in any`, () => {
    assert.equal(services.join(''), text)
    assert.equal(service.sessionSignature(services, controlKey), signature)
    for (const given of inEveryCase(signature)) assert.ok(service.signatureHolds(given, services, [secret('no key'), controlKey]))
  })
}

const clientKey = client.keyOf(controlKey.reveal())

for (const { what, text, signature, clients } of known)
  test(`${what}: the client that merchants copy makes the known signature, in upper case, and takes it in any`, () => {
    assert.equal(clients.join(''), text)
    assert.equal(client.sign(clients, clientKey), signature)
    for (const given of inEveryCase(signature)) assert.ok(client.signatureHolds(given, clients, clientKey))
  })

test('the reference has one text for sales and transfers, and says which values may be missing', () => {
  assert.deepEqual(initiateText.sale, initiateText.transfer)
  const missing = (parts: SignedText['parts']) => parts.filter(({ optional }) => optional).map(({ path }) => path)
  assert.deepEqual(missing(checkText.sale.parts), ['sourceOfFunds.reference.serverCardId'])
  assert.deepEqual(missing(checkText.transfer.parts), [
    'destinationOfFunds.reference.serverCardId',
    'sourceOfFunds.reference.serverCardId',
  ])
  for (const { parts } of [...Object.values(initiateText), checkText.verification, notificationText])
    assert.deepEqual(missing(parts), [])
})

test('the service signs what there is of the values that may be missing, and nothing without one of the others', () => {
  const { 'sourceOfFunds.reference.serverCardId': _source, ...withoutSource } = values
  assert.equal(service.signedParts(checkText.transfer, withoutSource).join(''), `abcd${nonce}${destination}111${invoiceId}`)
  assert.throws(() => service.signedParts(checkText.transfer, { ...values, invoiceId: undefined }), /invoiceId is signed/)
})

test('one character more, less or changed makes another signature for all, and so does any other shape', () => {
  const { row, merchants, clients, signature } = known[0]!
  const services = service.signedParts(row, values)
  const isRefused = (given: string) => {
    assert.ok(!signatureHolds(given, merchants, key), given)
    assert.ok(!service.signatureHolds(given, services, [controlKey]), given)
    assert.ok(!client.signatureHolds(given, clients, clientKey), given)
  }
  for (let at = 0; at < signature.length; at++) {
    const other = signature[at] === '0' ? '1' : '0'
    isRefused(signature.slice(0, at) + other + signature.slice(at + 1))
  }
  for (const wrong of [
    '',
    signature.slice(1),
    `${signature}0`,
    `${signature}\n`,
    signature.replace('FF', '\ufb00'),
    '０'.repeat(40),
  ])
    isRefused(wrong)
})

test('the key is the control key without dashes as bytes, of 32 hexadecimal digits in either case, and of nothing else', () => {
  const bytes = Buffer.from('b17f59b4a7dc41b48ff937d986b43d20', 'hex')
  const { row, signature } = known[0]!
  const services = service.signedParts(row, values)
  for (const text of ['B17F59B4A7DC41B48FF937D986B43D20', 'b17f59b4-a7dc-41b4-8ff9-37d986b43d20', controlKey.reveal()]) {
    assert.deepEqual(signatureKey(secret(text))?.reveal(), bytes)
    assert.equal(service.sessionSignature(services, secret(text)), signature)
    assert.deepEqual(client.keyOf(text), bytes)
  }
  for (const text of ['', 'B17F59B4', `${controlKey.reveal()}0`, 'D5F82EC1-8575-4482-AD89-97X6X0X20X22', ' '.repeat(32)]) {
    assert.equal(signatureKey(secret(text)), undefined)
    assert.equal(service.sessionSignature(services, secret(text)), undefined)
    assert.throws(() => client.keyOf(text), TypeError)
  }
})

test('the signed text is each value in its order, in UTF-8, without separators', () => {
  const parts = checkParts({ ...one, serialNumber: 'Zoë', sourceServerCardId: 's', destinationServerCardId: 'd' })
  assert.equal(stringToSign(parts), `Zoë${nonce}d111${one.invoiceId}s`)
  const expected = createHmac('sha1', key.reveal())
    .update(Buffer.from(stringToSign(parts), 'utf8'))
    .digest('hex')
    .toUpperCase()
  assert.equal(sign(parts, key), expected)
  assert.equal(
    service.sessionSignature(
      parts.map(([, value]) => value),
      controlKey,
    ),
    expected,
  )
})
