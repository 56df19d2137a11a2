import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callbackForm, returnPairs } from '../../../src/gateway-api/callback.ts'
import type { Gate, Merchant } from '../../../src/merchant/merchant.ts'
import type { Commission, ShownCommission } from '../../../src/merchant/fields/commission.ts'
import { secret } from '../../../src/base/secret.ts'
import { Unreadable } from '../../../src/entity/kinds.ts'
import { commission as own, shownCommission } from '../../../src/merchant/fields/commission.ts'
import { endpointFields } from '../../../src/merchant/fields/endpoint.ts'
import { commissionsOf } from '../../../src/order/decide/gate.ts'
import { head } from '../../../src/order/decide/order.ts'
import { gateRow, orderIn } from '../order/decide-orders.ts'

const standard: Commission = { fixedMinor: 30, basisPoints: 150 }

// oxfmt-ignore
const written: readonly (readonly [text: string, read: Commission | undefined])[] = [
  ['30+150',           standard],
  ['0+0',              { fixedMinor: 0, basisPoints: 0 }],
  ['1000000000+10000', { fixedMinor: 1_000_000_000, basisPoints: 10_000 }],
  ['1000000001+0',     undefined],
  ['0+10001',          undefined],
  ['30',               undefined],
  ['30+1.5',           undefined],
  ['-1+0',             undefined],
  ['gate',             undefined],
  ['',                 undefined],
]
for (const [text, expected] of written)
  test(`a commission written as ${JSON.stringify(text)} is ${expected ? 'read' : 'refused'}`, () => {
    const read = own.read(text)
    assert.deepEqual(read instanceof Unreadable ? undefined : read, expected)
    if (expected) assert.deepEqual(own.fromJson(own.json(expected)), expected)
  })

test('an endpoint shows its own commission, or that of the gate', () => {
  assert.deepEqual(['30+150', 'gate'].map(shownCommission.read), [standard, { ofGate: true }])
})

// oxfmt-ignore
const decided: readonly (readonly [shown: ShownCommission | undefined, atGate: Commission | undefined, kind: string, currency: string, minor: bigint, commission: string | undefined])[] = [
  // endpoint        gate         kind        currency  minor    commission
  [standard,         undefined,   'sale',     'USD',    1_050n,  '0.46'],
  [standard,         undefined,   'capture',  'JPY',    1_050n,  '46'],
  [standard,         undefined,   'transfer', 'KWD',    1_050n,  '0.046'],
  [standard,         { fixedMinor: 9, basisPoints: 0 }, 'sale', 'USD', 1_050n, '0.46'],
  [{ ofGate: true }, standard,    'sale',     'USD',    1_050n,  '0.46'],
  [{ ofGate: true }, undefined,   'sale',     'USD',    1_050n,  undefined],
  [undefined,        standard,    'sale',     'USD',    1_050n,  undefined],
  [standard,         undefined,   'preauth',  'USD',    1_050n,  undefined],
  [standard,         undefined,   'return',   'USD',    1_050n,  undefined],
  [standard,         undefined,   'void',     'USD',    1_050n,  undefined],
]
for (const [shown, atGate, kind, currency, amountMinor, commission] of decided)
  test(`a ${kind} of ${amountMinor} minor units of ${currency} has the commission ${commission ?? 'none'}`, () => {
    const gate: Pick<Gate, 'settings'> = { settings: { ...gateRow, ...(atGate && { acquirerCommission: atGate }) } }
    const settings = { ...endpointFields.whole({}), ...(shown && { acquirerCommission: shown }) }
    assert.deepEqual(
      commissionsOf({ currency }, { kind, amountMinor }, gate, { settings }),
      commission === undefined ? {} : { acquirerCommission: commission },
    )
  })

test('the merchant is called with the commissions, and the cardholder carries none of them back', () => {
  const order = orderIn('approved')
  const paid = { ...head(order), result: { sellerCommission: '0.46', acquirerCommission: '0.05' } }
  const merchant = { controlKeys: [secret('key')] } as unknown as Merchant
  const commissions = (names: Iterable<string>) => [...names].filter((name) => name.endsWith('commission'))
  assert.deepEqual(commissions(new URLSearchParams(callbackForm(order, paid, merchant)).keys()), [
    'seller-commission',
    'acquirer-commission',
  ])
  assert.deepEqual(commissions(returnPairs(order, paid, merchant).map(([name]) => name)), [])
})
