import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAccessLimits, usualLimits } from '../../../src/merchant/access-limits.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { Secret } from '../../../src/base/secret.ts'
import { endpointExists, fieldsCanBeRead } from '../../../src/gateway-api/checks.ts'
import { controlHolds } from '../../../src/gateway-api/checksum.ts'
import type { SignedByKey } from '../../../src/gateway-api/stages.ts'
import { controlOf } from '../../../src/merchant/control.ts'
import { registryOf, type Endpoint } from '../../../src/merchant/merchant.ts'
import { endpointFields, type EndpointSettings } from '../../../src/merchant/fields/endpoint.ts'
import type { SignedAmount } from '../../../src/order/store/rows.ts'
import { operationNames, operations } from '../../../src/spec/gateway/operations.ts'

/**
 * What a refused checksum costs, counted: checksums computed and orders read. Whoever has no key
 * must not learn by the time whether there is a login, an endpoint or an order.
 */

let checksums = 0
let reads: bigint[] = []

/** A key that counts: each checksum takes it once. */
class CountedKey extends Secret<string> {
  override reveal(): string {
    checksums++
    return super.reveal()
  }
}
const key = new CountedKey('the key of the merchant')

const endpoint = (endpointId: bigint, currency: string, settings: Partial<EndpointSettings> = {}): Endpoint => ({
  endpointId,
  merchantId: endpointId / 10n,
  name: `endpoint ${endpointId}`,
  enabled: true,
  currency,
  gateIds: [],
  settings: endpointFields.whole(settings),
})
const registry = registryOf({
  version: 1n,
  staleAt: Infinity,
  merchants: [1n, 2n].map((merchantId) => ({
    merchantId,
    login: `shop${merchantId}`,
    name: `Shop ${merchantId}`,
    enabled: true,
    cellNo: 0,
    controlKeys: [merchantId === 1n ? key : new CountedKey('the key of another')],
    publicKeys: [],
  })),
  endpoints: [endpoint(11n, 'USD'), endpoint(12n, 'JPY', { controlMinorUnits: 'hundredths' }), endpoint(21n, 'USD')],
  groups: [],
  gates: [],
  filters: [],
})

const stored: Record<string, readonly SignedAmount[]> = {
  1000001: [
    { currency: 'USD', amountText: '10.50', amountMinor: 1050n },
    { currency: 'USD', amountText: '7.00', amountMinor: 700n },
  ],
}

type Sent = Readonly<Record<string, string>>

const client = { clientAddress: '203.0.113.7' }
const accessLimits = openAccessLimits({ settings: usualLimits, clock: systemClock, isShared: () => true })

/** Whether a request is refused by its checksum, and what that cost. */
async function judge(operation: SignedByKey, sent: Sent, path = '11') {
  const orders = {
    signedAmounts: ({ orderId }: { orderId: bigint }) => {
      reads.push(orderId)
      return Promise.resolve(stored[String(orderId)])
    },
  }
  const signing = { orders, decoyKey: new CountedKey('a decoy'), explains: false, accessLimits }
  const named = { registry, path: { id: path, group: false }, serialNumber: 's', now: 0, overloaded: false, client }
  const received = { ...named, operation, pairs: Object.entries(sent) }
  const addressed = endpointExists(received)
  if ('refused' in addressed) return assert.fail(addressed.refused)
  const fields = fieldsCanBeRead({ ...received, ...addressed })
  if ('refused' in fields) return assert.fail(`${fields.refused} ${fields.detail}: ${JSON.stringify(sent)}`)
  checksums = 0
  reads = []
  // The table of a signed operation read them.
  const signed = { ...received, ...addressed, ...fields } as Parameters<typeof controlHolds>[0]
  const isRefused = 'refused' in (await controlHolds(signed, signing))
  return { isRefused, checksums, reads: reads.length }
}

const wrong = 'f'.repeat(40)
const sale: Sent = {
  client_orderid: 'order-1',
  order_desc: 'something',
  amount: '10.50',
  currency: 'USD',
  email: 'jane@example.com',
  ipaddress: '203.0.113.7',
  credit_card_number: '4111111111111111',
  card_printed_name: 'JANE DOE',
  expire_month: '12',
  expire_year: '2031',
  cvv2: '123',
  control: wrong,
}
const named: Sent = { login: 'shop1', client_orderid: 'order-1', orderid: '1000001', control: wrong }
const uploaded: Sent = { login: 'shop1', 'client-order-id': 'order-1', orderid: '1000001', control: wrong }
const rebill: Sent = {
  ...named,
  cardrefid: '77',
  amount: '10.50',
  currency: 'USD',
  order_desc: 'a',
  cvv2: '123',
  ipaddress: '203.0.113.7',
}

const requests: Record<SignedByKey, Sent[]> = {
  sale: [sale],
  preauth: [sale],
  'account-verification': [sale],
  'make-rebill-sale': [rebill],
  'make-rebill-preauth': [rebill],
  'make-rebill': [rebill],
  capture: [named, { ...named, amount: '1.00', currency: 'USD' }],
  return: [named, { ...named, amount: '1.00', currency: 'USD' }],
  void: [named],
  'create-card-ref': [named],
  'get-card-info': [{ login: 'shop1', cardrefid: '77', control: wrong }],
  status: [named, { login: 'shop1', client_orderid: 'order-1', control: wrong }],
  'upload-method-url-result': [
    { ...uploaded, threeDSServerTransID: '0739d5aa-1111-4222-8333-0123456789ab', threeDSCompInd: 'Y' },
  ],
  'upload-cres-result': [{ ...uploaded, cres: 'e30' }],
  'upload-pares-result': [{ ...uploaded, paRes: 'e30', md: 'x' }],
}

for (const [name, list] of Object.entries(requests)) {
  const operation = name as SignedByKey
  for (const sent of list) {
    const amount = 'amount' in sent && 'orderid' in sent ? ' with an amount' : ''
    const order = 'login' in sent && !('orderid' in sent) ? ' without orderid' : ''
    test(`${name}${amount}${order}: a wrong checksum costs the same for all merchants and orders`, async () => {
      const usual = await judge(operation, sent)
      assert.ok(usual.isRefused && usual.checksums > 0)
      const others: [what: string, sent: Sent, path?: string][] = [
        ...('orderid' in sent ? [['no such order', { ...sent, orderid: '9999999' }] as [string, Sent]] : []),
        ...('login' in sent ? [['an unknown login', { ...sent, login: 'nobody' }] as [string, Sent]] : []),
        ...('login' in sent ? [["another merchant's login", { ...sent, login: 'shop2' }] as [string, Sent]] : []),
        ["another merchant's endpoint", sent, '21'],
      ]
      for (const [what, other, path] of others) assert.deepEqual(await judge(operation, other, path), usual, what)
    })
  }
}

test('no operation is without a case', () => {
  const signed = operationNames.filter((name) => operations[name].signed !== 'OAuth')
  assert.deepEqual(Object.keys(requests).toSorted(), signed.toSorted())
})

test('a refusal checks two keys, though a merchant has one; the right checksum is the last one computed', async () => {
  assert.deepEqual(await judge('sale', sale), { isRefused: true, checksums: 2, reads: 0 })
  const signed = signedBy(sale, '11', 'order-1', '1050', 'jane@example.com')
  assert.deepEqual(await judge('sale', signed), { isRefused: false, checksums: 1, reads: 0 })
})

const signedBy = (sent: Sent, ...parts: string[]): Sent => ({ ...sent, control: controlOf([...parts], key) })
const order = ['shop1', 'order-1', '1000001'] as const

for (const operation of ['capture', 'return'] as const) {
  test(`${operation}: the order is read only when no amount was sent and the checksum without one does not match`, async () => {
    const part = { ...named, amount: '1.00', currency: 'USD' }
    // oxfmt-ignore
    const cases: [sent: Sent, isRefused: boolean, reads: number][] = [
      [signedBy(named, ...order),                 false, 0],
      [signedBy(part, ...order, '100', 'USD'),    false, 0],
      [part,                                      true,  0],
      [signedBy(part, ...order),                  true,  0],
      [signedBy(named, ...order, '1050', 'USD'),  false, 1],
      [signedBy(named, ...order, '700', 'USD'),   false, 1],
      [signedBy(named, ...order, '100', 'USD'),   true,  1],
      [named,                                     true,  1],
    ]
    for (const [i, [sent, isRefused, count]] of cases.entries()) {
      const judged = await judge(operation, sent)
      assert.deepEqual([judged.isRefused, judged.reads], [isRefused, count], `case ${i}`)
    }
  })

  test(`${operation}: the stand-in amount of an order that does not exist proves nothing`, async () => {
    const absent = { ...named, orderid: '9999999' }
    for (const minor of ['100', '1', ''])
      assert.ok((await judge(operation, signedBy(absent, 'shop1', 'order-1', '9999999', minor, 'USD'))).isRefused, minor)
  })

  test(`${operation}: amounts count as the endpoint that is called has them signed`, async () => {
    const yen = { ...named, amount: '10.00', currency: 'JPY' }
    for (const [path, minor] of [
      ['11', '10'],
      ['12', '1000'],
    ] as const) {
      assert.equal((await judge(operation, signedBy(yen, ...order, minor, 'JPY'), path)).isRefused, false, path)
      assert.equal(
        (await judge(operation, signedBy(yen, ...order, minor === '10' ? '1000' : '10', 'JPY'), path)).isRefused,
        true,
        path,
      )
    }
  })
}
