import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeAt, stepAt } from '../../../src/entry/totp.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { password, startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// The link for a user who forgot the password.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('new-password')), clock }))
const { comeIn, elsewhere, known, signIn } = desk

const next = 'another phrase of some length'
type Known = Awaited<ReturnType<typeof known>>
const codeOf = ({ key }: Pick<Known, 'key'>) => {
  clock.pass(60_000)
  return codeAt(key, stepAt(clock.now()))
}
async function linkFor(user: string, ...more: string[]): Promise<string> {
  return (JSON.parse(await desk.tell(['user', 'reset-password', user, ...more, '--json'])) as { path: string }).path
}
const send = (path: string, code: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  elsewhere(desk.visit()).send(path, { password: next, again: next, code, ...fields }, headers)

test('the user sets a new password behind the second factor, which ends all sessions', async () => {
  const one = await known('owner')
  const open = [await comeIn(one), await comeIn(one)]
  const path = await linkFor(one.user)
  const shown = await elsewhere(desk.visit()).get(path)
  assert.equal(shown.status, 200)
  assert.doesNotMatch(shown.html, new RegExp(one.user), 'the page does not name the user')
  // oxfmt-ignore
  const refused = [
    ['another again',     one.recovery[0]!, { again: `${next} ` },                     {},                                 /The two passwords differ/],
    ['a weak password',   one.recovery[0]!, { password: 'short', again: 'short' },     {},                                 /needs 12 characters/],
    ['no code',           '',               {},                                        {},                                 /was not correct/],
    ['a wrong code',      '000000',         {},                                        {},                                 /was not correct/],
    ['the old password',  password,         {},                                        {},                                 /was not correct/],
    ['from another site', one.recovery[0]!, {},                                        { origin: 'https://evil.example' }, /was not sent from this page/],
  ] as const
  for (const [name, code, fields, headers, words] of refused) {
    const { status, html } = await send(path, code, fields, headers)
    assert.equal(status, 403, name)
    assert.match(html, words, name)
  }
  for (const visit of open) assert.equal((await visit.get('/me')).status, 200, 'nothing ended yet')
  const visit = elsewhere(desk.visit())
  const code = codeOf(one)
  assert.equal((await visit.send(path, { password: next, again: next, code })).to, '/')
  assert.equal((await visit.get('/user/list')).status, 200, 'the user is signed in')
  for (const old of open) assert.match((await old.get('/me')).to, /^\/sign-in/)
  const again = await send(path, one.recovery[1]!)
  assert.match(again.html, /This link was used already/)
  assert.equal((await signIn(elsewhere(desk.visit()), one.user)).status, 403, 'the old password is over')
  const later = elsewhere(desk.visit())
  assert.equal((await signIn(later, one.user, next)).status, 303)
  assert.equal((await later.get('/me')).to, '/sign-in/code?to=%2Fme', 'the second factor stayed')
  assert.equal((await later.send('/sign-in/code', { code })).status, 403, 'the code counted once')
  assert.equal((await later.send('/sign-in/code', { code: codeOf(one) })).to, '/')
  const trail = await desk.tell(['audit', 'list', '--json'])
  const lines = (JSON.parse(trail) as { entries: Record<'action' | 'subject' | 'who', string>[] }).entries
  const about = (action: string) => lines.find((line) => line.action === action && line.subject === `user ${one.user}`)
  assert.ok(about('user reset-password'))
  assert.equal(about('reset password')?.who, one.user)
  assert.match(JSON.stringify(about('reset password')), /"password":"set","sessions_ended":2/)
  assert.ok(!trail.includes(path.split('/').at(-1)!), 'the trail has no link')
})

test('of two requests with one link at the same time, one sets its password', async () => {
  const one = await known('owner')
  const path = await linkFor(one.user)
  const words = ['the first phrase of some length', 'the other phrase of some length']
  const answers = await Promise.all(words.map((word, i) => send(path, one.recovery[i]!, { password: word, again: word })))
  assert.deepEqual(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [303, 403],
  )
  assert.match(answers.find(({ status }) => status === 403)!.html, /This link was used already/)
  const tried = await Promise.all(words.map((word) => signIn(elsewhere(desk.visit()), one.user, word)))
  assert.deepEqual(
    tried.map(({ status }) => status),
    answers.map(({ status }) => status),
  )
})

test('a link is over after its time, after another link, and when its user was off', async () => {
  const one = await known('support')
  // The command line has its own clock.
  const rows = [
    ['1min', async () => clock.pass(2 * 60_000)],
    ['1d', () => linkFor(one.user)],
    ['1d', () => desk.tell(['user', 'invite', one.user])],
    ['1d', () => desk.tell(['user', 'disable', one.user])],
    // On again since the row above.
    ['1d', async () => (await desk.tell(['user', 'disable', one.user]), desk.tell(['user', 'enable', one.user]))],
  ] as const
  for (const [i, [expires, then]] of rows.entries()) {
    await desk.tell(['user', 'enable', one.user])
    const path = await linkFor(one.user, '--expires', expires)
    await then()
    assert.match((await send(path, one.recovery[i]!)).html, /has expired/, `row ${i}`)
  }
  assert.equal((await signIn(elsewhere(desk.visit()), one.user)).status, 303, 'the password is what it was')
})

test('a link for a password is no invitation, and an invitation no link for a password', async () => {
  const one = await known('support')
  const path = await linkFor(one.user)
  const token = path.split('/').at(-1)!
  assert.match((await elsewhere(desk.visit()).send(`/come-in/${token}`, {})).html, /has expired/)
  assert.equal((await send(path, one.recovery[0]!)).to, '/', 'which used nothing up')
  const invited = (JSON.parse(await desk.tell(['user', 'invite', one.user, '--json'])) as { path: string }).path
  assert.match((await send(invited.replace('come-in', 'new-password'), one.recovery[1]!)).html, /has expired/)
})

test('the second factor of another user does not count', async () => {
  const [one, other] = [await known('owner'), await known('owner')]
  const path = await linkFor(one.user)
  assert.equal((await send(path, other.recovery[0]!)).status, 403)
  assert.equal((await send(path, codeOf(other))).status, 403)
  assert.equal((await send(path, codeOf(one))).to, '/')
})

test('who has a link cannot guess codes', async () => {
  const one = await known('owner')
  const path = await linkFor(one.user)
  for (let i = 0; i < 10; i++) assert.equal((await send(path, '000000')).status, 403)
  assert.equal((await send(path, one.recovery[0]!)).status, 429)
  await desk.tell(['user', 'unlock', one.user])
  assert.equal((await send(path, codeOf(one))).to, '/')
})

test('a user who is off or has no second factor gets no link', async () => {
  const { user } = await desk.invited('owner')
  const bare = await desk.cli(['user', 'reset-password', user])
  assert.deepEqual([bare.code, /has no second factor/.test(bare.err)], [1, true], bare.err)
  await desk.tell(['user', 'disable', user])
  const off = await desk.cli(['user', 'reset-password', user])
  assert.deepEqual([off.code, /is off/.test(off.err)], [1, true], off.err)
})

test('an owner makes the link in the console too, which no role below may', async () => {
  const one = await known('support')
  const link = await (await desk.inside('owner')).post('/user/reset-password', { user: one.user })
  const [path] = /\/new-password\/[\w-]{43}/.exec(link.html)!
  assert.equal((await send(path, codeOf(one))).to, '/')
  const boss = await known('owner')
  const clerk = await desk.inside('operator')
  assert.equal((await clerk.post('/user/reset-password', { user: boss.user })).status, 403)
})
