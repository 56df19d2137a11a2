import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeAt, stepAt } from '../../../src/entry/totp.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { password, startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// Who comes into the console, on a clock that the test moves.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const minutes = (many: number) => clock.pass(many * 60_000)
const keyFile = keyFileIn(openDirectory('console'))
const desk = closing(await startOwnConsole({ databaseUrl, keyFile, clock }))

const { elsewhere, enrol, known, signIn, comeIn } = desk

test('a link lets in once, and a new user sees nothing before password and second factor', async () => {
  const { path } = await desk.invited('owner')
  assert.equal((await desk.visit().get(path)).status, 200, 'opening it uses nothing up')
  const visit = elsewhere(await desk.entered(path))
  const again = await elsewhere(desk.visit()).send(path, {})
  assert.equal(again.status, 403)
  assert.match(again.html, /This link was used/)
  assert.deepEqual([(await visit.get('/order/find')).to, (await visit.get('/')).to], ['/me', '/me'])
  await enrol(visit)
  assert.equal((await visit.get('/order/find')).status, 200)
})

test('a link is over after its time, after another one, and when its user is off', async () => {
  // The command line has its own clock.
  const rows = [
    ['1min', async () => minutes(2)],
    ['7d', (user: string) => desk.tell(['user', 'invite', user])],
    ['7d', (user: string) => desk.tell(['user', 'disable', user])],
  ] as const
  for (const [expires, then] of rows) {
    const { user, path } = await desk.invited('support', undefined, expires)
    await then(user)
    assert.match((await elsewhere(desk.visit()).send(path, {})).html, /has expired/)
  }
})

test('a password alone shows nothing; a code counts once, and a recovery code once', async () => {
  const one = await known('owner')
  const visit = elsewhere(desk.visit())
  assert.equal((await signIn(visit, one.user)).status, 303)
  for (const path of ['/order/find', '/me', '/user/list'])
    assert.equal((await visit.get(path)).to, `/sign-in/code?${new URLSearchParams({ to: path }).toString()}`)
  const code = codeAt(one.key, stepAt(clock.now()))
  assert.equal((await visit.send('/sign-in/code', { code: '000000' })).status, 403)
  assert.equal((await visit.send('/sign-in/code', { code })).to, '/')
  assert.equal((await visit.get('/order/find')).status, 200)
  const other = elsewhere(desk.visit())
  await signIn(other, one.user)
  assert.equal((await other.send('/sign-in/code', { code })).status, 403, 'the code was used')
  const [recovery] = one.recovery
  assert.equal((await other.send('/sign-in/code', { code: recovery!.toLowerCase() })).to, '/')
  const third = elsewhere(desk.visit())
  await signIn(third, one.user)
  assert.equal((await third.send('/sign-in/code', { code: recovery! })).status, 403, 'the recovery code was used')
})

test('an answer never reveals which users exist', async () => {
  const { user } = await known('owner')
  const answers = await Promise.all(
    [user, 'nobody-of-this-name'].map(async (name) => {
      const { status, html } = await signIn(elsewhere(desk.visit()), name, 'a wrong phrase of some length')
      return [status, html.replaceAll(name, 'NAME')]
    }),
  )
  assert.deepEqual(answers[0], answers[1])
})

test('after ten failures a name waits, longer each time; a success, an owner and time free it', async () => {
  const { user, key } = await known('support')
  const open = await comeIn({ user, key })
  const wrong = () => signIn(elsewhere(desk.visit()), user, 'a wrong phrase of some length')
  for (let i = 0; i < 10; i++) assert.equal((await wrong()).status, 403)
  assert.equal((await wrong()).status, 429)
  assert.equal((await signIn(elsewhere(desk.visit()), user)).status, 429, 'the right password waits too')
  assert.equal((await open.get('/me')).status, 200, 'an open session does not')
  clock.pass(16_000)
  assert.equal((await wrong()).status, 403)
  clock.pass(16_000)
  assert.equal((await wrong()).status, 429, 'the wait is twice as long')
  await desk.tell(['user', 'unlock', user])
  assert.equal((await signIn(elsewhere(desk.visit()), user)).status, 303)
  for (let i = 0; i < 10; i++) await wrong()
  minutes(31)
  assert.equal((await signIn(elsewhere(desk.visit()), user)).status, 303)
})

test('an attacker with the password cannot guess codes: it forgives nothing before the second factor', async () => {
  const one = await known('owner')
  const open = await comeIn(one)
  minutes(11)
  const seen: number[] = []
  for (let i = 0; i < 6 && !seen.includes(429); i++) {
    const visit = elsewhere(desk.visit())
    seen.push((await signIn(visit, one.user)).status)
    for (let j = 0; j < 3; j++) seen.push((await visit.send('/sign-in/code', { code: '000000' })).status)
  }
  assert.equal(seen.filter((status) => status === 403).length, 7, 'ten tries, of which three were the right password')
  assert.equal(seen.at(-1), 429)
  assert.match((await open.post('/user/add', { name: `${one.user}-2`, role: 'support' })).html, /more than ten minutes ago/)
  const [code] = one.recovery
  const proven = await open.post('/user/add', { name: `${one.user}-2`, role: 'support', second_factor: code! })
  assert.equal(proven.status, 200, 'an open session is not slowed')
  assert.equal((await signIn(elsewhere(desk.visit()), one.user)).status, 303, 'and it has freed the name')
})

test('in an open session codes are not guessed either', async () => {
  const one = await known('owner')
  const open = await comeIn(one)
  minutes(11)
  const tries = []
  for (let i = 0; i < 11; i++)
    tries.push(await open.post('/user/add', { name: `${one.user}-2`, role: 'support', second_factor: '000000' }))
  assert.match(tries[9]!.html, /This code was not correct/)
  assert.match(tries[10]!.html, /too many wrong codes/)
  assert.equal((await signIn(elsewhere(desk.visit()), one.user)).status, 303, 'which slows no sign-in elsewhere')
})

test('after ten failures an address waits, whatever names it tries', async () => {
  const { user } = await known('support')
  const visit = elsewhere(desk.visit())
  for (let i = 0; i < 10; i++) assert.equal((await signIn(visit, `somebody-${i}`)).status, 403)
  assert.equal((await signIn(visit, user)).status, 429)
  assert.equal((await signIn(elsewhere(desk.visit()), user)).status, 303)
})

test('a session ends after 15 minutes without use, and after 12 hours', async () => {
  const one = await known('owner')
  const idle = await comeIn(one)
  minutes(14)
  assert.equal((await idle.get('/me')).status, 200)
  minutes(14)
  assert.equal((await idle.get('/me')).status, 200)
  minutes(16)
  assert.equal((await idle.get('/me')).to, '/sign-in?to=%2Fme')
  const long = await comeIn(one)
  for (let passed = 0; passed < 12 * 60 - 10; passed += 10) {
    assert.equal((await long.get('/me')).status, 200, `${passed} minutes`)
    minutes(10)
  }
  minutes(10)
  assert.equal((await long.get('/me')).status, 303)
})

test('a session ends when its user is off, and from elsewhere', async () => {
  const one = await known('owner')
  const [first, second] = [await comeIn(one), await comeIn(one)]
  const ends = /name="session" value="(\d+)"/.exec((await first.get('/me')).html)![1]!
  assert.match((await first.post('/me', { do: 'end', session: ends })).html, /The session ended/)
  assert.equal((await second.get('/me')).status, 303)
  await desk.tell(['user', 'disable', one.user])
  assert.equal((await first.get('/me')).status, 303)
  await desk.tell(['user', 'enable', one.user])
  const third = await comeIn(one)
  await desk.tell(['user', 'sign-out', one.user])
  assert.equal((await third.get('/me')).status, 303)
})

test('a form counts only from a page of the same session', async () => {
  const one = await known('owner')
  const [visit, other] = [await comeIn(one), await comeIn(one)]
  const fields = { do: 'password', present: password, password: 'another long phrase', again: 'another long phrase' }
  const form = await visit.formToken()
  // oxfmt-ignore
  const rows = [
    ['no token',                 { ...fields },                                     {}],
    ['of another session',       { ...fields, form: await other.formToken() },      {}],
    ['from another origin',      { ...fields, form },                               { origin: 'https://evil.example' }],
    ['from no origin',           { ...fields, form },                               { origin: 'null' }],
    ['from another site',        { ...fields, form },                               { 'sec-fetch-site': 'cross-site' }],
    ['from a sibling',           { ...fields, form },                               { 'sec-fetch-site': 'same-site' }],
    ['as text',                  { ...fields, form },                               { 'content-type': 'text/plain' }],
  ] as const
  for (const [name, sent, headers] of rows) assert.equal((await visit.send('/me', sent, headers)).status, 403, name)
  assert.match((await visit.send('/me', { ...fields, form })).html, /Your password is set/)
})

test('the address after signing in, and after the second factor, is a path of this console', async () => {
  const { user, recovery } = await known('owner')
  // oxfmt-ignore
  const rows = [
    ['/order/find?limit=5',   '/order/find?limit=5'],
    ['//evil.example/',       '/'],
    ['/\\evil.example/',      '/'],
    ['https://evil.example/', '/'],
    ['javascript:alert(1)',   '/'],
    ['/a\r\nset-cookie: x=1', '/'],
  ] as const
  for (const [i, [to, goes]] of rows.entries()) {
    const visit = elsewhere(desk.visit())
    assert.equal((await visit.send('/sign-in', { name: user, password, to })).to, goes, to)
    const asking = await visit.get(goes)
    assert.equal(asking.to, goes === '/' ? '/sign-in/code' : `/sign-in/code?${new URLSearchParams({ to: goes }).toString()}`)
    const shown = /name="to" value="([^"]+)"/
    assert.equal(shown.exec((await visit.get(asking.to)).html)![1], goes)
    const forged = await visit.get(`/sign-in/code?${new URLSearchParams({ to }).toString()}`)
    assert.equal(shown.exec(forged.html)![1], goes, to)
    const wrong = await visit.send('/sign-in/code', { code: '000000', to })
    assert.equal(shown.exec(wrong.html)![1], goes, 'a wrong code keeps it')
    assert.equal((await visit.send('/sign-in/code', { code: recovery[i]!, to })).to, goes, to)
  }
})
