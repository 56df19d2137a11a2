import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { keyFileIn, startOwnApi } from '../../harness/operators/api.ts'

// What changes something: once by its key, and never over somebody else's change.

const keyFile = keyFileIn(openDirectory('operator-api'))
const { url: databaseUrl } = closing(await migratedDatabase())
/** As far as the clock was moved. */
let later = 0
const { systemClock } = await import('../../../src/base/clock.ts')
const clock = { ...systemClock, now: () => systemClock.now() + later }
const api = closing(await startOwnApi({ databaseUrl, keyFile, clock }))
const { tell, url } = api
const log = openLog({ level: 'fatal', destination: process.stderr })
const owner = closing(openPool({ url: databaseUrl, connections: 1, use: 'admin', log }))
const { token } = await api.tokenFor('owner')
const other = await api.tokenFor('owner')
const ask = (path: string, body?: object | string, headers: Record<string, string> = {}) =>
  api.ask(path, body, { token, headers })
const keyed = (key: string, path: string, body: object) => ask(path, body, { 'idempotency-key': key })

const gate = {
  host: '10.0.0.1',
  port: 1,
  terminal_id: 'T',
  card_acceptor_id: 'C',
  card_acceptor_name: 'N',
  acquirer_id: '1',
  mcc: '5999',
  descriptor: 'D',
}
await ask('gate/add', { name: 'acme', ...gate })
await ask('merchant/add', { login: 'shop' })
const made = await ask('endpoint/add', { merchant: 'shop', currency: 'USD' })
const endpoint = String(made.json['endpoint_id'])

const logins = async () => {
  const { merchants } = (await ask('merchant/list')).json as { merchants: { login: string }[] }
  return merchants.map(({ login }) => login)
}

test('ids are text, and a text is an id again', async () => {
  assert.equal(typeof made.json['endpoint_id'], 'string')
  const shown = await ask('endpoint/show', { endpoint })
  assert.equal(shown.json['endpoint_id'], endpoint)
})

test('of simultaneous requests with one key one is carried out, and the others get its answer', async () => {
  const body = { merchant: 'shop', currency: 'EUR', name: 'keyed' }
  const all = await Promise.all(Array.from({ length: 5 }, () => keyed('key-1', 'endpoint/add', body)))
  const done = all.filter(({ status }) => status === 200)
  assert.ok(done.length >= 1)
  for (const one of all) assert.ok(one.status === 200 || one.json['code'] === 'under way', one.text)
  const again = await keyed('key-1', 'endpoint/add', body)
  assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [200, 'true'])
  for (const one of [...done, again]) assert.equal(one.json['endpoint_id'], done[0]!.json['endpoint_id'])
  const { endpoints } = (await ask('endpoint/list', { merchant: 'shop' })).json as { endpoints: { name: string }[] }
  assert.equal(endpoints.filter(({ name }) => name === 'keyed').length, 1)
})

test('a key that came with another request is refused; another token has its own; after a day it is free', async () => {
  assert.equal((await keyed('key-2', 'user/add', { name: 'one', role: 'support' })).status, 200)
  const otherwise = await keyed('key-2', 'user/add', { name: 'two', role: 'support' })
  assert.deepEqual([otherwise.status, otherwise.json['code']], [422, 'key used otherwise'])
  const elsewhere = await keyed('key-2', 'user/disable', { user: 'one' })
  assert.deepEqual([elsewhere.status, elsewhere.json['code']], [422, 'key used otherwise'])
  const headers = { 'idempotency-key': 'key-2' }
  const theirs = await api.ask('user/add', { name: 'two', role: 'support' }, { token: other.token, headers })
  assert.equal(theirs.status, 200)
  later = 86_400_001
  try {
    assert.equal((await keyed('key-2', 'user/add', { name: 'three', role: 'support' })).status, 200)
  } finally {
    later = 0
  }
})

test('a refusal leaves its key free; an answer with a secret is not given again', async () => {
  const late = () => keyed('key-3', 'endpoint/add', { merchant: 'late', currency: 'USD' })
  assert.equal((await late()).status, 404)
  await ask('merchant/add', { login: 'late' })
  assert.equal((await late()).status, 200)
  const secrets: [string, object, string][] = [
    ['merchant/add', { login: 'secretive' }, 'control_key'],
    ['merchant/rotate-key', { login: 'secretive' }, 'control_key'],
    ['merchant/signing-secret', { login: 'secretive', new: true }, 'signing_secret'],
    ['token/add', { user: other.user }, 'token'],
  ]
  for (const [path, body, member] of secrets) {
    const first = await keyed(`secret ${path}`.replace(' ', '-'), path, body)
    assert.equal(typeof first.json[member], 'string', `${path} ${first.text}`)
    const again = await keyed(`secret ${path}`.replace(' ', '-'), path, body)
    assert.deepEqual([again.status, again.json['code']], [409, 'shown once'], path)
  }
})

test('the outcome of a request whose process ended is reported as unknown', async () => {
  const body = { name: 'orphan', role: 'support' }
  assert.equal((await keyed('key-5', 'user/add', body)).status, 200)
  await owner.run({ name: '', text: `update operator_request set status = null, reply = null where key = 'key-5'` })
  const soon = await keyed('key-5', 'user/add', body)
  assert.deepEqual([soon.json['code'], soon.headers.get('retry-after')], ['under way', '1'])
  later = 121_000
  try {
    assert.equal((await keyed('key-5', 'user/add', body)).json['code'], 'outcome unknown')
  } finally {
    later = 0
  }
})

test('a token ends at its time', async () => {
  const { token: short } = JSON.parse(await tell(['token', 'add', '--user', other.user, '--expires', '1min', '--json']))
  const works = async () => (await api.ask('gate/list', {}, { token: short })).status
  assert.equal(await works(), 200)
  later = 60_001
  try {
    assert.equal(await works(), 401)
  } finally {
    later = 0
  }
})

test('a key has 1 to 128 printable characters', async () => {
  for (const key of ['', 'a b', 'x'.repeat(129)])
    assert.equal((await keyed(key, 'user/add', { name: 'bad', role: 'support' })).json['code'], 'bad idempotency key', key)
})

test('settings are changed only on the version that was seen: 428 without, 412 stale, and of two writers one wins', async () => {
  const set = (body: object, version?: string | null) =>
    ask('endpoint/set', { endpoint, ...body }, version ? { 'if-match': version } : {})
  const version = async () => (await ask('endpoint/show', { endpoint })).headers.get('etag')
  assert.deepEqual((await set({ name: 'a' })).status, 428)
  assert.deepEqual((await set({ name: 'a' }, '"none"')).json['code'], 'stale')
  const seen = await version()
  const all = await Promise.all(['a', 'b', 'c', 'd'].map((name) => set({ name }, seen)))
  assert.deepEqual(
    all.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 412, 412, 412],
  )
  const winner = all.find(({ status }) => status === 200)!
  assert.equal(winner.headers.get('etag'), await version())
  assert.equal((await set({ repeat_window_ms: 90_000 }, winner.headers.get('etag'))).status, 200)
  await tell(['endpoint', 'disable', endpoint])
  assert.equal((await set({ name: 'e' }, winner.headers.get('etag'))).status, 412)
  const enable = (tag: string) => ask('endpoint/enable', { endpoint }, { 'if-match': tag })
  assert.deepEqual([(await enable(seen!)).status, (await enable((await version())!)).status], [412, 200])
  for (const [show, named, change, wish] of [
    ['gate/show', { gate: 'acme' }, 'gate/set', { max_open: 5 }],
    ['merchant/show', { login: 'shop' }, 'merchant/set', { name: 'Shop' }],
  ] as const) {
    const body = { ...named, ...wish }
    const tag = (await ask(show, named)).headers.get('etag')!
    assert.equal((await ask(change, body)).status, 428, change)
    const done = await ask(change, body, { 'if-match': tag })
    assert.deepEqual([done.status, done.headers.get('etag')], [200, (await ask(show, named)).headers.get('etag')], change)
    assert.equal((await ask(change, body, { 'if-match': tag })).status, 412, change)
  }
})

test('a stale change leaves its key free', async () => {
  const change = (version: string) =>
    ask('gate/set', { gate: 'acme', max_open: 7 }, { 'if-match': version, 'idempotency-key': 'key-4' })
  assert.equal((await change('"none"')).status, 412)
  assert.equal((await change((await ask('gate/show', { gate: 'acme' })).headers.get('etag')!)).status, 200)
})

test('an unknown member is refused, and nothing is done', async () => {
  const before = await logins()
  const more = [
    { merchant_id: 1 },
    { enabled: true },
    { who: 'me' },
    { rights: {} },
    { __proto__x: 1 },
    { controlKey: 'x' },
    { cellNo: 1 },
  ]
  for (const one of more) {
    const { status, json } = await ask('merchant/add', { login: 'mass', ...one })
    assert.deepEqual([status, json['field']], [422, Object.keys(one)[0]])
  }
  for (const text of ['{"login":"mass","__proto__":{"x":1}}', '{"login":"mass","login":"mass"}', '[]', '"x"', '{', 'null', ''])
    assert.equal((await ask('merchant/add', text)).status, 400, text)
  assert.deepEqual(await logins(), before)
})

test('the wrong field is named as it was sent, and a value of another type is refused', async () => {
  const wrong: [string, object, string][] = [
    ['endpoint/show', { endpoint: 'x' }, 'endpoint'],
    ['endpoint/show', { endpoint: 1.5 }, 'endpoint'],
    ['endpoint/show', { endpoint: [101] }, 'endpoint'],
    // JavaScript reads 9007199254740992, which may be another.
    ['order/show', { id: 2 ** 53 }, 'id'],
    ['order/find', { client_orderid: 'a\u0000b' }, 'client_orderid'],
    ['order/find', { status: ['approved\u0000'] }, 'status'],
    ['find', { what: 'a\u0000b' }, 'what'],
    ['endpoint/show', {}, 'endpoint'],
    ['endpoint/show', { endpoint: null }, 'endpoint'],
    ['merchant/rotate-key', { login: 'shop', keep_old: '1d' }, 'keep_old'],
    ['merchant/rotate-key', { login: { $ne: '' } }, 'login'],
    ['user/add', { name: 'bad', role: 'root' }, 'role'],
    ['order/find', { parked: 'yes' }, 'parked'],
    ['order/find', { limit: 100_000 }, 'limit'],
    ['order/find', { limit: '5' }, 'limit'],
  ]
  for (const [path, body, field] of wrong) {
    const { status, json } = await ask(path, body)
    assert.deepEqual([status, json['field']], [422, field], `${path} ${JSON.stringify(body)}`)
  }
})

test('a body of another type, too deep, or too large is refused before anything reads it', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal((await api.ask('merchant/add', 'login=formed', { token, headers })).status, 415)
  assert.equal(
    (await api.ask('merchant/add', '{"login":"plain"}', { token, headers: { 'content-type': 'text/plain' } })).status,
    415,
  )
  for (const more of [{ 'content-encoding': 'gzip' }, { 'content-type': 'application/json; charset=utf-16' }] as Record<
    string,
    string
  >[])
    assert.equal((await api.ask('merchant/add', '{"login":"coded"}', { token, headers: more })).status, 415)
  assert.equal((await api.ask('merchant/add?login=x', '{"login":"coded"}', { token })).json['field'], 'login')
  assert.equal((await ask('merchant/add', `{"login":${'['.repeat(5_000)}${']'.repeat(5_000)}}`)).status, 400)
  assert.equal((await ask('endpoint/add', `{"gate":[${'"x",'.repeat(200_000)}"x"]}`)).status, 400)
  const status = await new Promise((resolve, reject) => {
    const sent = httpRequest(`${url}/operator/v1/bin/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
    sent.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
    const part = Buffer.alloc(1_024 * 1_024, 0x20)
    const push = (left: number): void => void (left === 0 ? sent.end() : sent.write(part, () => push(left - 1)))
    push(33)
  })
  assert.equal(status, 413)
  assert.deepEqual(
    (await logins()).filter((login) => ['formed', 'plain', 'coded'].includes(login)),
    [],
  )
})

test('a list is a page of JSON; its export is all of it, as CSV or a JSON object a line', async () => {
  const page = (await ask('audit/list', { limit: 3 })).json as { entries: unknown[]; next: string }
  assert.equal(page.entries.length, 3)
  const next = (await ask('audit/list', { limit: 3, after: page.next })).json as { entries: unknown[] }
  const all = await ask('audit/export', { as: 'ndjson' })
  assert.equal(all.headers.get('content-type')!.split(';')[0], 'application/x-ndjson')
  const lines = all.text.trim().split('\n')
  assert.ok(lines.length > 6)
  assert.deepEqual(
    lines.slice(0, 6).map((line) => JSON.parse(line) as unknown),
    [...page.entries, ...next.entries],
  )
  assert.equal(new Set(lines).size, lines.length)
  const csv = await ask('audit/export')
  assert.deepEqual([csv.headers.get('content-type'), csv.text.startsWith('TIME (UTC),')], ['text/csv; charset=utf-8', true])
})

test('a page of another site gets nothing: no header lets it read, and a form is refused', async () => {
  for (const method of ['GET', 'POST']) {
    const { headers } = await api.ask('gate/list', {}, { token, method, headers: { origin: 'https://evil.example' } })
    assert.equal(headers.get('access-control-allow-origin'), null)
    assert.equal(headers.get('set-cookie'), null)
    assert.equal(headers.get('cache-control'), 'no-store')
  }
  const preflight = await fetch(`${url}/operator/v1/gate/list`, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    },
  })
  assert.equal(preflight.headers.get('access-control-allow-origin'), null)
  assert.ok(preflight.status >= 400)
})

test('the trail names user and token, never the inputs', async () => {
  await keyed('key-9', 'user/add', { name: 'trailed', role: 'support' })
  const { entries } = (await ask('audit/list', { about: 'user trailed' })).json as { entries: { who: string; action: string }[] }
  assert.deepEqual([entries[0]!.action, /^owner-all-\S+ \(token [0-9]+\)$/.test(entries[0]!.who)], ['user add', true])
})
