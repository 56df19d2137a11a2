import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { codeAt, stepAt } from '../../src/entry/totp.ts'
import { openHandClock } from '../harness/clock/hand-clock.ts'
import { follow, type Visit } from '../harness/browser/browser.ts'
import { keyFileIn } from '../harness/operators/api.ts'
import { startOwnConsole } from '../harness/operators/console.ts'
import { migratedDatabase } from '../harness/postgres/postgres.ts'
import { closing, openDirectory, openHttp } from '../harness/world/opening.ts'
import { sharedBrowser } from './stand.ts'

/** The console in the browser of a user who has evil pages open too. */

const browser = await sharedBrowser()
const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('console-attacks')), clock }))
await desk.tell(['merchant', 'add', '--login', 'shop', '--name', 'Shop'])
const users = () => desk.tell(['user', 'list', '--json'])
const url = `http://console.localhost:${new URL(desk.visit().url).port}`

let evilHtml = ''
const evil = await openHttp((_, response) => void response.setHeader('content-type', 'text/html').end(evilHtml))
/** The same server by another name: another site, for which cookies of the console are not sent. */
const evilOrigin = evil.origin.replace('127.0.0.1', 'evil.localhost')

const formWith = (token: string) => `<!doctype html><form method="post" action="${url}/user/add">
  <input name="name" value="evil"><input name="role" value="owner"><input name="form" value="${token}">
  <button>Go</button></form>`

/** A user who has come in, in a browser of its own. */
async function inside(how: Visit, use: (page: Page, context: BrowserContext, name: string) => Promise<void>): Promise<void> {
  const visit = await desk.inside('owner')
  const name = /<a href="\/me">([^<]+)</.exec((await visit.get('/me')).html)![1]!
  const [cookieName, ...value] = visit.cookie.split('=')
  await browser.visit(how, async (page, context) => {
    await context.addCookies([{ name: cookieName!, value: value.join('='), url, httpOnly: true, sameSite: 'Strict' }])
    await page.goto(`${url}/user/list`)
    assert.match(await page.title(), /^Users/)
    await use(page, context, name)
  })
}

test('a form of another site makes no user, with or without what a form of ours has', () =>
  inside({}, async (page, context) => {
    const token = await page.locator('input[name=form]').first().inputValue()
    const before = await users()
    evilHtml = formWith(token)
    const other = await context.newPage()
    await other.goto(evilOrigin)
    await follow(other, other.getByRole('button', { name: 'Go' }))
    assert.match(await other.locator('body').innerText(), /Sign in|was not sent from a page/)
    assert.equal(await users(), before)
  }))

test('a page of another site of the same host can send the cookie, and still does nothing', () =>
  inside({ expects: [/403/] }, async (page, context) => {
    const token = await page.locator('input[name=form]').first().inputValue()
    const before = await users()
    // Another port is the same site: the cookie comes along, and the origin tells them apart.
    evilHtml = formWith(token)
    const other = await context.newPage()
    await other.goto(evil.origin.replace('127.0.0.1', 'console.localhost'))
    await follow(other, other.getByRole('button', { name: 'Go' }))
    assert.match(await other.locator('body').innerText(), /was not sent from a page of this session/)
    assert.equal(await users(), before)
  }))

test('no other page frames the console, or reads what it shows', () =>
  inside({ expects: [/frame-ancestors/, /CORS policy/, /Failed to load|ERR_FAILED|ERR_BLOCKED/] }, async (_page, context) => {
    evilHtml = `<!doctype html><iframe src="${url}/user/list"></iframe>`
    const other = await context.newPage()
    await other.goto(evil.origin.replace('127.0.0.1', 'console.localhost'))
    const read = await other.evaluate(
      (to) =>
        fetch(to, { credentials: 'include' }).then(
          (answer) => answer.text(),
          (error: Error) => error.name,
        ),
      `${url}/user/list`,
    )
    assert.equal(read, 'TypeError')
    const framed = other.frames().find((frame) => frame !== other.mainFrame())!
    assert.doesNotMatch(await framed.locator('body').innerText(), /Users/)
  }))

test('a tab that was open when a role was taken away can do nothing any more', () =>
  inside({ expects: [/403/] }, async (page, _context, name) => {
    await page.goto(`${url}/user/add`)
    await page.getByLabel('Name').fill('evil')
    await page.getByLabel('Role').selectOption('owner')
    await desk.tell(['user', 'set', name, '--role', 'auditor'])
    await follow(page, page.getByRole('button', { name: 'Add' }))
    assert.match(await page.locator('main').innerText(), /needs the permission users/)
    assert.doesNotMatch(await users(), /"evil"/)
    await desk.tell(['user', 'disable', name])
    await page.goto(`${url}/user/list`)
    assert.match(page.url(), /\/sign-in/)
  }))

test('signing in leads to no other site, and to no earlier session', () =>
  browser.visit({}, async (page, context) => {
    const { user, key } = await desk.known('support')
    const fixed = 'a'.repeat(43)
    await context.addCookies([{ name: 'tollgate-console', value: fixed, url, httpOnly: true, sameSite: 'Strict' }])
    await page.goto(`${url}/sign-in?to=${encodeURIComponent('//evil.localhost/')}`)
    await page.getByLabel('Name').fill(user)
    await page.getByLabel('Password').fill('a phrase that is long')
    await follow(page, page.getByRole('button', { name: 'Sign in', exact: true }))
    const cookies = await context.cookies(url)
    assert.equal(cookies.length, 1)
    assert.notEqual(cookies[0]!.value, fixed)
    assert.equal(await page.evaluate('document.cookie'), '', 'no script reads it')
    clock.pass(60_000)
    await page.getByLabel('Code of your authenticator').fill(codeAt(key, stepAt(clock.now())))
    await follow(page, page.getByRole('button', { name: 'Continue' }))
    assert.equal(page.url(), `${url}/`)
  }))

test('failures of others lock a user out until an owner unlocks the name, and then the requested page opens', () =>
  browser.visit({ expects: [/429/] }, async (page) => {
    const { user, key } = await desk.known('support')
    for (let i = 0; i < 10; i++) await desk.signIn(desk.elsewhere(desk.visit()), user, 'a wrong phrase of some length')
    const wanted = `${url}/order/find?status=declined&currency=EUR`
    await page.goto(wanted)
    const signIn = async () => {
      await page.getByLabel('Name').fill(user)
      await page.getByLabel('Password').fill('a phrase that is long')
      await follow(page, page.getByRole('button', { name: 'Sign in', exact: true }))
    }
    await signIn()
    assert.match(await page.getByRole('alert').first().innerText(), /too many failed tries/)
    await desk.tell(['user', 'unlock', user])
    await signIn()
    clock.pass(60_000)
    await page.getByLabel('Code of your authenticator').fill(codeAt(key, stepAt(clock.now())))
    await follow(page, page.getByRole('button', { name: 'Continue' }))
    assert.equal(page.url(), wanted)
  }))
