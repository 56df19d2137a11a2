import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statement } from '../../../src/storage/pool.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { codeAt, stepAt } from '../../../src/entry/totp.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { until } from '../../harness/clock/until.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { startOwnConsole, type Visit } from '../../harness/operators/console.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// Which sessions a sign-in, a second factor and an owner end. Single sign-on has a file of its own.

const { url: databaseUrl, pool } = await openMigrated()
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('sessions')), clock }))
const { comeIn, elsewhere, known, signIn } = desk

/** What a thief would have: the cookies of a browser at this moment. */
function copyOf(visit: Visit): Visit {
  const copy = elsewhere(desk.visit())
  for (const [name, value] of visit.cookies) copy.cookies.set(name, value)
  return copy
}
const isOut = async (visit: Visit) => /^\/sign-in(\?|$)/.test((await visit.get('/me')).to)
const linkFor = async (words: string, user: string) =>
  (JSON.parse(await desk.tell(['user', words, user, '--json'])) as { path: string }).path

test('a sign-in ends the earlier session of the browser, and no other one', async () => {
  const [one, other] = [await known('owner'), await known('support')]
  const elsewhereIn = await comeIn(one)
  const visit = await comeIn(one)
  const ways = [
    async () => signIn(visit, one.user),
    async () => visit.send(await linkFor('invite', one.user), {}),
    async () => signIn(visit, other.user),
  ]
  for (const [i, way] of ways.entries()) {
    const before = copyOf(visit)
    assert.equal(await isOut(before), false)
    assert.equal((await way()).status, 303)
    assert.equal(await isOut(before), true, `way ${i}`)
  }
  assert.equal((await elsewhereIn.get('/me')).status, 200)
  const before = copyOf(visit)
  assert.equal((await signIn(visit, one.user, 'a wrong phrase of some length')).status, 403)
  assert.equal(await isOut(before), false, 'a failed one ends nothing')
})

test('a second factor gives a new cookie after the password, and later in the session', async () => {
  const one = await known('owner')
  const visit = elsewhere(desk.visit())
  await signIn(visit, one.user)
  const half = copyOf(visit)
  const code = codeAt(one.key, stepAt(clock.now()))
  assert.equal((await visit.send('/sign-in/code', { code })).to, '/')
  assert.equal(await isOut(half), true, 'the cookie from before the second factor')
  assert.equal((await visit.get('/me')).status, 200)
  const form = await visit.formToken()
  const rows = [
    ['/user/add', { name: `${one.user}-2`, role: 'support' }, 200],
    ['/user/add', { name: `${one.user}-2`, role: 'support' }, 409],
    ['/me', { do: 'end', session: '0' }, 200],
  ] as const
  for (const [i, [path, fields, status]] of rows.entries()) {
    clock.pass(11 * 60_000)
    const before = copyOf(visit)
    assert.equal((await visit.post(path, fields)).status, 403, 'it is asked for')
    assert.equal((await visit.send(path, { ...fields, form, second_factor: '000000' })).headers.get('set-cookie'), null)
    assert.equal(await isOut(before), false, 'a wrong code changes nothing')
    const done = await visit.send(path, { ...fields, form, second_factor: one.recovery[i]! })
    assert.equal(done.status, status, 'with the form of a page from before, as in another tab')
    assert.equal(await isOut(before), true, `row ${i}`)
    assert.equal((await visit.get('/me')).status, 200)
  }
})

test('of two second factors at the same time, one changes the cookie, and the session goes on', async () => {
  const one = await known('owner')
  const visit = await comeIn(one)
  const form = await visit.formToken()
  clock.pass(11 * 60_000)
  const before = copyOf(visit)
  const answers = await Promise.all(
    one.recovery.slice(0, 2).map((code) => visit.send('/me', { do: 'end', session: '0', form, second_factor: code })),
  )
  assert.equal(answers.filter(({ headers }) => headers.has('set-cookie')).length, 1)
  assert.equal(await isOut(before), true)
  assert.equal((await visit.get('/me')).status, 200)
})

test('the sessions and links of a user who was off stay ended', async () => {
  const one = await known('owner')
  const visits = [await comeIn(one), await comeIn(one)]
  const path = await linkFor('invite', one.user)
  assert.match(await desk.tell(['user', 'disable', one.user]), /0 of its tokens and 2 of its sessions ended/)
  assert.match(await desk.tell(['user', 'enable', one.user]), /is on; 0 of its tokens and 0 of its sessions ended/)
  for (const visit of visits) assert.equal(await isOut(visit), true)
  assert.match((await elsewhere(desk.visit()).send(path, {})).html, /has expired/)
  assert.equal((await (await comeIn(one)).get('/me')).status, 200)
})

test('a user who is switched off during a sign-in gets no session', async () => {
  const one = await known('owner')
  const off = statement(`update operator_user set enabled = false where name = $1`)
  const waiting = statement<object>(`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  const visit = elsewhere(desk.visit())
  const answer = await transaction(pool, async (runner) => {
    await runner.run(off, [one.user])
    const sent = signIn(visit, one.user)
    await until(
      () => pool.run(waiting),
      ({ length }) => length === 1,
    )
    return { sent }
  })
  const { status, headers } = await answer.sent
  assert.deepEqual([status, headers.get('set-cookie')], [403, null])
  await desk.tell(['user', 'enable', one.user])
  assert.equal((await signIn(visit, one.user)).status, 303)
})
