import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import {
  accepted,
  callbackControl,
  minorUnits,
  newOrderId,
  order,
  postSale,
  refused,
  sale,
  saleControl,
  saleFields,
  sha1,
} from './client.ts'
import { status, statusControl, type Changes, type Fields } from './client.ts'

/** Checksums of sale, status and callback, with the published results: docs/choices.md. */

const sampleKey = 'B17F59B4-A7DC-41B4-8FF9-37D986B43D20'
const otherKey = 'D5F82EC1-8575-4482-AD89-97X6X0X20X22'
const pupkin = 'vass.pupkin@example.com'

describe('the published results hold', () => {
  // oxfmt-ignore
  const vectors: [string, string, string][] = [
    ['sale at endpoint 1111, 10.42',    saleControl(1111, '902B4FF5', minorUnits('10.42', 2), 'john.smith@gmail.com', sampleKey), 'c6bdd88a78834ef4b863b088827a459f039e8257'],
    ['sale at endpoint 1, 10.42',       saleControl(1, '902B4FF5', minorUnits('10.42', 2), 'john.smith@gmail.com', sampleKey),    '768eb8162fc361a3e14150ec46e9a6dd8fbfa483'],
    ['sale of 0.94',                    saleControl(789, 'CLIENT-112233', minorUnits('0.94', 2), pupkin, otherKey),               'ccbe33bde29728126b8e622b7644f99210432eda'],
    ['sale of 10.15',                   saleControl(789, 'CLIENT-112233', minorUnits('10.15', 2), pupkin, otherKey),              'b98a16cc21c6633cc4a450ada82c8ed0d6e09d7a'],
    ['sale of 0.57, not 56 cents',      saleControl(789, 'CLIENT-112233', minorUnits('0.57', 2), pupkin, otherKey),               '065da24fc00fb885e019282d2c556285d4721169'],
    ['sale of 10.5, one digit',         saleControl(789, 'CLIENT-112233', minorUnits('10.5', 2), pupkin, otherKey),               'b3c1d792fb18de6ffe8fba62e2be4429f42d11b9'],
    ['status with orderid',             statusControl('test-login', 'CLIENT-112233', '6768788', otherKey),                        '92facd9ee636a8d495eedca346cfddbe5694dfaf'],
    ['status without orderid',          statusControl('test-login', 'CLIENT-112233', '', otherKey),                               'bcaf34dae08a70997c4d5a01032e68a620632883'],
    ['callback of 1234567',             callbackControl('approved', '1234567', 'hf-abc', 'test-merchant-control'),                '652ace404c4dfe8bba069ecee594ec23a89340e1'],
    ['callback of 123',                 callbackControl('approved', '123', 'invoice-1', 'AF4B5DE6-3468-424C-A922-C1DAD7CB4509'),  '5bc8ee48f9ba37c0fd1e0b052a9bc105c6df87e1'],
    ['callback with every field empty', callbackControl('', '', '', 'test-merchant-control'),                                     '1a66987ac24e927ff2979f83a41cb818936a9e62'],
    ['the text of the documentation',   sha1('test string to sha1'),                                                              'bd4c24bb656d161a66d89a45f50bf52cb7134851'],
  ]
  for (const [what, computed, published] of vectors) it(what, () => assert.equal(computed, published))
  // oxfmt-ignore
  const shifts: [string, number, string][] = [
    ['0.94', 2, '94'], ['10.15', 2, '1015'], ['10.5', 2, '1050'], ['10', 2, '1000'], ['0.07', 2, '7'], ['10.500', 2, '1050'],
    ['100', 0, '100'], ['100.00', 0, '100'], ['1.2', 3, '1200'],
  ]
  for (const [amount, exponent, minor] of shifts) {
    it(`${amount} with exponent ${exponent} is ${minor}`, () => assert.equal(minorUnits(amount, exponent), minor))
  }
})

const world = await openWorld()
const paid = await order(world)

/** Sends a sale signed over these parts: id of the path, client_orderid, minor units, e-mail. */
async function saleSignedOver(changes: Changes, parts: (fields: Fields) => string[], path?: number | string): Promise<Fields> {
  const fields = saleFields(changes)
  return postSale(world, { ...fields, control: sha1(...parts(fields), world.merchant.controlKey) }, path)
}

const plain = (): string => String(world.endpoints.plain)
/** The signed parts of a sale at the plain endpoint; values raw, or without blanks around them. */
const inMinor = (minor: string) => (sent: Fields) => [plain(), sent.client_orderid ?? '', minor, sent.email ?? '']
/** A sale of 100 yen, signed as so many minor units. */
const saleSignedAt = (path: number, minor: string): Promise<Fields> =>
  saleSignedOver(
    { amount: '100', currency: 'JPY' },
    (sent) => [String(path), sent.client_orderid ?? '', minor, sent.email ?? ''],
    path,
  )
const trimmed = (sent: Fields) => [plain(), (sent.client_orderid ?? '').trim(), '1050', (sent.email ?? '').trim()]

describe('sale: id of the path + client_orderid + amount in minor units + email + merchant_control', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const amounts: [string, string][] = [
    ['0.01', '1'], ['0.57', '57'], ['0.94', '94'], ['1.1', '110'], ['4.35', '435'], ['8.41', '841'], ['10.15', '1015'], ['10.5', '1050'], ['19.99', '1999'],
    ['1.15', '115'], ['64.1', '6410'], ['100', '10000'], ['0010.5', '1050'], ['10.500', '1050'], ['1234567.89', '123456789'], ['9999999999', '999999999900'],
  ]
  for (const [amount, minor] of amounts) {
    it(`${amount} is signed as ${minor}`, async () => {
      accepted(await saleSignedOver({ amount }, inMinor(minor)))
    })
  }
  it('a group’s sale is signed with the id of the group', async () => {
    const id = String(world.groups.multi)
    const over = (sent: Fields) => [id, sent.client_orderid ?? '', '1050', sent.email ?? '']
    accepted(await saleSignedOver({}, over, `group/${id}`))
  })
  // oxfmt-ignore
  const wrongParts: [string, (sent: Fields) => string[], Changes?][] = [
    ['the amount as it was sent',          (sent) => [plain(), sent.client_orderid ?? '', '10.50', sent.email ?? '']],
    ['0.57 as a binary fraction has it',   (sent) => [plain(), sent.client_orderid ?? '', '56', sent.email ?? ''], { amount: '0.57' }],
    ['the units alone',                    (sent) => [plain(), sent.client_orderid ?? '', '10', sent.email ?? '']],
    ['no id',                              (sent) => [sent.client_orderid ?? '', '1050', sent.email ?? '']],
    ['the id of another endpoint',         (sent) => [String(world.endpoints.euro), sent.client_orderid ?? '', '1050', sent.email ?? '']],
    ['the group of the endpoint',          (sent) => [String(world.groups.multi), sent.client_orderid ?? '', '1050', sent.email ?? '']],
    ['the login in front',                 (sent) => [world.merchant.login, plain(), sent.client_orderid ?? '', '1050', sent.email ?? '']],
    ['another e-mail',                     (sent) => [plain(), sent.client_orderid ?? '', '1050', 'eve@example.com']],
    ['another client_orderid',             (sent) => [plain(), 'another', '1050', sent.email ?? '']],
    ['the parts in another order',         (sent) => [plain(), sent.email ?? '', sent.client_orderid ?? '', '1050']],
    ['separators between the parts',       (sent) => [[plain(), sent.client_orderid, '1050', sent.email, ''].join('&')]],
  ]
  for (const [what, parts, changes] of wrongParts) {
    it(`signed over ${what}: 2`, async () => {
      refused(await saleSignedOver(changes ?? {}, parts), 2, 'INVALID_CONTROL_CODE')
    })
  }
  it('JPY is signed in whole units, not in hundredths', async () => {
    const jpy = { amount: '100', currency: 'JPY' }
    refused(await saleSignedOver(jpy, inMinor('10000')), 2)
    refused(await saleSignedOver(jpy, inMinor('100')), 8)
  })
  it('at an endpoint for JPY, 100 yen are signed as 100, however they are spelled', async () => {
    for (const amount of ['100', '100.00'])
      accepted(await sale(world, { amount, currency: 'JPY' }, { path: world.endpoints.yen }))
    refused(await saleSignedAt(world.endpoints.yen, '10000'), 2)
  })
  it('with control_minor_units = hundredths 100 yen are signed as 10000, never as 100', async () => {
    accepted(await saleSignedAt(world.endpoints.hundredths, '10000'))
    refused(await saleSignedAt(world.endpoints.hundredths, '100'), 2)
    refused(await saleSignedAt(world.endpoints.hundredths, '1000000'), 2)
  })
  it('KWD is signed in thousandths, not in hundredths', async () => {
    const kwd = { amount: '1.2', currency: 'KWD' }
    refused(await saleSignedOver(kwd, inMinor('120')), 2)
    refused(await saleSignedOver(kwd, inMinor('1200')), 8)
  })
  it('values with blanks around them may be signed trimmed', async () => {
    const changes = { client_orderid: `  ${newOrderId()} `, email: ' ada@example.com  ', amount: ' 10.50 ' }
    accepted(await saleSignedOver(changes, trimmed))
  })
  it('values with blanks around them may be signed raw', async () => {
    const changes = { client_orderid: `  ${newOrderId()} `, email: ' ada@example.com  ' }
    accepted(await saleSignedOver(changes, inMinor('1050')))
  })
  it('letters beyond ASCII are signed as UTF-8', async () => {
    const made = accepted(await sale(world, { client_orderid: `é😀-${newOrderId()}` }))
    assert.match(made.client_orderid, /^é😀-/)
  })
})

const ask = (changes: Changes, ...signed: string[]): Promise<Fields> =>
  status(world, { ...changes, control: sha1(...signed, world.merchant.controlKey) })
const found = (reply: Fields): void =>
  assert.deepEqual([reply.type, reply['gateway-order-id']], ['status-response', paid.orderid])

describe(
  'status: login + client_orderid + orderid + merchant_control, an absent orderid counts as empty text',
  { concurrency: 4 },
  () => {
    it('with orderid', async () => {
      const { client_orderid, orderid } = paid
      found(await ask({ client_orderid, orderid }, world.merchant.login, client_orderid, orderid))
    })
    it('without orderid', async () => {
      const { client_orderid } = paid
      found(await ask({ client_orderid }, world.merchant.login, client_orderid))
    })
    it('with an empty orderid', async () => {
      const { client_orderid } = paid
      found(await ask({ client_orderid, orderid: '' }, world.merchant.login, client_orderid))
    })
    it('with client-order-id, the other spelling', async () => {
      const { client_orderid, orderid } = paid
      found(await ask({ 'client-order-id': client_orderid, orderid }, world.merchant.login, client_orderid, orderid))
    })
    it('by-request-sn is not signed', async () => {
      const { client_orderid, orderid, serial } = paid
      found(await ask({ client_orderid, orderid, 'by-request-sn': serial }, world.merchant.login, client_orderid, orderid))
    })
    it('values with blanks around them may be signed raw or trimmed', async () => {
      const [login, client_orderid, orderid] = [` ${world.merchant.login} `, `${paid.client_orderid} `, `\t${paid.orderid}`]
      found(await ask({ login, client_orderid, orderid }, login, client_orderid, orderid))
      found(await ask({ login, client_orderid, orderid }, world.merchant.login, paid.client_orderid, paid.orderid))
    })
    it('an orderid that is sent but not signed: 2', async () => {
      const { client_orderid, orderid } = paid
      refused(await ask({ client_orderid, orderid }, world.merchant.login, client_orderid), 2)
    })
    it('an orderid that is signed but not sent: 2', async () => {
      const { client_orderid, orderid } = paid
      refused(await ask({ client_orderid }, world.merchant.login, client_orderid, orderid), 2)
    })
    it('signed without the login: 2', async () => {
      const { client_orderid, orderid } = paid
      refused(await ask({ client_orderid, orderid }, client_orderid, orderid), 2)
    })
    it('signed with the key of another merchant: 2', async () => {
      const { client_orderid, orderid } = paid
      const control = statusControl(world.merchant.login, client_orderid, orderid, world.other.controlKey)
      refused(await status(world, { client_orderid, orderid, control }), 2)
    })
  },
)
