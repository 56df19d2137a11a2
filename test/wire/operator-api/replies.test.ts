import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKeyPairSync } from 'node:crypto'
import { offers } from '../../../src/operator/offered.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { described, keyFileIn, startOwnApi } from '../../harness/operators/api.ts'

// Real answers, each of which `askApi` compares with the schema of its action.

const keyFile = keyFileIn(openDirectory('operator-api'))
const { url: databaseUrl } = closing(await migratedDatabase())
const api = closing(await startOwnApi({ databaseUrl, keyFile }))
const { token } = await api.tokenFor('owner')

const publicKey = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()
const gate = { host: '10.0.0.1', port: 1, terminal_id: 'T', card_acceptor_id: 'C', card_acceptor_name: 'N' }
const list = { login: 'shop', number: 1 }

/** In an order in which each can be answered; `version`: of the settings that it changes. */
const walk: readonly (readonly [path: string, body?: object, version?: readonly [path: string, body: object]])[] = [
  ['gate/add', { name: 'acme', ...gate, acquirer_id: '1', mcc: '5999', descriptor: 'D' }],
  ['gate/set', { gate: 'acme', max_open: 5 }, ['gate/show', { gate: 'acme' }]],
  ['gate/disable', { gate: 'acme', dry_run: true }],
  ['gate/enable', { gate: 'acme' }],
  ['gate/list'],
  ['gate/history', { gate: 'acme', limit: 1 }],
  ['gate/undo', { change: '2' }],
  ['merchant/add', { login: 'shop', name: 'Shop' }],
  ['merchant/set', { login: 'shop', colour: '0a7d55' }, ['merchant/show', { login: 'shop' }]],
  ['merchant/rotate-key', { login: 'shop' }],
  ['merchant/list'],
  ['merchant/key-add', { login: 'shop', file: publicKey }],
  ['merchant/key-list', { login: 'shop' }],
  ['merchant/key-retire', { login: 'shop', number: 1 }],
  ['merchant/signing-secret', { login: 'shop', new: true }],
  ['merchant/signed-requests', { login: 'shop', which: 'off' }],
  ['merchant/disable', { login: 'shop' }],
  ['merchant/enable', { login: 'shop' }],
  ['merchant/history', { login: 'shop' }],
  ['endpoint/add', { merchant: 'shop', currency: 'USD' }],
  ['endpoint/set', { endpoint: '101', three_d_secure: true }, ['endpoint/show', { endpoint: '101' }]],
  ['endpoint/list'],
  ['endpoint/history', { endpoint: '101' }],
  ['group/add', { merchant: 'shop', name: 'all', endpoint: ['101'] }],
  ['group/list'],
  ['group/history', { group: '102' }],
  ['filter/add', { kind: 'black', merchant: 'shop', of: 'email', value: ['eve@example.com'] }],
  ['filter/entries', { ...list, what: 'add', value: ['bob@example.com'] }],
  ['filter/show', list],
  ['filter/list', { merchant: 'shop' }],
  ['filter/history', list],
  ['filter/test', { endpoint: '101', card: '4111111111111111', email: 'eve@example.com' }],
  ['filter/remove', list],
  ['user/add', { name: 'jane', role: 'support' }],
  ['user/set', { user: 'jane', role: 'auditor' }],
  ['user/list'],
  ['token/add', { user: 'jane' }],
  ['token/list'],
  ['token/revoke', { token: '2' }],
  ['user/disable', { user: 'jane' }],
  ['keys/list'],
  ['keys/rotate', { key: 'digest' }],
  ['audit/list'],
  ['audit/head'],
  ['audit/verify'],
  ['access'],
  ['stats'],
  ['order/find'],
  ['find', { what: '1000001' }],
  ['invoice/find'],
  ['delivery/list'],
  ['subject/find', { email: 'eve@example.com' }],
  ['subject/export', { email: 'eve@example.com' }],
  ['cell/list'],
  ['partitions/list'],
  ['proposal/list'],
  ['proposal/rules'],
  ['user/sessions'],
  ['doctor'],
]

test('answers of the API match its OpenAPI document', async () => {
  for (const [path, body = {}, version] of walk) {
    const shown = version && (await api.ask(...version, { token }))
    const headers = { 'if-match': shown?.headers.get('etag') ?? '' }
    const { status, text } = await api.ask(path, body, { token, ...(shown && { headers }) })
    assert.equal(status, 200, `${path}: ${text}`)
    assert.ok(described.has(path))
  }
  // These need an order, a table and two users: merchants.test.ts here shows an order, and
  // test/wire/console/four-eyes.test.ts a proposal.
  const looks = (await offers()).filter(({ path, action }) => /\/(list|find|show|history)$/.test(path) && !action.gives.parts)
  assert.deepEqual(
    looks.flatMap(({ path }) => (described.has(path) ? [] : path)),
    ['order/show', 'bin/find', 'delivery/show', 'proposal/show'],
  )
})
