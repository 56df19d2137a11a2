import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { codeAt, stepAt } from '../../../src/entry/totp.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn, startOwnApi } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// What one user proposes and another confirms, by page and by API.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const keyFile = keyFileIn(openDirectory('four-eyes'))
const desk = closing(await startOwnConsole({ databaseUrl, keyFile, clock }))
const api = closing(await startOwnApi({ databaseUrl, keyFile, clock }))
const { tell, cli } = desk
await tell(['merchant', 'add', '--login', 'shop', '--name', 'Shop'])
const [maker, second] = [await api.tokenFor('owner'), await api.tokenFor('owner')]
const [clerk, support] = [await api.tokenFor('operator'), await api.tokenFor('support')]
const ofShop = await api.tokenFor('owner', 'shop')
const visitor = await desk.known('owner')
const demoted = await api.tokenFor('owner')

const ask = (who: { token: string }, path: string, body: object = {}, headers: Record<string, string> = {}) =>
  api.ask(path, body, { token: who.token, headers })
/** Proposes a new control key, and returns the number of the proposal. */
async function proposed(who = maker, merchant = 'shop'): Promise<string> {
  const { status, json } = await ask(who, 'merchant/rotate-key', { login: merchant })
  assert.deepEqual([status, json['code']], [202, 'proposed'], JSON.stringify(json))
  return String(json['proposal_id'])
}
const decide = (who: { token: string }, how: 'confirm' | 'reject', proposal: string) => ask(who, `proposal/${how}`, { proposal })
const rules = (...args: string[]) => tell(['proposal', 'set-rules', ...args])
const keySince = async (): Promise<unknown> => (await ask(maker, 'merchant/show', { login: 'shop' })).json['previous_key_until']

before(() => rules('--keys', 'on', '--gates', 'on'))

test('a proposal changes nothing until another user confirms it, and then once', async () => {
  const was = await keySince()
  const proposal = await proposed()
  assert.equal(await keySince(), was)
  const own = await decide(maker, 'confirm', proposal)
  assert.deepEqual([own.status, own.json['code']], [409, 'own proposal'])
  const all = await Promise.all([decide(second, 'confirm', proposal), decide(ofShop, 'confirm', proposal)])
  assert.deepEqual(
    all.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 404],
    'a user of one merchant sees none of the others',
  )
  const { done } = all.find(({ status }) => status === 200)!.json as { done: { control_key: string } }
  assert.match(done.control_key, /^[\w-]{16,}$/)
  assert.notEqual(await keySince(), was)
  for (const how of ['confirm', 'reject'] as const)
    assert.equal((await decide(second, how, proposal)).json['code'], 'proposal over')
  const trail = await tell(['audit', 'list', '--limit', '20'])
  assert.match(trail, new RegExp(`merchant rotate-key .*proposed by ${maker.user}|${second.user}.*, proposed by ${maker.user}`))
})

test('a request with a key proposes once', async () => {
  const keyed = () => ask(maker, 'merchant/rotate-key', { login: 'shop' }, { 'idempotency-key': 'once' })
  const [first, again] = [await keyed(), await keyed()]
  assert.deepEqual([first.status, again.status], [202, 202])
  assert.equal(again.json['proposal_id'], first.json['proposal_id'])
})

test('if two users confirm together, one does', async () => {
  const third = await api.tokenFor('owner').catch(() => undefined)
  assert.equal(third, undefined, 'the command line makes no user: each rule is about users too')
  const proposal = await proposed(ofShop)
  const both = await Promise.all([decide(maker, 'confirm', proposal), decide(second, 'confirm', proposal)])
  const said = both.map(({ status, json }) => (status === 200 ? 'done' : json['code']))
  assert.deepEqual(
    said.toSorted((a, b) => String(a).localeCompare(String(b))),
    ['done', 'proposal over'],
  )
})

test('a user without the permission can neither propose nor see nor confirm it', async () => {
  for (const one of [clerk, support]) assert.equal((await ask(one, 'merchant/rotate-key', { login: 'shop' })).status, 403)
  const proposal = await proposed()
  const { json } = await ask(second, 'proposal/show', { proposal })
  assert.deepEqual(
    [json['action'], json['maker'], json['asked']],
    ['merchant rotate-key', maker.user, { login: 'shop', keep_old: '24h' }],
  )
  for (const one of [clerk, support])
    for (const path of ['confirm', 'show', 'reject'])
      assert.equal((await ask(one, `proposal/${path}`, { proposal })).status, 403, path)
  assert.equal((await decide(maker, 'reject', proposal)).status, 200)
  assert.equal((await decide(second, 'confirm', proposal)).json['code'], 'proposal over')
})

test('an action that would be refused is not proposed, and a dry run shows the effect', async () => {
  const { status, json } = await ask(maker, 'merchant/rotate-key', { login: 'nobody' })
  assert.deepEqual([status, json['code']], [404, 'unknown'])
})

test('a proposal ends after 24 hours, and with the right of its maker', async () => {
  const old = await proposed()
  const ofDemoted = await proposed(demoted)
  const change = await ask(maker, 'user/set', { user: demoted.user, role: 'support' })
  assert.equal(change.json['code'], 'proposed')
  assert.equal((await decide(second, 'confirm', String(change.json['proposal_id']))).status, 200)
  assert.equal((await decide(second, 'confirm', ofDemoted)).json['code'], 'maker without right')
  clock.pass(24 * 3_600_000)
  assert.equal((await decide(second, 'confirm', old)).json['code'], 'proposal over')
})

test('settings that changed meanwhile are not overwritten', async () => {
  await rules('--gates', 'off')
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
  assert.equal((await ask(maker, 'gate/add', { name: 'acme', ...gate })).status, 200)
  const etag = (await ask(maker, 'gate/show', { gate: 'acme' })).headers.get('etag')!
  await rules('--gates', 'on')
  const wish = await ask(maker, 'gate/set', { gate: 'acme', port: 2 }, { 'if-match': etag })
  assert.equal(wish.json['code'], 'proposed')
  await rules('--gates', 'off')
  assert.equal((await ask(second, 'gate/set', { gate: 'acme', port: 3 }, { 'if-match': etag })).status, 200)
  const late = await decide(second, 'confirm', String(wish.json['proposal_id']))
  assert.deepEqual([late.status, late.json['code']], [412, 'stale'])
  assert.equal((await ask(maker, 'gate/show', { gate: 'acme' })).json['port'], 3)
})

test('the command line neither proposes nor confirms', async () => {
  const proposal = await proposed()
  for (const args of [
    ['merchant', 'rotate-key', 'shop'],
    ['proposal', 'confirm', proposal],
    ['user', 'add', 'me2', '--role', 'owner'],
  ]) {
    const { code, err } = await cli(args)
    assert.equal(code, 1, args.join(' '))
    assert.match(err, /This change needs two users/)
  }
})

test('in the console: proposed by one user, seen and confirmed by another', async () => {
  const proposal = await proposed()
  const visit = await desk.comeIn(visitor)
  const shown = await visit.get(`/proposal/show?proposal=${proposal}`)
  assert.match(shown.html, /merchant rotate-key/)
  assert.match(shown.html, new RegExp(`href="/proposal/confirm\\?proposal=${proposal}"`))
  const done = await visit.post('/proposal/confirm', { proposal })
  assert.equal(done.status, 200)
  const wish = await visit.post('/merchant/rotate-key', { login: 'shop' })
  assert.match(wish.html, /waits until .* for another user to confirm it/)
  const [, own] = /href="\/proposal\/show\?proposal=(\d+)"/.exec(wish.html)!
  assert.match((await visit.post('/proposal/confirm', { proposal: own! })).html, /another user must confirm it/)
})

test('where the second factor is old, confirming asks for it', async () => {
  const proposal = await proposed()
  const visit = await desk.comeIn(visitor)
  clock.pass(11 * 60_000)
  const asked = await visit.post('/proposal/confirm', { proposal })
  assert.equal(asked.status, 403)
  assert.match(asked.html, /second factor more than ten minutes ago/)
  const wrong = await visit.post('/proposal/confirm', { proposal, second_factor: '000000' })
  assert.match(wrong.html, /This code was not correct/)
  const code = codeAt(visitor.key, stepAt(clock.now()))
  assert.equal((await visit.post('/proposal/confirm', { proposal, second_factor: code })).status, 200)
  assert.equal((await decide(second, 'confirm', proposal)).json['code'], 'proposal over')
})
