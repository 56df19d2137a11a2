import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { fromJson, jsonSchemaOf, type FieldTable } from '../../../src/entity/fields.ts'
import { list, listOrNone, onOff, Unreadable } from '../../../src/entity/kinds.ts'
import { changed } from '../../../src/entity/show.ts'
import { endpointFields, type EndpointSettings } from '../../../src/merchant/fields/endpoint.ts'
import { gateFields } from '../../../src/merchant/fields/gate.ts'
import { settingsOf } from '../../../src/operator/action.ts'
import { gateActions } from '../../../src/operator/configuration/gate-actions.ts'
import { subjects } from '../../../src/operator/subjects.ts'

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

test('every setting is written so that it is read again, and its JSON too', () => {
  const off = { disabledOperations: ['make-rebill-sale', 'sale'] as EndpointSettings['disabledOperations'] }
  const others = endpointFields.whole({ ...custom, ...off, sellerCommission: { ofGate: true }, repeatWindowMs: 5_400_000 })
  for (const [table, settings] of [
    [endpointFields.table, endpointFields.whole({})],
    [endpointFields.table, custom],
    [endpointFields.table, others],
    [gateFields.table, { ...gate, sellerCommission: { fixedMinor: 5, basisPoints: 0 }, answerTimeoutMs: 1_500 }],
  ] as [FieldTable, Record<string, unknown>][])
    for (const [name, { is }] of Object.entries(table)) {
      const value = settings[name]
      if (value === undefined) continue
      assert.deepEqual(
        is.merge(name === 'disabledOperations' ? value : undefined, is.read(is.written(value))),
        value,
        `${name} ${is.written(value)}`,
      )
      assert.deepEqual(is.merge(undefined, is.fromJson(is.json(value))), value, name)
    }
})

const ajv = new Ajv({ allowUnionTypes: true })

test('the JSON schema of a table takes what is read, and refuses no more than what is refused', () => {
  // Without a value, a change is null.
  const schemaOf = (table: FieldTable) => ajv.compile(jsonSchemaOf(settingsOf(table, 'there')))
  for (const settings of [custom, endpointFields.whole({})])
    assert.ok(schemaOf(endpointFields.table)(endpointFields.json(settings)))
  const ofGate = schemaOf(gateFields.table)
  assert.ok(ofGate(gateFields.json(gate)))
  for (const json of [{ port: 8583.5 }, { port: 70_000 }, { host: 4 }, { partial_capture: 'on' }, { colour: 'red' }])
    assert.ok(!ofGate(json), JSON.stringify(json))
  for (const json of [{ challenge_indicator: '10' }, { mandatory_fields: 'phone' }, { seller_commission: '30' }])
    assert.ok(!schemaOf(endpointFields.table)(json), JSON.stringify(json))
})

test('the schema of an action says what it needs, and what a value is where none is given', async () => {
  for (const { load } of Object.values(subjects))
    for (const [words, { takes }] of Object.entries(await load())) assert.ok(ajv.validateSchema(jsonSchemaOf(takes)), words)
  const add = ajv.compile(jsonSchemaOf(gateActions['gate add']!.takes))
  assert.ok(!add({}) && add({ name: 'acme' }))
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
    [gateFields.table,     { host: null },                        'host'],
    [endpointFields.table, { authentication_policy: { attempted: 'authorise,failed=authorise' } }, 'authenticationPolicy'],
  ]
  for (const [table, json, field] of wrong) {
    const read = fromJson(table, json as Record<string, unknown>)
    assert.ok('what' in read && read.what === 'unfit' && read.field === field, JSON.stringify(json))
  }
})

test('settings stored by an older version get the default values, and stored settings name their version', () => {
  const older = { threeDSecure: false, mandatoryFields: [], disabledOperations: [], controlMinorUnits: 'iso4217' as const }
  const read = endpointFields.whole(older)
  assert.equal(read.repeatWindowMs, 600_000)
  assert.equal(read.parameterSignatures, true)
  assert.equal((endpointFields.stored(read) as { v: number }).v, 1)
  assert.deepEqual(endpointFields.whole(endpointFields.stored(read) as EndpointSettings), read)
  const emptied = endpointFields.whole({ sellerCommission: '' } as unknown as EndpointSettings)
  assert.ok(!('sellerCommission' in emptied))
})

test('the difference of two versions is shown fact by fact, as people read it', () => {
  const after = endpointFields.after(custom, {
    repeatWindowMs: 90_000,
    callbackUrl: null,
    mandatoryFields: [],
    threeDSecure: true,
  })
  const facts = (settings: EndpointSettings) => endpointFields.facts(settings)
  assert.deepEqual(changed('Endpoint 101', facts(custom), facts(after)), [
    'Endpoint 101 is changed.',
    {
      facts: [
        ['Callback URL', 'https://shop.example/paid → none; each request may name its own'],
        ['Repeat window', 'none → 90 s'],
        ['Mandatory fields', 'phone → none'],
      ],
    },
  ])
  assert.deepEqual(changed('It', facts(custom), facts(custom)), ['It already has this value.'])
  const replaced = ['Private key', 'replaced'] as const
  const [, ...keys] = changed('It', facts(custom), facts(custom), [replaced, ['Key of the MAC', undefined]])
  assert.deepEqual(keys, [{ facts: [replaced] }])
})

test('an empty list is written as none, if a list may be empty', () => {
  assert.ok(list(onOff).read('none') instanceof Unreadable && list(onOff).fromJson([]) instanceof Unreadable)
  assert.deepEqual([listOrNone(onOff).read('none'), listOrNone(onOff).fromJson([])], [[], []])
  assert.ok(listOrNone(onOff).read('on,none') instanceof Unreadable)
})

test('a usual value is not shared: a change of one endpoint leaves the others', () => {
  const [one, other] = [endpointFields.whole({}), endpointFields.whole({})]
  one.mandatoryFields.push('phone')
  assert.deepEqual(other.mandatoryFields, [])
  assert.deepEqual(endpointFields.whole({}).mandatoryFields, [])
})
