import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changes, roleMay, roles } from '../../../src/operator/permissions.ts'
import { actionsOf, subjects } from '../../../src/operator/subjects.ts'
import { offers } from '../../../src/operator/offered.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { keyFileIn, startOwnApi } from '../../harness/operators/api.ts'

// Who comes in, and what each role may do there.

const keyFile = keyFileIn(openDirectory('operator-api'))
const { url: databaseUrl } = closing(await migratedDatabase())
const { ask, tell, tokenFor } = closing(await startOwnApi({ databaseUrl, keyFile, limits: { address: 0 } }))
const [owner, support, auditor] = [await tokenFor('owner'), await tokenFor('support'), await tokenFor('auditor')]

const routes = await offers()
/** More than any action takes: whoever may do it is refused for that, and nothing is done. */
const foreign = { no_action_takes_this: 1 }

test('a stranger gets the same 401 for each path, known or not', async () => {
  const paths = [...routes.map(({ path }) => path), 'none', 'no/such', 'backup/check']
  const answers = new Set<string>()
  for (const path of paths)
    for (const headers of [
      {},
      { authorization: 'Bearer tollgate_AAAAAAAAAAAAAAAAAAAAAAAA' },
      { authorization: `Basic ${owner.token}` },
    ]) {
      const { status, text, headers: got } = await ask(path, {}, { headers })
      assert.equal(status, 401, path)
      answers.add(`${text} ${got.get('www-authenticate')}`)
    }
  assert.equal(answers.size, 1)
})

for (const role of roles)
  test(`${role}: each action that the role may do sees its body, each other is 403 and names the permission`, async () => {
    const { token } = await tokenFor(role)
    for (const { path, action } of routes) {
      const { status, json } = await ask(path, foreign, { token })
      const may = roleMay(role, action.needs)
      assert.equal(status, may ? 422 : 403, `${path} ${JSON.stringify(json)}`)
      if (may) assert.deepEqual([json['code'], json['field']], ['unknown member', 'no_action_takes_this'], path)
      else assert.deepEqual([json['code'], json['permission']], ['not permitted', action.needs], path)
    }
  })

test('actions on files or processes of the machine do not exist, by any path', async () => {
  const { token } = owner
  for (const subject of Object.keys(subjects))
    for (const [words, { here }] of await actionsOf(subject)) {
      if (!here) continue
      assert.equal((await ask(words.replace(' ', '/').replaceAll(' ', '-'), {}, { token })).status, 404, words)
    }
  for (const path of [
    'endpoint/none',
    'endpoint',
    'endpoint/list/',
    'Endpoint/List',
    '..%2fendpoint/list',
    '__proto__/list',
    'endpoint%2flist',
    'endpoint/l%69st',
  ])
    assert.equal((await ask(path, {}, { token })).status, 404, path)
})

test('GET works for actions that change nothing and take no personal data', async () => {
  const { token } = owner
  for (const { path, byGet, action } of routes) {
    const { status } = await ask(path, '', { token, method: 'GET' })
    assert.equal(status === 405, !byGet, path)
    if (byGet) assert.equal(changes(action), false, path)
  }
  for (const path of ['find', 'order/find', 'order/export', 'filter/test', 'subject/find', 'gate/set', 'user/add'])
    assert.equal((await ask(path, '', { token, method: 'GET' })).status, 405, path)
  await tell(['merchant', 'add', '--login', 'getter'])
  const { status, json } = await ask('endpoint/list?merchant=getter', '', { token, method: 'GET' })
  assert.deepEqual([status, json], [200, { endpoints: [] }])
  for (const query of ['merchant=getter&merchant=getter', 'merchants=getter', 'merchant='])
    assert.notEqual((await ask(`endpoint/list?${query}`, '', { token, method: 'GET' })).status, 200, query)
})

test('a token ends with the next request: revoked, its user off, or its user with a lower role', async () => {
  const works = async (token: string) => (await ask('gate/list', {}, { token })).status
  const revoked = await tokenFor('operator')
  assert.equal(await works(revoked.token), 200)
  await tell(['token', 'revoke', revoked.id])
  assert.equal(await works(revoked.token), 401)

  const off = await tokenFor('operator')
  await tell(['user', 'disable', off.user])
  assert.equal(await works(off.token), 401)
  await tell(['user', 'enable', off.user])
  assert.equal(await works(off.token), 401, 'it ended for good')

  const demoted = await tokenFor('operator')
  const { token: lower } = JSON.parse(await tell(['token', 'add', '--user', demoted.user, '--role', 'support', '--json']))
  await tell(['user', 'set', demoted.user, '--role', 'support'])
  assert.deepEqual([await works(demoted.token), await works(lower)], [401, 200])
})

test('a token is shown once, and no list, trail or table has it', async () => {
  const shown = await ask('token/add', { user: owner.user }, { token: owner.token })
  assert.equal(shown.status, 200)
  const token = String(shown.json['token'])
  assert.match(token, /^tollgate_[\w-]{43}$/)
  const all = [
    await tell(['token', 'list', '--all', '--json']),
    await tell(['audit', 'list', '--limit', '1000', '--json']),
    (await ask('token/list', { all: true }, { token })).text,
  ]
  for (const text of all) assert.ok(!text.includes(token) && !text.includes(token.slice(9)))
})

test('a user who may make users and tokens makes none above the own role or merchant', async () => {
  await tell(['merchant', 'add', '--login', 'first'])
  await tell(['merchant', 'add', '--login', 'second'])
  const own = await tokenFor('owner', 'first')
  const asked = async (path: string, body: object, by = own.token) => {
    const { status, json } = await ask(path, body, { token: by })
    return [status, json['code'] ?? json['merchant']]
  }
  assert.deepEqual(await asked('user/add', { name: 'mine', role: 'support' }), [200, 'first'])
  assert.deepEqual(await asked('user/add', { name: 'theirs', role: 'support', merchant: 'second' }), [404, 'unknown'])
  assert.deepEqual(await asked('token/add', { user: 'mine' }), [200, 'first'])
  assert.deepEqual(await asked('token/add', { user: 'mine', role: 'owner' }), [403, 'above own rights'])
  assert.deepEqual(await asked('token/add', { user: owner.user }), [404, 'unknown'])
  assert.deepEqual(await asked('user/set', { user: owner.user, role: 'auditor' }), [404, 'unknown'])
  assert.deepEqual(await asked('user/disable', { user: owner.user }), [404, 'unknown'])
  assert.deepEqual(await asked('token/revoke', { token: owner.id }), [404, 'unknown'])
  // A role that may not make users makes none; a token below its user's role neither.
  assert.deepEqual(await asked('user/add', { name: 'x', role: 'auditor' }, support.token), [403, 'not permitted'])
  const { json } = await ask('token/add', { user: owner.user, role: 'auditor' }, { token: owner.token })
  assert.deepEqual(await asked('user/add', { name: 'x', role: 'auditor' }, String(json['token'])), [403, 'not permitted'])
  assert.deepEqual(await asked('token/add', { user: auditor.user, role: 'owner' }, owner.token), [403, 'above own rights'])
  const { users } = (await ask('user/list', {}, { token: own.token })).json as { users: { name: string }[] }
  assert.ok(users.length > 0 && users.every((user) => (user as { merchant?: string }).merchant === 'first'))
})

test('too many wrong tokens from an address get 429; a valid one still works; refused access has each', async () => {
  const slow = closing(await startOwnApi({ databaseUrl, keyFile, limits: { address: 3 }, proxies: '127.0.0.1' }))
  const headers = { 'x-forwarded-for': '198.51.100.9' }
  const statuses: number[] = []
  for (let i = 0; i < 5; i++)
    statuses.push((await slow.ask('gate/list', {}, { token: 'tollgate_wrongwrongwrongwrong', headers })).status)
  assert.deepEqual(statuses, [401, 401, 401, 429, 429])
  assert.equal((await slow.ask('gate/list', {}, { token: owner.token, headers })).status, 200)
  await slow.stop()
  const refused = (await ask('access', {}, { token: owner.token })).json['refused'] as Record<string, unknown>[]
  const mine = refused.filter(({ address }) => address === '198.51.100.9')
  assert.deepEqual(
    mine.map((one) => [one['operation'], one['reason'], one['count'], one['login']]),
    [['operator API', 'wrong token', '5', null]],
  )
})
