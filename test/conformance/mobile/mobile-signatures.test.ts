import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { notEmpty } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { at, changed, checkSignature, hmac, textAt, type Call, type Invoice, type Json, type Kind } from './mobile-merchant.ts'
import { about, accepted, begin, initiate, newInvoiceId, newToken, openMobile, perform, refused, signature } from './mobile.ts'
import { urlOf, post, type Made, type Way } from './mobile.ts'

/** The published signatures, and session.signature as the service accepts it. Choices.md 8. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile, world.other.endpoint])
closing(mobile.shop)

const sampleKey = 'B17F59B4-A7DC-41B4-8FF9-37D986B43D20'
const sample = {
  accessToken: '123456789012345678901234567890123456789012345678901234567890abcd',
  device: 'abcd',
  nonce: '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ^$',
  invoiceId: '6f1e1f0a-6c2d-4b55-9d6e-0e9d2f8b7a11',
}

describe('published signatures', () => {
  const { accessToken, device, nonce, invoiceId } = sample
  const body = {
    consumer: { device: { serialNumber: device } },
    session: { accessToken, nonce },
    transaction: { amountCentis: 1000, currency: 'RUB' },
  }
  const invoice = (kind: Kind): Invoice => ({ ...sample, kind, endpoint: 111, controlKey: sampleKey })
  // oxfmt-ignore
  const published: [string, string, string][] = [
    ['initiate verification',                    signature('verification', 111, invoiceId, body, sampleKey), 'AFE4CAD6F6304E82844003FBDC699ABB19878FFD'],
    ['initiate sale',                            signature('sale', 111, invoiceId, body, sampleKey),         'FF03961601514E1182A86214ABBF052821471338'],
    ['initiate transfer',                        signature('transfer', 111, invoiceId, body, sampleKey),     'FF03961601514E1182A86214ABBF052821471338'],
    ['check verification',                       checkSignature(invoice('verification')),                    'AE31931D23CF1F4097DFB6791CDB7888475764A0'],
    ['check sale without a reference',           checkSignature(invoice('sale')),                            'AE31931D23CF1F4097DFB6791CDB7888475764A0'],
    ['check sale with a reference',              checkSignature(invoice('sale'), '2244'),                    'E848D66C72EC35CBDB12C82BD13AA6124D043ACF'],
    ['check transfer with both references',      checkSignature(invoice('transfer'), '2244', '3355'),        '76DA0EED61AFE7400D60CEE3F6D103922E33A28D'],
    ['notification',                             hmac(sampleKey, nonce, 111, invoiceId),                     'C65F691746EC8EEB459895D0A77DFD6117446A03'],
  ]
  for (const [what, computed, expected] of published) it(what, () => assert.equal(computed, expected))
})

describe('the service signs as these do', () => {
  /** A merchant of its own with this key, and its endpoint in roubles. */
  async function newMerchant(login: string, controlKey: string): Promise<Required<Pick<Way, 'endpoint' | 'as'>>> {
    const { tell } = cliOf(() => world)
    await tell(['merchant', 'add', '--login', login, '--control-key', '-'], controlKey)
    const settings = '--currency RUB --plain-http-callbacks on --merchant-server-url'.split(' ')
    const added = await tell(['endpoint', 'add', '--merchant', login, '--gate', 'sandbox acquirer', ...settings, mobile.shop.url])
    return { endpoint: Number(/^Endpoint (\d+) /.exec(added)?.[1]), as: { login, controlKey } }
  }
  const roubles = { transaction: { amountCentis: 1000, currency: 'RUB' } }
  /** Performs a request that must be accepted with this endpoint; returns the check's body. */
  async function checked(made: Made): Promise<Call> {
    const told = await until(
      () => perform(mobile, made),
      ({ json }) => at(json, 'error.cause') !== 'INVALID_CONFIGURATION',
    )
    accepted(told, made)
    const [check] = await until(() => mobile.shop.checks(made.invoiceId), notEmpty)
    assert.ok(check)
    return check
  }
  it('a merchant with the published key, token, device, nonce and invoice, in roubles', async () => {
    const changes = {
      'session.accessToken': sample.accessToken,
      'session.nonce': sample.nonce,
      'consumer.device.serialNumber': sample.device,
      ...roubles,
    }
    const way = { ...(await newMerchant('published', sampleKey)), invoiceId: sample.invoiceId }
    const made = initiate(mobile, 'sale', changes, way)
    assert.equal(at((await checked(made)).body, 'session.signature'), at(made.body, 'session.signature'))
  })
  it('a key without dashes, in small letters, is the same key', async () => {
    const controlKey = sampleKey.replaceAll('-', '').toLowerCase()
    const way = await newMerchant('small-letters', controlKey)
    const made = initiate(mobile, 'sale', roubles, { ...way, as: { ...way.as, controlKey: sampleKey } })
    await checked(made)
  })
  it('a merchant whose key is not 32 hexadecimal digits cannot use the mobile API: operator or app get an error', async () => {
    const way = await newMerchant('any-text', 'qV7-x2LmPz0RfYc9TgWbNe!kDh4.Js8_').catch((thrown: unknown) => {
      assert.match(String(thrown), /hexadecimal/)
      return undefined
    })
    if (!way) return
    const made = initiate(mobile, 'sale', roubles, { ...way, as: world.merchant })
    refused(await perform(mobile, made), 'INVALID_CONFIGURATION', /\S/, made.invoiceId)
  })
})

const kinds: Kind[] = ['verification', 'sale', 'transfer']
const resigned = (made: Made, text: string): Made => ({ ...made, body: changed(made.body, { 'session.signature': text }) })
const signed = (made: Made): string => textAt(made.body, 'session.signature')
const refuses = async (made: Made, path = 'session.signature'): Promise<void> => {
  refused(await perform(mobile, made), 'INVALID_REQUEST', about(path), made.invoiceId)
  assert.deepEqual(mobile.shop.checks(made.invoiceId), [], 'the merchant’s server is not asked')
}
/** Another last letter. */
const touched = (text: string): string => text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')

describe('session.signature is taken in any letter case', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, (text: string) => string][] = [
    ['upper case',  (text) => text.toUpperCase()],
    ['lower case',  (text) => text.toLowerCase()],
    ['mixed cases', (text) => text.toLowerCase().replaceAll(/[ace]/g, (letter) => letter.toUpperCase())],
  ]
  for (const kind of kinds) {
    for (const [what, spell] of cases) {
      it(`${kind}: ${what}, and check gets the app's fields unchanged`, async () => {
        const made = initiate(mobile, kind)
        const sent = resigned(made, spell(signed(made)))
        accepted(await perform(mobile, sent), made)
        const [check] = await until(() => mobile.shop.checks(made.invoiceId), notEmpty)
        assert.equal(at(check?.body, 'session.signature'), signed(sent))
      })
    }
  }
})

describe('a signature over anything else is refused', { concurrency: 8 }, () => {
  for (const kind of kinds) {
    // oxfmt-ignore
    const signedParts: [string, Json][] = [
      ['session.accessToken',          { 'session.accessToken': newToken(64) }],
      ['consumer.device.serialNumber', { 'consumer.device.serialNumber': 'another device' }],
      ['session.nonce',                { 'session.nonce': newToken(40) }],
      ['transaction.currency',         { 'transaction.currency': 'EUR' }],
      ...(kind !== 'verification' ? [['transaction.amountCentis', { 'transaction.amountCentis': 1051 }] satisfies [string, Json]] : []),
    ]
    for (const [path, changes] of signedParts) {
      it(`${kind}: ${path} is another`, async () => {
        const made = initiate(mobile, kind)
        await refuses({ ...made, body: changed(made.body, changes) }, path === 'transaction.currency' ? '' : 'session.signature')
      })
    }
    it(`${kind}: the invoice is another`, async () => {
      await refuses({ ...initiate(mobile, kind), invoiceId: newInvoiceId() })
    })
    it(`${kind}: the endpoint is another of the same merchant`, async () => {
      await refuses({ ...initiate(mobile, kind), endpoint: world.endpoints.mobile })
    })
    it(`${kind}: the endpoint is another merchant’s`, async () => {
      await refuses({ ...initiate(mobile, kind), endpoint: world.other.endpoint })
    })
    const other = kind === 'verification' ? 'sale' : 'verification'
    it(`${kind}: it is that of a ${other}`, async () => {
      const made = initiate(mobile, kind, { 'transaction.amountCentis': 1050 })
      const text = signature(other, made.endpoint, made.invoiceId, made.body, world.merchant.controlKey)
      await refuses(resigned(made, text))
    })
    // oxfmt-ignore
    const wrong: [string, (made: Made, parts: string) => string][] = [
      ['with another last letter',              (made) => touched(signed(made))],
      ['with a letter more',                    (made) => `${signed(made)}0`],
      ['with a letter less',                    (made) => signed(made).slice(1)],
      ['with blanks around it',                 (made) => ` ${signed(made)} `],
      ['twice',                                 (made) => signed(made).repeat(2)],
      ['in Base64',                             (made) => Buffer.from(signed(made), 'hex').toString('base64').padEnd(32, '=')],
      ['that is all zeros',                     () => '0'.repeat(40)],
      ['that is no hexadecimal text',           () => 'z'.repeat(40)],
      ['under the other merchant’s key',        (_made, parts) => hmac(world.other.controlKey, parts)],
      ['under the key as text',                 (_made, parts) => createHmac('sha1', world.merchant.controlKey).update(parts).digest('hex')],
      ['under the key as text without dashes',  (_made, parts) => createHmac('sha1', world.merchant.controlKey.replaceAll('-', '')).update(parts).digest('hex')],
      ['by SHA-1 with the key at the end',      (_made, parts) => createHash('sha1').update(parts + world.merchant.controlKey).digest('hex')],
      ['by HMAC-SHA256',                        (_made, parts) => createHmac('sha256', Buffer.from(world.merchant.controlKey.replaceAll('-', ''), 'hex')).update(parts).digest('hex')],
    ]
    for (const [what, make] of wrong) {
      it(`${kind}: one ${what}`, async () => {
        const made = initiate(mobile, kind)
        const { session, consumer, transaction } = made.body
        const amount = kind !== 'verification' ? [at(transaction, 'amountCentis')] : []
        const device = at(consumer, 'device.serialNumber')
        const parts = [
          at(session, 'accessToken'),
          device,
          made.endpoint,
          at(session, 'nonce'),
          made.invoiceId,
          ...amount,
          'USD',
        ].join('')
        assert.equal(hmac(world.merchant.controlKey, parts), signed(made))
        await refuses(resigned(made, make(made, parts)))
      })
    }
  }
})

describe('strangers that look the same', { concurrency: 4 }, () => {
  it('the same invoice and nonce at two merchants are two transactions', async () => {
    const changes = { 'session.nonce': newToken(40) }
    const invoiceId = newInvoiceId()
    const one = await begin(mobile, 'sale', changes, { invoiceId })
    const two = await begin(mobile, 'sale', changes, { invoiceId, endpoint: world.other.endpoint, as: world.other })
    assert.notEqual(one.session.token, two.session.token)
  })
  it('a request refused for its signature uses neither invoice nor nonce', async () => {
    const made = initiate(mobile, 'sale')
    refused(await post(urlOf(mobile, made), resigned(made, touched(signed(made))).body), 'INVALID_REQUEST', /\S/, made.invoiceId)
    accepted(await perform(mobile, made), made)
  })
})
