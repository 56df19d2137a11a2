import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { openSingleSignOn } from '../../../src/console/entry/single-sign-on.ts'
import { codeAt, stepAt } from '../../../src/entry/totp.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { client, startProvider } from '../../harness/operators/provider.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// Single sign-on at a real provider, by HTTP.

const { url: databaseUrl, pool } = await openMigrated()
const clock = openHandClock(Date.now())
const keyFile = keyFileIn(openDirectory('single-sign-on'))
const provider = await startProvider()
const asked = { issuer: new URL(provider.issuer), clientId: client.id, clientSecret: secret(client.secret) }
const desk = closing(await startOwnConsole({ databaseUrl, keyFile, clock, sso: { ...asked, vouches: false } }))
const back = '/sign-in/account/back'
provider.serve(desk.url + back)

type Visit = ReturnType<typeof desk.visit>
let tied = 0
/** A user who has password and authenticator, and an account there. */
async function withAccount() {
  const one = await desk.known('owner')
  const subject = `subject-${++tied}`
  await desk.tell(['user', 'link', one.user, '--issuer', provider.issuer, '--subject', subject])
  return { ...one, subject }
}

/** Where the console sends a browser, as it is or changed on the way. */
async function leave(visit: Visit, to = '/', changed: Record<string, string | undefined> = {}): Promise<string> {
  const { status, headers } = await visit.send('/sign-in/account', { to })
  assert.equal(status, 200)
  const url = new URL(/^0; url=(.*)$/.exec(headers.get('refresh')!)![1]!)
  assert.equal(url.searchParams.get('code_challenge_method'), 'S256')
  for (const [name, value] of Object.entries(changed))
    if (value === undefined) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  return url.href
}

const come = (visit: Visit, { search }: URL) => visit.get(back + search)
const signIn = async (visit: Visit, subject: string, ...leaving: [to?: string, changed?: Record<string, string | undefined>]) =>
  come(visit, await provider.walk(await leave(visit, ...leaving), subject))

/** The sign-in was refused for this reason. */
function assertRefused({ status, html, headers }: Awaited<ReturnType<typeof signIn>>, words: RegExp, name?: string): void {
  assert.equal(status, 403, name)
  assert.match(html, words, name)
  assert.equal(headers.get('set-cookie'), null, name)
}
const failed = /Signing in at the provider failed/
const untied = /No user is linked to your account at the provider/

test('an account signs in the user it is linked to, who then proves the second factor', async () => {
  const { user, key, subject } = await withAccount()
  const visit = desk.visit()
  assert.match((await visit.get('/sign-in')).html, new RegExp(`Sign in with ${new URL(provider.issuer).host}`))
  const { status, html, headers } = await signIn(visit, subject, '/order/find?limit=5')
  assert.equal(status, 200)
  assert.match(headers.get('set-cookie')!, /SameSite=Strict/)
  assert.equal(headers.get('refresh'), '0; url=/order/find?limit=5', 'a page of ours leads on')
  assert.match(html, /href="\/order\/find\?limit=5"/)
  assert.equal((await visit.get('/order/find')).to, '/sign-in/code?to=%2Forder%2Ffind')
  clock.pass(60_000)
  assert.equal((await visit.send('/sign-in/code', { code: codeAt(key, stepAt(clock.now())) })).to, '/')
  assert.match((await visit.get('/me')).html, new RegExp(`<h1>${user}`))
})

test('users are known by issuer and subject alone: another account with the same e-mail address does not come in', async () => {
  const { user, subject } = await withAccount()
  const [none, other] = [desk.visit(), desk.visit()]
  assertRefused(await signIn(none, `${subject}-other`), untied)
  assertRefused(await signIn(none, 'jane@example.com'), untied)
  await desk.tell(['user', 'link', user, '--issuer', 'https://id.example.com', '--subject', subject])
  assertRefused(await signIn(none, subject), untied, 'the subject of another issuer')
  await desk.tell(['user', 'link', user, '--issuer', provider.issuer, '--subject', subject])
  assert.equal((await signIn(other, subject)).status, 200)
  const users = JSON.parse(await desk.tell(['user', 'list', '--json'])) as object
  assert.ok(!JSON.stringify(users).includes('jane@example.com'), 'signing in makes no user')
})

test('a user who is off or no longer linked cannot enter, and an account belongs to one user', async () => {
  const { user, subject } = await withAccount()
  const second = await withAccount()
  const link = ['user', 'link', second.user, '--issuer', provider.issuer, '--subject', subject]
  const { code, err } = await desk.cli(link)
  assert.deepEqual([code, err.includes('is linked to another user')], [1, true])
  await desk.tell(['user', 'disable', user])
  assertRefused(await signIn(desk.visit(), subject), untied)
  await desk.tell(['user', 'enable', user])
  assert.equal((await signIn(desk.visit(), subject)).status, 200)
  await desk.tell(['user', 'unlink', user])
  assertRefused(await signIn(desk.visit(), subject), untied)
  await desk.tell(link)
  assert.equal((await signIn(desk.visit(), subject)).status, 200)
  assertRefused(await signIn(desk.visit(), second.subject), untied, 'one account a user')
})

test("the provider's answer counts once, in the browser that left, for the requested sign-in", async () => {
  const { subject } = await withAccount()
  const visit = desk.visit()
  const url = await provider.walk(await leave(visit), subject)
  assertRefused(await come(desk.visit(), url), failed, 'another browser')
  const other = desk.visit()
  const mixed = await provider.walk(await leave(other), subject)
  mixed.searchParams.set('code', url.searchParams.get('code')!)
  assertRefused(await come(other, mixed), failed, 'the code of another browser')
  // oxfmt-ignore
  const rows = [
    ['state',          'wrong'],
    ['nonce',          'wrong'],
    ['code_challenge', 'wrong-wrong-wrong-wrong-wrong-wrong-wrong-w'],
  ] as const
  for (const [name, value] of rows) assertRefused(await signIn(desk.visit(), subject, '/', { [name]: value }), failed, name)
  const late = desk.visit()
  const lateUrl = await provider.walk(await leave(late), subject)
  clock.pass(5 * 60_000)
  assertRefused(await come(late, lateUrl), failed, 'after five minutes')
  const used = desk.visit()
  const usedUrl = await provider.walk(await leave(used), subject)
  assert.equal((await come(used, usedUrl)).status, 200)
  assertRefused(await come(used, usedUrl), failed, 'a second time')
  const again = desk.visit()
  const replayed = await provider.walk(await leave(again), subject)
  replayed.searchParams.set('code', usedUrl.searchParams.get('code')!)
  assertRefused(await come(again, replayed), failed, 'a code that was used')
})

test('only the button of our own page leads to the provider', async () => {
  const way = '/sign-in/account'
  const { html, headers } = await desk.visit().get(way)
  assert.equal(headers.get('refresh'), null, 'a link does not')
  assert.doesNotMatch(html, new RegExp(provider.issuer))
  const rows: Record<string, Record<string, string>> = {
    'another site': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    'a sibling': { 'sec-fetch-site': 'same-site' },
    'no origin': { origin: 'null' },
  }
  for (const [name, sent] of Object.entries(rows))
    assertRefused(await desk.visit().send(way, {}, sent), /was not sent from this page/, name)
  // As of a browser that sends no Sec-Fetch-Site: it has to send its origin.
  const { url, origin } = desk.visit()
  const old = (sent: Record<string, string>) =>
    fetch(url + way, { method: 'POST', body: new URLSearchParams({ to: '/' }), headers: sent })
  assert.deepEqual([(await old({ origin })).status, (await old({})).status], [200, 403])
})

test('the earlier session of the browser ends, though the way back does not show it', async () => {
  const { user, key, subject } = await withAccount()
  const old = await desk.comeIn({ user, key })
  const visit = desk.visit()
  for (const [name, value] of old.cookies) visit.cookies.set(name, value)
  const url = await provider.walk(await leave(visit), subject)
  visit.cookies.delete('tollgate-console')
  assert.equal((await old.get('/me')).status, 200, 'not before')
  assert.equal((await come(visit, url)).status, 200)
  assert.match((await old.get('/me')).to, /^\/sign-in\?/)
  assert.match((await visit.get('/me')).to, /^\/sign-in\/code/)
})

test('a provider that refuses, or that is away, is no defect of ours', async () => {
  const visit = desk.visit()
  const state = new URL(await leave(visit)).searchParams.get('state')!
  assertRefused(await visit.get(`${back}?error=access_denied&state=${state}&iss=${provider.issuer}`), failed)
  assertRefused(await visit.get(back), failed)
  const sso = { ...asked, issuer: new URL('http://127.0.0.1:9/'), vouches: false }
  const lonely = closing(await startOwnConsole({ databaseUrl, keyFile, clock, sso }))
  assertRefused(await lonely.visit().send('/sign-in/account', {}), failed)
})

test('where to afterwards is a path of this console', async () => {
  const { subject } = await withAccount()
  for (const to of ['//evil.example/', '/\\evil.example/', 'https://evil.example/', 'javascript:alert(1)', '/a\r\nx: y'])
    assert.equal((await signIn(desk.visit(), subject, to)).headers.get('refresh'), '0; url=/', to)
})

test('where the setting says so the provider stands for the second factor, if it has asked lately', async () => {
  const trusting = closing(await startOwnConsole({ databaseUrl, keyFile, clock, sso: { ...asked, vouches: true } }))
  provider.serve(trusting.url + back)
  try {
    const { user } = await desk.invited('owner')
    const subject = `subject-of-${user}`
    await trusting.tell(['user', 'link', user, '--issuer', provider.issuer, '--subject', subject])
    const visit = trusting.visit()
    assert.equal((await signIn(visit, subject)).status, 200)
    assert.equal((await visit.get('/user/list')).status, 200, 'without a second factor of ours')
    clock.pass(11 * 60_000)
    const add = { name: `${user}-2`, role: 'support' }
    const { status, html } = await visit.post('/user/add', add)
    assert.equal(status, 403)
    assert.match(html, /You can also sign in again/)
    assert.equal((await signIn(visit, subject)).status, 200)
    assert.equal((await visit.post('/user/add', add)).status, 200)
    assertRefused(await signIn(trusting.visit(), subject, '/', { max_age: undefined }), failed, 'who has asked for no time')
  } finally {
    provider.serve(desk.url + back)
  }
})

test('calls to the provider obey the rules of addresses', async () => {
  const office = { pool, clock: systemClock, random: systemRandom }
  const leaving = (issuer: string) =>
    closing(openSingleSignOn({ ...asked, issuer: new URL(issuer), vouches: false }, office, desk.url)).leave('/', {
      address: '203.0.113.1',
    })
  const why = async (issuer: string) => {
    const error = await leaving(issuer).then(
      () => undefined,
      (failure: unknown) => failure as Error,
    )
    return `${error?.message} ${(error?.cause as Error | undefined)?.message}`
  }
  assert.match(await why('https://10.0.0.1/'), /10\.0\.0\.1 is private/)
  assert.match(await why('https://169.254.169.254/'), /link-local/)
  assert.match(await why('https://id.internal/'), /a name inside a network/)
})
