import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromJson, type FieldTable } from '../../../src/entity/fields.ts'
import { endpointFields, type EndpointSettings } from '../../../src/merchant/fields/endpoint.ts'
import { gateFields } from '../../../src/merchant/fields/gate.ts'

/** What follows from the tables of settings. */

const custom: EndpointSettings = endpointFields.whole({
  threeDSecure: true,
  challengeIndicator: '04',
  authenticationPolicy: { attempted: 'decline', unavailable: 'authorise', notEnrolled: 'decline', failed: 'decline' },
  callbackUrl: 'https://shop.example/paid',
  sellerCommission: { fixedMinor: 30, basisPoints: 150 },
  acquirerCommission: { ofGate: true },
  mandatoryFields: ['phone'],
  disabledOperations: ['sale'],
  repeatWindowMs: 0,
})

const gate = gateFields.whole({
  host: '10.0.0.1',
  port: 8583,
  terminalId: 'T',
  cardAcceptorId: 'C',
  cardAcceptorName: 'N',
  acquirerId: '1',
  mcc: '5999',
  descriptor: 'D',
})

test('settings that are written as JSON and read again are the same', () => {
  for (const settings of [custom, endpointFields.whole({})]) {
    const wishes = fromJson(endpointFields.table, endpointFields.json(settings))
    assert.ok(!('what' in wishes))
    assert.deepEqual(endpointFields.after(endpointFields.whole({}), wishes), settings)
  }
  const wishes = fromJson(gateFields.table, gateFields.json(gate))
  assert.ok(!('what' in wishes))
  assert.deepEqual(gateFields.after(gate, wishes), gate)
})

test('JSON that does not fit is refused by the name of its field', () => {
  // oxfmt-ignore
  const wrong: [table: FieldTable, json: object, field: string][] = [
    [endpointFields.table, { three_d_secure: 'on' },              'threeDSecure'],
    [endpointFields.table, { repeat_window_ms: 86_400_001 },      'repeatWindowMs'],
    [endpointFields.table, { mandatory_fields: 'phone' },         'mandatoryFields'],
    [endpointFields.table, { mandatory_fields: ['shoe_size'] },   'mandatoryFields'],
    [endpointFields.table, { disabled_operations: ['sail'] },     'disabledOperations'],
    [endpointFields.table, { authentication_policy: [] },         'authenticationPolicy'],
    [endpointFields.table, { authentication_policy: 'safe' },     'authenticationPolicy'],
    [endpointFields.table, { seller_commission: { fixed_minor: -1, basis_points: 0 } }, 'sellerCommission'],
    [gateFields.table,     { port: 8583.5 },                      'port'],
    [gateFields.table,     { country_numeric: 'DE' },             'countryNumeric'],
    [gateFields.table,     { host: 4 },                           'host'],
  ]
  for (const [table, json, field] of wrong) {
    const read = fromJson(table, json as Record<string, unknown>)
    assert.ok('what' in read && read.what === 'unfit' && read.field === field, JSON.stringify(json))
  }
})

test('what an older version stored has the usual values, and what is stored says its version', () => {
  const older = { threeDSecure: false, mandatoryFields: [], disabledOperations: [], controlMinorUnits: 'iso4217' as const }
  const read = endpointFields.whole(older)
  assert.equal(read.repeatWindowMs, 600_000)
  assert.equal(read.parameterSignatures, true)
  assert.equal((endpointFields.stored(read) as { v: number }).v, 1)
  assert.deepEqual(endpointFields.whole(endpointFields.stored(read) as EndpointSettings), read)
})

test('the difference of two versions is said field by field, as people read it', () => {
  const after = endpointFields.after(custom, {
    repeatWindowMs: 90_000,
    callbackUrl: null,
    mandatoryFields: [],
    threeDSecure: true,
  })
  assert.deepEqual(endpointFields.difference(custom, after), [
    {
      field: 'callbackUrl',
      label: 'Callback URL',
      before: 'https://shop.example/paid',
      after: 'none; each request may name its own',
    },
    { field: 'repeatWindowMs', label: 'Repeat window', before: 'none', after: '1 min' },
    { field: 'mandatoryFields', label: 'Mandatory fields', before: 'phone', after: 'none' },
  ])
  assert.deepEqual(endpointFields.difference(custom, custom), [])
})

test('a usual value is not shared: a change of one endpoint leaves the others', () => {
  const [one, other] = [endpointFields.whole({}), endpointFields.whole({})]
  one.mandatoryFields.push('phone')
  assert.deepEqual(other.mandatoryFields, [])
  assert.deepEqual(endpointFields.whole({}).mandatoryFields, [])
})
